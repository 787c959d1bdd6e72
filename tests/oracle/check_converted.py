"""Checks that real Keras loads the .keras files that attn writes, with equal weights and outputs.

    python tests/oracle/check_converted.py ATTN [--by convert|init|train] [--jobs I/N] [MODEL…]

A MODEL is a .keras, .h5 or .json file; by default all of tests/data. `convert` rewrites the model and its weights, `init`
writes the model with random weights, and `train` takes one step with the data of a model of tests/data/training. Keras
loads the result; for random inputs its outputs must equal those of attn's reference backend within 1e-4 of the largest
number (half precision: 2e-2). Exits with 1 on a failure. Needs keras, keras-hub and tensorflow.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import keras_hub  # noqa: F401  registers its layers
import numpy as np

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
# Reasons for which attn rejects a model: Keras has no such layer, or the file contains no complete model.
REFUSED = ("is a single layer", "only built-in classes run", "never run", "has no activation like Keras 2's",
           "this file contains weights without a model", "the layer '", "is not supported", "custom")


def attn(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def found(by):
    if by == "train":
        return sorted(DATA.glob("training/*/*/start.keras"))
    own = [path for path in DATA.glob("**/*.keras") if not path.relative_to(DATA).parts[0].startswith("custom")]  # need code
    out = sorted([*own, *DATA.glob("keras2/**/model.h5")])
    return out + sorted(DATA.glob("keras*/**/model.json")) if by == "init" else out


def write(program, by, model, target):
    if by == "train":
        data = [word for path in sorted(model.parent.glob("data*.npz"))[:1] for word in ("--data", path)]
        attn(program, "train", model, *data, "-o", target, "--steps", "1", "--batch-size", "4", "-q")
    elif by == "init":
        attn(program, "init", model, "-o", target, "-q")
    else:
        attn(program, "convert", model, target, "-q")


def drawn(program, target, model):
    """Returns inputs for the model: stored or random ones; nothing for a model that reads strings."""
    beside = model.parent / "inputs.npz"
    if beside.exists() and model.stem == "model":
        return dict(np.load(beside))
    random, out = np.random.default_rng(1), {}
    told = attn(program, "run", target, "--batch-size", "2", "--backend", "reference", "-q", "--json")
    for given in json.loads(told)["inputs"]:
        if given["dtype"] == "string":
            return None
        shape = given["shape"]
        floats = "float" in given["dtype"]
        array = random.standard_normal(shape) if floats else random.integers(0, 2, shape)
        out[given["name"]] = array.astype("float32" if given["dtype"] == "bfloat16" else given["dtype"])
    return out


def in_order(model, arrays):
    """Returns the inputs in the structure of the model's."""
    names = [tensor.name for tensor in keras.tree.flatten(model._inputs_struct)] if hasattr(model, "_inputs_struct") else None
    if names is None or any(name not in arrays for name in names):
        values = list(arrays.values())
        return values[0] if len(values) == 1 else values
    flat = [arrays[name] for name in names]
    return keras.tree.pack_sequence_as(model._inputs_struct, flat)


def compare(program, target, model, folder):
    loaded = keras.saving.load_model(target, compile=False)
    if type(loaded).__name__ == "Gemma3nCausalLM":  # its logits are those of the embedding before the weights were loaded
        loaded = type(loaded)(None, loaded.backbone)
    arrays = drawn(program, target, model)
    if arrays is None:
        return ""
    np.savez(folder / "in.npz", **arrays)
    attn(program, "run", target, "--input", folder / "in.npz", "-o", folder / "out.npz", "--backend", "reference", "-q")
    ours = list(dict(np.load(folder / "out.npz")).values())
    given = keras.tree.flatten(loaded(in_order(loaded, arrays), training=False))
    if any("string" in str(y.dtype) for y in given):
        return ""
    theirs = [np.asarray(keras.ops.convert_to_numpy(keras.ops.cast(y, "float32"))) for y in given]
    if len(ours) != len(theirs):
        return f"{len(theirs)} outputs, attn has {len(ours)}"
    half = any("16" in (layer.compute_dtype or "") for layer in loaded._flatten_layers() if hasattr(layer, "compute_dtype"))
    for mine, own in zip(ours, theirs):
        mine = mine.astype("float32")
        allowed = (2e-2 if half else 1e-4) * max(1.0, float(np.nanmax(np.abs(np.where(np.isfinite(own), own, 0)), initial=0)))
        if mine.shape != own.shape or not np.allclose(mine, own, rtol=0, atol=allowed, equal_nan=True):
            return f"outputs differ, shapes {mine.shape} and {own.shape}, by {np.nanmax(np.abs(mine - own)) if mine.shape == own.shape else '?'}"
    return ""


def check(program, by, model):
    """Returns (the problem or "", whether it was rejected)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        target = folder / "written.keras"
        try:
            write(program, by, model, target)
        except RuntimeError as error:
            text = str(error)
            return text, any(reason in text for reason in REFUSED)
        try:
            return compare(program, target, model, folder), False
        except Exception as error:  # noqa: BLE001: whatever Keras raises is what this is for
            return f"Keras: {type(error).__name__}: {' '.join(str(error).split())[-300:]}", False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attn")
    parser.add_argument("--by", choices=("convert", "init", "train"), default="convert")
    parser.add_argument("--jobs", default="0/1")
    parser.add_argument("model", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    part, parts = map(int, args.jobs.split("/"))
    counts = {"equal": 0, "refused": 0, "FAILED": 0}
    for model in (args.model or found(args.by))[part::parts]:
        keras.backend.clear_session()
        wrong, refused = check(args.attn, args.by, model)
        verdict = "refused" if refused else "FAILED" if wrong else "equal"
        counts[verdict] += 1
        if wrong:
            print(f"{verdict} {model}: {wrong}", flush=True)
    print(counts)
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
