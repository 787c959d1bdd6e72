"""Checks that real Keras, safetensors and NumPy read the output of `attn convert` and `attn init`.

usage: check_weights.py ATTN MODEL.keras...      (needs: pip install keras tensorflow-cpu keras-hub safetensors)

For every MODEL, in every format: Keras, safetensors or NumPy must load the numbers of the MODEL, bit for bit (with --dtype float16
and bfloat16, rounded like NumPy), without warnings. Files that Keras saves in the older .h5, sharded or in half precision must
be equal to attn. Exits with 1 on a difference.
"""
import contextlib
import io
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import keras_hub  # noqa: F401  registers its layers
import ml_dtypes
import numpy as np
from safetensors import safe_open
from safetensors.tensorflow import load_file

class Folder(str):
    """A path to which names are appended; Keras requires paths to be strings."""

    def __truediv__(self, name):
        return os.path.join(self, name)


HALF = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def attn(program, *arguments, code=0):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != code or (code == 0 and done.stderr):
        raise AssertionError(f"attn {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def rounded(values, dtype):
    return [v.astype(HALF[dtype]).astype(v.dtype) if dtype in HALF and v.dtype.kind == "f" else v for v in values]


def same(values, wanted, what):
    if len(values) != len(wanted):
        raise AssertionError(f"{what}: {len(values)} weights instead of {len(wanted)}")
    for i, (a, b) in enumerate(zip(values, wanted)):
        if a.shape != b.shape or a.tobytes() != b.tobytes():
            raise AssertionError(f"{what}: weight {i} differs")


def name_of(path, names):
    """Returns the name of a weight: that of a nested layer includes the outer model if Keras built both at once, but
    not if it loaded them."""
    if path in names:
        return path
    similar = [name for name in names if name.endswith("/" + path) or path.endswith("/" + name)]
    return similar[0] if len(similar) == 1 else path


def fresh(model):
    """Returns the same model with other weights."""
    clone = keras.models.model_from_json(model.to_json())
    clone.set_weights([np.zeros_like(w) for w in model.get_weights()])
    return clone


def check_layouts(program, path, model, folder, dtype):
    options = () if dtype is None else ("--dtype", dtype)
    wanted = rounded(model.get_weights(), dtype)
    for name in "w.weights.h5", "w.h5", "w.keras":
        if name == "w.h5" and dtype == "bfloat16":
            continue  # stored as float32, with a warning
        attn(program, "convert", path, folder / name, *options)
        clone = fresh(model)
        clone.load_weights(folder / name)
        same(clone.get_weights(), wanted, f"load_weights({name}, {dtype})")
    loaded = keras.models.load_model(folder / "w.keras")
    same(loaded.get_weights(), wanted, f"load_model({dtype})")
    if loaded.get_config() != model.get_config():
        raise AssertionError("load_model: another config")
    if getattr(model, "optimizer", None) is not None:
        same([v.numpy() for v in loaded.optimizer.variables], [v.numpy() for v in model.optimizer.variables], "optimizer")
    with contextlib.redirect_stdout(io.StringIO()):
        editor = keras.saving.KerasFileEditor(folder / "w.keras")
    if not editor.weights_dict and wanted:
        raise AssertionError("KerasFileEditor sees no weights")


def check_arrays(program, path, model, folder, dtype):
    options = () if dtype is None else ("--dtype", dtype)
    paths = [w.path for w in model.weights]
    if len(set(paths)) < len(paths):
        return  # two weights with one path are stored by position
    attn(program, "convert", path, folder / "w.safetensors", *options)
    arrays = load_file(folder / "w.safetensors")
    paths = [name_of(path, arrays) for path in paths]
    if set(arrays) != set(paths):
        raise AssertionError(f"safetensors: {sorted(set(arrays) ^ set(paths))}")
    wanted = model.get_weights()
    if dtype in HALF:
        wanted = [v.astype(HALF[dtype]) if v.dtype.kind == "f" else v for v in wanted]
    same([arrays[p].numpy() for p in paths], wanted, f"safetensors, {dtype}")
    if dtype == "bfloat16":
        with safe_open(folder / "w.safetensors", "numpy") as file:
            assert {file.get_slice(p).get_dtype() for p in paths} <= {"BF16"}
        return  # not supported by NumPy
    attn(program, "convert", path, folder / "w.npz", *options)
    wanted = [v.astype(np.float32) if v.dtype == ml_dtypes.bfloat16 else v for v in wanted]
    with np.load(folder / "w.npz") as arrays:
        same([arrays[p] for p in paths], wanted, f"npz, {dtype}")


def check_reading(program, path, model, folder):
    forms = ["k.weights.h5", "k.weights.json", "k.npz", "k.h5"]
    with contextlib.suppress(ValueError):  # Keras cannot save the older .h5 if two weights of a layer share a path
        model.save(folder / "k.h5")
    model.save_weights(folder / "k.weights.h5")
    layers = [sum(w.numpy().nbytes for w in layer.weights) for layer in model.layers]
    shard = 1.1e-9 * max(layers + [1000])  # GB required by the largest layer
    model.save_weights(folder / "k.weights.json", max_shard_size=shard)
    np.savez(folder / "k.npz", **{w.path: w.numpy() for w in model.variables})
    config = folder / "k.json"
    pathlib.Path(config).write_text(model.to_json())
    shared = len({w.path for w in model.weights}) < len(model.weights)
    for name in forms[: 2 if shared else 4]:
        attn(program, "weights", path, "--expect", folder / name, "--model", config)
        attn(program, "convert", folder / name, folder / "back.weights.h5", "--model", config)
        clone = fresh(model)
        clone.load_weights(folder / "back.weights.h5")
        same(clone.get_weights(), model.get_weights(), f"by way of {name}")


def check_init(program, model, folder):
    config = folder / "k.json"
    for name in "i.weights.h5", "i.keras", "i.h5":
        attn(program, "init", config, "-o", folder / name, "--seed", 3)
        clone = fresh(model)
        clone.load_weights(folder / name)
        if name == "i.weights.h5":
            wanted = clone.get_weights()
        same(clone.get_weights(), wanted, name)
    keras.models.load_model(folder / "i.keras")


def check(program, path):
    model = keras.models.load_model(path)
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(name)
        dtypes = [None]
        if {w.dtype for w in model.weights} <= {"float32"}:
            dtypes += ["float16", "bfloat16"]
        for dtype in dtypes:
            check_layouts(program, path, model, folder, dtype)
            check_arrays(program, path, model, folder, dtype)
        if {w.dtype for w in model.weights} <= {"float32", "float64", "float16"}:
            check_reading(program, path, model, folder)
            check_init(program, model, folder)


if __name__ == "__main__":
    warnings.simplefilter("error")
    logging.getLogger("absl").setLevel(logging.ERROR)  # model.save warns that .h5 is outdated
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    warnings.filterwarnings("ignore", message=".*rms_scaling")
    failed = 0
    for path in sys.argv[2:]:
        keras.backend.clear_session()
        try:
            check(sys.argv[1], path)
            print(f"{path}: equal", flush=True)
        except Exception as problem:  # noqa: BLE001  one model's failure says nothing about the next
            failed += 1
            print(f"{path}: {type(problem).__name__}: {problem}", flush=True)
    sys.exit(1 if failed else 0)
