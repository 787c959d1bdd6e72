#!/usr/bin/env python3
"""Measures the figures of docs/python.md: from pip to the first summary, and predict() compared with `attn bench` and
keras.Model.predict.

usage: bench/python/wheel.py [--wheel WHEEL] [--keras-python PYTHON] [--rounds N] [--json]

The wheel (by default the newest in dist/) is installed into a fresh environment, with its dependencies. Both sides of a comparison
take turns, in separate processes. Compares the fastest pass of all rounds, and the median of the rounds' medians, which is less
reliable under load. PYTHON is one with Keras, and runs the same weights on the same input. Outputs must be equal.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = {"name": "small", "input_shape": [4, 8], "num_heads": 2, "intermediate_dim": 16}

# Times single passes for a second after half a second of warm-up.
TIMED = """
import json, sys, time
import numpy as np

def timed(run):
    def passes(seconds):
        times, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            began = time.perf_counter()
            run()
            times.append(time.perf_counter() - began)
        return times
    passes(0.5)
    times = passes(1.0)
    return {"fastest": min(times), "median": float(np.median(times))}

model, inputs, output, threads = sys.argv[1:]
x = np.load(inputs)
"""
BY_ATTN = TIMED + """
import attn
loaded = attn.Model(model, threads=int(threads))
np.save(output, loaded.predict(x))
print(json.dumps({"predict": timed(lambda: loaded.predict(x))}))
"""
BY_KERAS = TIMED + """
import keras
loaded = keras.saving.load_model(model)
np.save(output, loaded.predict(x, verbose=0))
print(json.dumps({"predict": timed(lambda: loaded.predict(x, verbose=0)),
                  "call": timed(lambda: np.asarray(loaded(x, training=False)))}))
"""


def run(*words, **named):
    done = subprocess.run([str(word) for word in words], capture_output=True, encoding="utf-8", env=environment(), **named)
    if done.returncode != 0:
        raise SystemExit(f"{words}: {done.stderr}")
    return done.stdout


def environment():
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith("ATTN_") and k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    return kept | {"TF_CPP_MIN_LOG_LEVEL": "3"}


def seconds(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def merge(rounds):
    return {"fastest_us": 1e6 * min(r["fastest"] for r in rounds),
            "median_us": 1e6 * statistics.median(r["median"] for r in rounds)}


def by_bench(program, model, threads):
    (row,) = json.loads(run(program, "bench", model, "--threads", threads, "--min-time", "1", "--quiet", "--json"))["rows"]
    return {"fastest": row["ms"]["min"] / 1e3, "median": row["ms"]["median"] / 1e3}


def same(numpy_python, a, b):
    code = ("import numpy as np, sys; a, b = map(np.load, sys.argv[1:]); "
            "sys.exit(not np.allclose(a, b, rtol=1e-3, atol=1e-6))")
    run(numpy_python, "-c", code, a, b)


def compare(venv, folder, name, threads, keras_python, rounds):
    """Returns the microseconds of a pass over one batch entry, by `attn bench`, by predict(), and by Keras if it is
    installed."""
    program, python = venv / "bin/attn", venv / "bin/python"
    model, x = folder / f"{name}.keras", folder / f"{name}.npy"
    run(program, "init", folder / f"{name}.json", "-o", model, "--quiet")
    shape = json.loads((folder / f"{name}.json").read_text())["input_shape"]
    run(python, "-c", "import numpy as np, sys; np.save(sys.argv[1], np.random.default_rng(0).standard_normal("
        f"{[1, *shape]}, 'float32'))", x)
    taken = {}
    for _ in range(rounds):
        taken.setdefault("bench", []).append(by_bench(program, model, threads))
        for kind, by, interpreter in (("predict", BY_ATTN, python), ("keras", BY_KERAS, keras_python)):
            if interpreter is None:
                continue
            told = json.loads(run(interpreter, "-c", by, model, x, folder / f"{kind}.npy", threads).splitlines()[-1])
            for what, times in told.items():
                taken.setdefault(kind if what == "predict" else f"{kind}_{what}", []).append(times)
        if keras_python is not None:
            same(python, folder / "predict.npy", folder / "keras.npy")
    return {kind: merge(times) for kind, times in taken.items()}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--wheel", type=pathlib.Path)
    arguments.add_argument("--keras-python")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    wheels = sorted((ROOT / "dist").glob("attn-*.whl"), key=lambda path: path.stat().st_mtime)
    if given.wheel is None and not wheels:
        raise SystemExit("no wheel in dist/: run make wheel")
    wheel = given.wheel or wheels[-1]
    out = {"wheel": wheel.name, "wheel_mb": wheel.stat().st_size / 1e6}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        venv = folder / "venv"
        run(sys.executable, "-m", "venv", venv)
        out["install_s"] = seconds(lambda: run(venv / "bin/pip", "--disable-pip-version-check", "install", wheel))
        out["summary_s"] = seconds(lambda: run(venv / "bin/attn", "summary"))
        out["import_summary_s"] = seconds(lambda: run(venv / "bin/python", "-c", "import attn, sys; "
                                                      "attn.Model(sys.argv[1]).summary()", ROOT / "configs/encoder.json"))
        (folder / "encoder.json").write_text((ROOT / "configs/encoder.json").read_text())
        (folder / "small.json").write_text(json.dumps(SMALL))
        out["encoder"] = compare(venv, folder, "encoder", 0, given.keras_python, given.rounds)
        out["small"] = compare(venv, folder, "small", 1, None, given.rounds)
    for which in ("fastest_us", "median_us"):
        out[f"overhead_{which}"] = out["small"]["predict"][which] - out["small"]["bench"][which]
        if given.keras_python:
            out[f"of_keras_{which.removesuffix('_us')}"] = out["encoder"]["predict"][which] / out["encoder"]["keras"][which]
    if given.json:
        print(json.dumps(out, indent=2))
        return
    print(f"{out['wheel']}: {out['wheel_mb']:.1f} MB")
    print(f"pip install {out['install_s']:.1f} s, then attn summary {out['summary_s']:.2f} s "
          f"(import attn and a summary: {out['import_summary_s']:.2f} s)")
    for name in ("encoder", "small"):
        for kind, times in out[name].items():
            print(f"{name:8} {kind:11} fastest {times['fastest_us']:9.1f} us, median {times['median_us']:9.1f} us")
    print(f"predict over attn bench, of the small model: {out['overhead_fastest_us']:.1f} us at its fastest, "
          f"{out['overhead_median_us']:.1f} us by medians")
    if given.keras_python:
        print(f"predict against keras.Model.predict: {out['of_keras_fastest']:.3f} at its fastest, "
              f"{out['of_keras_median']:.3f} by medians")


if __name__ == "__main__":
    main()
