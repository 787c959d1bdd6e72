"""Commands under valgrind: no read of uninitialized memory, no invalid access, no leak."""
import concurrent.futures
import re
import shutil
import subprocess

from program import ROOT, Folder

WRONG = 99
# Only unreachable blocks count as leaks; libgomp keeps reachable ones for its threads.
VALGRIND = ("valgrind", "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect",
            "--show-leak-kinds=definite,indirect", f"--error-exitcode={WRONG}")
CONFIGS = str(ROOT / "configs")
# One command for each code path. Models of real size take minutes here.
COMMANDS = (
    ("summary", "keras.json"),
    ("summary", f"{CONFIGS}/bert_base.json", "--json"),
    ("explain", f"{CONFIGS}/encoder_decoder.json"),
    ("validate", "w.keras"),
    ("get-config", "m.json"),
    ("get-config", "MultiHeadAttention", "num_heads=2", "key_dim=4"),
    ("grad", "m.json", "--check", "--directions", "1"),
    ("plan", f"{CONFIGS}/bert_base.json", "-o", "plan.svg"),
    ("plan", "m.json", "--kernels"),
    ("run", "m.json", "--weights", "w.weights.h5", "-o", "out.npz"),
    ("run", "w.keras", "--backend", "reference", "--scores", "scores.npz", "-o", "out.safetensors"),
    ("run", "m.json", "--weights", "w.npz", "--dtype", "bfloat16", "--expect", "y.npz", "--rtol", "1", "--atol", "1"),
    ("run", "m.json", "--threads", "2", "--dump", "again"),
    ("run", f"{CONFIGS}/lstm_attention.json", "--seq-len", "4"),
    ("compare", "m.json", "--expect", "dump"),
    ("heatmap", "m.json", "-o", "heatmap.html"),
    ("heatmap", "m.json", "-o", "heatmap.png"),
    ("plot", f"{CONFIGS}/encoder_decoder.json", "-o", "plot.svg"),
    ("report", "m.json", "-o", "report.html"),
    ("bench", "m.json", "--iterations", "2", "--warmup", "1", "--json"),
    ("weights", "w.safetensors"),
    ("weights", "w.keras"),
    ("convert", "w.npz", "out.weights.h5", "--model", "m.json"),
    ("convert", "w.h5", "out.keras", "--model", "m.json"),
    ("convert", "w.safetensors", "out.npz"),
    ("init", "m.json", "-o", "out.safetensors"),
    ("doctor",),
    ("completion", "zsh"),
    ("man", "--all", "-o", "pages"),
)
SHORT = 6


def one(attn, inputs, words):
    """Returns valgrind's report for one command; nothing if it is clean."""
    with Folder(inputs) as folder:
        log = folder / "valgrind.log"
        done = subprocess.run([*VALGRIND, f"--log-file={log}", attn.path, *words], cwd=folder, env=attn.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=1800, check=False)
        told = re.sub(r"^==\d+== ?", "", log.read_text(errors="replace"), flags=re.MULTILINE).strip()
    if done.returncode == 0 and not told:
        return None
    return f"attn {' '.join(words)}: exit {done.returncode}: {told[:2000] or done.stderr[-400:]}"


def check(attn, inputs, jobs, short):
    if shutil.which("valgrind") is None:
        return "skipped: valgrind is not installed", []
    commands = COMMANDS[:: len(COMMANDS) // SHORT] if short else COMMANDS
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        told = list(pool.map(lambda words: one(attn, inputs, words), commands))
    return f"{len(commands)} commands", [each for each in told if each]
