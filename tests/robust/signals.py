"""Ctrl-C and other signals at random times: how long a command continues, and what it leaves."""
import json
import pathlib
import random
import signal
import time
from dataclasses import dataclass

from program import Folder, shell_code, temporaries
from sweep import OLD

LIMIT = 0.5         # maximum seconds until the end
LIMIT_SECOND = 0.1  # after a second Ctrl-C
BUSY = 10           # factor of the limits for a short test, when the machine may be under load
LONGEST = 1.2  # the latest second of a signal: every phase has begun by then
# At least half a second of work, so that signals hit every phase: reading, drawing weights, packing, computing,
# writing.
MODEL = {"name": "encoder", "input_shape": [96, 768], "num_layers": 4, "num_heads": 12, "key_dim": 64,
         "intermediate_dim": 3072, "units": 512}


@dataclass(frozen=True)
class Long:
    name: str
    words: tuple
    outputs: tuple = ()


LONG = (
    Long("run", ("run", "m.json", "--batch-size", "4", "-o", "y.npz"), ("y.npz",)),
    Long("run reference", ("run", "m.json", "--backend", "reference", "-o", "y.npz"), ("y.npz",)),
    Long("run h5", ("run", "m.json", "--weights", "w.weights.h5", "--dump", "dump"), ()),
    Long("init", ("init", "m.json", "-o", "y.safetensors"), ("y.safetensors",)),
    Long("convert", ("convert", "w.weights.h5", "y.keras", "--model", "m.json"), ("y.keras",)),
    Long("heatmap", ("heatmap", "m.json", "-o", "y.html"), ("y.html",)),
    Long("report", ("report", "m.json", "-o", "y.html"), ("y.html",)),
    Long("compare", ("compare", "m.json", "--backend", "onednn,reference"), ()),
    Long("bench", ("bench", "m.json", "--json", "-o", "y.json", "--min-time", "30"), ("y.json",)),
    Long("bench reference", ("bench", "m.json", "--json", "-o", "y.json", "--backend", "reference"), ("y.json",)),
    Long("bench stream", ("bench", "m.json", "--format", "jsonl", "--batch-size", "1,2", "--min-time", "30"), ()),
    Long("bench ops", ("bench", "m.json", "--ops", "--json", "-o", "y.json"), ("y.json",)),
    Long("bench peaks", ("bench", "m.json", "--roofline", "--json", "-o", "y.json"), ("y.json",)),
    Long("bench verified", ("bench", "m.json", "--verify", "always", "--iterations", "1", "--json", "-o", "y.json"),
         ("y.json",)),
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


def one(attn, folder, long, which, delay, wider):
    """Returns (seconds from the signal to the end, or None if the end came first; the problem)."""
    for name in long.outputs:
        (folder / name).write_bytes(OLD)
    process = attn.start(long.words, folder)
    time.sleep(delay)
    if process.poll() is not None:
        process.communicate()
        return None, None
    sent = time.monotonic()
    process.send_signal(which)
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - sent
    code = shell_code(process.returncode)
    if code == 0 and took < 0.05 * wider:
        return None, None  # the end came first
    if code != 128 + which:
        return took, f"exit {code}: {err[:200]!r}"
    if took > LIMIT * wider:
        return took, f"{took:.2f} s after the signal"
    if temporaries(folder):
        return took, f"left {temporaries(folder)}"
    for name in long.outputs:
        data = (folder / name).read_bytes()
        if data == OLD:
            continue
        if long.words[0] != "bench":
            continue  # the file existed before the signal
        if json.loads(data)["partial"] is not True:
            return took, f"{name} does not say that it is partial"
    if "jsonl" in long.words and out and which != signal.SIGPIPE:
        lines = [json.loads(line) for line in out.splitlines()]
        if lines[-1].get("partial") is not True and len(lines) > 1:
            return took, f"its last line is {lines[-1]}"
    return took, None


def second(attn, folder, delay):
    """Returns the seconds from a second Ctrl-C to the end, while a command still cleans up after the first."""
    process = attn.start(("bench", "m.json", "--min-time", "30"), folder)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    time.sleep(0.06)  # two simultaneous signals count as one
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    return time.monotonic() - sent, shell_code(process.returncode)


def check(attn, _, __, short):
    # In a shell, background processes ignore Ctrl-C, and attn inherits that.
    for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(which) == signal.SIG_IGN:
            signal.signal(which, signal.SIG_DFL)
    times, failures, met = {}, [], 0
    wider = BUSY if short else 1
    with Folder() as folder:
        (folder / "m.json").write_text(json.dumps(MODEL))
        assert attn.run(("init", "m.json", "-o", "w.weights.h5"), folder).code == 0
        for long in LONG:
            chance = random.Random(long.name)
            start = time.monotonic()
            process = attn.start(long.words, folder)
            try:
                process.communicate(timeout=LONGEST)
            except Exception:  # noqa: BLE001: it takes longer, which is as good
                process.kill()
                process.communicate()
                for name in temporaries(folder):  # SIGKILL leaves temporary files
                    pathlib.Path(name).unlink()
            whole = min(LONGEST, time.monotonic() - start)
            for i in range(4 if short else 200):
                which = SIGNALS[i % len(SIGNALS)]
                took, wrong = one(attn, folder, long, which, chance.random() * whole, wider)
                if took is None:
                    continue
                met += 1
                times.setdefault(long.name, []).append(took)
                if wrong:
                    failures.append(f"{long.name}, {which.name}: {wrong}")
        seconds = [second(attn, folder, 0.1 + 0.02 * i) for i in range(5 if short else 50)]
        for took, code in seconds:
            if code != 130 or took > LIMIT_SECOND * wider:
                failures.append(f"the second Ctrl-C: exit {code} after {took:.3f} s")
    slowest = max(times.items(), key=lambda item: max(item[1]))
    every = sorted(took for each in times.values() for took in each)
    return (f"{met} signals: median {1e3 * every[len(every) // 2]:.0f} ms to the end, slowest "
            f"{1e3 * max(slowest[1]):.0f} ms ({slowest[0]}); second Ctrl-C at most "
            f"{1e3 * max(took for took, _ in seconds):.0f} ms"), failures
