"""Outputs and inputs that are not regular files: full devices, closed descriptors, pipes, folders, changing files."""
import json
import os
import subprocess
import threading
import time

from program import Folder, temporaries
from scenario import MODEL


def _said(result):
    return len(result.error_lines()) == 1 and result.error_lines()[0].startswith("attn: error: ")


def _shell(attn, command, folder):
    process = subprocess.run(["bash", "-c", command], cwd=folder, env=attn.environment({"A": attn.path}),
                             capture_output=True, timeout=120, check=False)
    return process.returncode, process.stdout, process.stderr.decode()


def outputs(attn, inputs):
    """Returns tuples (description, passed)."""
    with Folder(inputs) as folder:
        def run(*words, **more):
            return attn.run(words, folder, **more)

        with open("/dev/full", "wb") as device:
            for words in (("summary", "m.json"), ("run", "m.json", "--json"), ("run", "m.json", "-o", "-"),
                          ("completion", "bash"), ("help",), ("--version",), ("bench", "m.json", "--iterations", "1",
                          "--warmup", "0"), ("doctor",), ("devices",), ("man",), ("convert", "--help")):
                result = run(*words, stdout=device)
                yield f"{words[0]} > /dev/full", result.code == 3 and _said(result)
        for words in (("summary", "m.json", "-o", "/dev/full"), ("man", "run", "-o", "/dev/full"),
                      ("get-config", "m.json", "-o", "/dev/full")):
            result = run(*words)
            yield f"{words[0]} -o /dev/full", result.code == 3 and _said(result)
        for words in ("summary m.json", "run m.json", "run m.json -o -", "help", "--version"):
            code, _, err = _shell(attn, f"$A {words} >&-", folder)
            yield f"{words} >&-", code == 3 and err.count("\n") == 1 and err.startswith("attn: error: ")
            code, out, err = _shell(attn, f"$A {words} 2>&-", folder)
            yield f"{words} 2>&-", code == 0 and out
            code, out, err = _shell(attn, f"$A {words} <&-", folder)
            yield f"{words} <&-", code == 0 and out
        # The next open() returns a closed descriptor's number: nothing may be printed into that file.
        code, _, _ = _shell(attn, "$A run m.json --weights w.weights.h5 -o out.npz <&- >&- 2>&-", folder)
        yield "all three closed", code == 3 and not temporaries(folder)
        for closed in (">&- 2>&-", "<&- >&-", "<&- 2>&-", "<&- >&- 2>&-"):
            code, _, _ = _shell(attn, f"rm -f out.npz; $A run m.json --weights w.weights.h5 -o out.npz {closed}", folder)
            whole = (folder / "out.npz").read_bytes() == (folder / "y.npz").read_bytes()
            yield f"an output beside {closed}", whole and code == (3 if ">&-" in closed.split() else 0)
        for words in ("summary m.json --json", "man run", "completion bash", "help run", "get-config m.json"):
            code, _, err = _shell(attn, f"set -o pipefail; $A {words} | head -c 1", folder)
            yield f"{words} | head -c 1", code in (0, 141) and err == ""
            code, _, err = _shell(attn, f"set -o pipefail; $A {words} | true", folder)
            yield f"{words} | true", code in (0, 141) and err == ""
        os.mkfifo(folder / "pipe.npz")
        code, out, _ = _shell(attn, "$A run m.json -o pipe.npz >/dev/null & cat pipe.npz > got.npz; wait $!", folder)
        yield "a FIFO as output", code == 0 and (folder / "got.npz").read_bytes() == (folder / "y.npz").read_bytes()
        code, _, _ = _shell(attn, "cat w.npz > pipe.npz & $A weights pipe.npz; code=$?; wait; exit $code", folder)
        yield "a FIFO as input", code == 0
        os.mkdir(folder / "folder.npz")
        os.mkdir(folder / "folder.json")  # an extension that a summary may have
        for words in (("run", "m.json", "-o", "folder.npz"), ("weights", "folder.npz"), ("summary", "folder.npz"),
                      ("summary", "m.json", "-o", "folder.json"), ("run", "m.json", "--weights", "folder.npz")):
            result = run(*words)
            yield f"a folder: {words}", result.code == 3 and _said(result)
        yield from _forbidden(run, folder)
        result = run("run", "m.json", "--dump", "m.json")
        yield "a file as folder", result.code == 3 and _said(result)
        yield "no temporaries", temporaries(folder) == []


def _forbidden(run, folder):
    """Runs as a user without permission: root becomes nobody."""
    someone = {"user": 65534} if os.geteuid() == 0 else {}
    for path, mode in ((folder, 0o755), (folder / "secret.json", 0), (folder / "old.npz", 0o444)):
        if path != folder:
            path.write_text("{}")
        os.chmod(path, mode)
    (folder / "closed").mkdir(mode=0o555)
    for words in (("summary", "secret.json"), ("run", "-o", "closed/y.npz"), ("run", "-o", "old.npz"),
                  ("run", "--dump", "closed/dump"), ("plot", "-o", "closed/p.svg"),
                  ("run", "--weights", "secret.json")):
        result = run(*words, **someone)
        yield f"without the right to: {words}", result.code == 3 and _said(result)
    yield "the protected file is as it was", (folder / "old.npz").read_text() == "{}"


def changing_inputs(attn, inputs, loops):
    """Reads a file while another program truncates, extends or rewrites it. Returns the counts of exit codes and of results
    that differ from that of the whole file, and the problems."""
    answers, others = {}, 0
    wrong = []
    with Folder(inputs) as folder:
        whole = {}
        for name in ("w.npz", "w.safetensors", "w.weights.h5", "w.keras"):
            source = (inputs / name).read_bytes()
            os.unlink(folder / name)
            (folder / name).write_bytes(source)
            whole[name] = source
        # Large enough to be memory-mapped instead of read.
        (folder / "large.json").write_text(json.dumps(MODEL | {"intermediate_dim": 100000}))
        attn.run(("init", "large.json", "-o", "large.safetensors"), folder)
        whole["large.safetensors"] = (folder / "large.safetensors").read_bytes()
        names = sorted(whole)

        def words_of(name, i):
            words = ("weights", name) if i % 2 else ("convert", name, "out.npz")
            return words + ("--model", "m.json") if name == "w.weights.h5" and words[0] == "convert" else words

        def result_of(words):
            out = folder / "out.npz"
            out.unlink(missing_ok=True)
            result = attn.run(words, folder)
            return result, result.out, out.read_bytes() if out.exists() else None

        quiet = {words: result_of(words) for words in (words_of(name, i) for name in names for i in range(2))}
        stop = threading.Event()
        current = [names[0]]

        def disturb():
            step = 0
            while not stop.is_set():
                path, data = folder / current[0], whole[current[0]]
                step += 1
                if step % 3 == 0:
                    os.truncate(path, len(data) * (step % 7) // 7)
                elif step % 3 == 1:
                    with open(path, "ab") as file:
                        file.write(b"\0" * 5000)
                else:
                    path.write_bytes(data)
                time.sleep(0.0005 * (step % 5))

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            for i in range(loops):
                current[0] = names[i % len(names)]
                words = words_of(current[0], i)
                result, *told = result_of(words)
                answers[result.code] = answers.get(result.code, 0) + 1
                if result.code not in (0, 3):
                    wrong.append(f"{words}: exit {result.code}: {result.err[:200]!r}")
                elif result.code == 0 and told != list(quiet[words][1:]):
                    # Without a checksum, the numbers may be a mixture with the new ones; in a .keras file names may be
                    # missing, with a warning.
                    others += 1
                    if current[0].endswith((".npz", ".keras")) and b"attn: warning: " not in result.err:
                        wrong.append(f"{words}: exit 0 and another result")
        finally:
            stop.set()
            thread.join()
        if temporaries(folder):
            wrong.append(f"left {temporaries(folder)}")
    return answers, others, wrong


def check(attn, inputs, _, short):
    failures, count = [], 0
    for what, as_promised in outputs(attn, inputs):
        count += 1
        if not as_promised:
            failures.append(what)
    loops = 60 if short else 500
    answers, others, wrong = changing_inputs(attn, inputs, loops)
    codes = ", ".join(f"exit {code}: {n}" for code, n in sorted(answers.items()))
    told = (f"{count} odd outputs and inputs, {loops} files that changed while they were read ({codes}; {others} results "
            "were others than the whole file's)")
    return told, failures + wrong
