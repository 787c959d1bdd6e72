"""Files made from valid ones, a byte or a number changed: none may be read that the library of its format refuses."""
import importlib.util
import subprocess
import sys

from program import ROOT

NEEDED = ("numpy", "safetensors", "h5py")


def check(attn, _, __, short):
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return f"not tried: {sys.executable} has no {', '.join(missing)}", []
    done = subprocess.run([sys.executable, ROOT / "tests/oracle/check_mutants.py", attn.build / "fuzz/attn_verdicts",
                           "5000" if short else "100000"], capture_output=True, text=True, check=False)
    *lines, last = done.stdout.splitlines() or [f"exit {done.returncode}: {done.stderr[-400:]}"]
    return last, [line for line in lines if "refused with" in line] or ([] if done.returncode == 0 else [last])
