"""Compares `attn convert --quantize` with Keras's model.quantize, bit for bit, on random layers.

usage: check_quantize.py ATTN [--layers 100] [--seed 0] [--keep FOLDER]

Each model is saved in floats and quantized by both. Every dataset of model.weights.h5 and config.json are compared. Keras
loads attn's file, and its results must equal those of Keras's own model. Keras 3.15 cannot load its own file with a
quantized MultiHeadAttention. For it, attn also writes the policies of the inner layers, and only these may differ.
"""
import argparse
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import h5py
import keras
import numpy as np
from keras import layers as L
from keras import quantizers as Q


def dense(r):
    x = keras.Input((int(r.integers(1, 9)), int(r.integers(1, 70))), name="x")
    return keras.Model(x, L.Dense(int(r.integers(1, 70)), use_bias=bool(r.integers(2)), name="dense")(x))


def einsum(r):
    width, heads, size = (int(r.integers(1, n)) for n in (40, 5, 12))
    x = keras.Input((5, width), name="x")
    equation, shape, bias = [
        ("abc,cde->abde", (None, heads, size), "de"),
        ("btd,ndh->btnh", (None, heads, size), None),
        ("abc,cde->abed", (None, size, heads), "ed"),
        ("abc,cd->abd", (None, size), "d"),
    ][r.integers(4)]
    return keras.Model(x, L.EinsumDense(equation, shape, bias_axes=bias, name="einsum")(x))


def embedding(r):
    ids = keras.Input((6,), dtype="int32", name="x")
    return keras.Model(ids, L.Embedding(int(r.integers(2, 50)), int(r.integers(1, 40)), name="table")(ids))


def reversible(r):
    ids = keras.Input((6,), dtype="int32", name="x")
    width = int(r.integers(2, 40))
    table = L.ReversibleEmbedding(int(r.integers(2, 50)), width, tie_weights=bool(r.integers(2)), name="table")
    return keras.Model(ids, table(L.Dense(width, name="mix")(table(ids)), reverse=True))


def attention(r):
    x = keras.Input((6, int(r.integers(2, 30))), name="x")
    layer = L.MultiHeadAttention(int(r.integers(1, 4)), int(r.integers(1, 9)), use_bias=bool(r.integers(2)), name="heads")
    return keras.Model(x, layer(x, x))


def block(r):
    x = keras.Input((6, 16), name="x")
    y = L.Add(name="add")([x, L.MultiHeadAttention(2, 8, name="heads")(x, x)])
    inner = keras.Sequential([keras.Input((6, 16)), L.Dense(24, activation="gelu", name="up"), L.Dense(16, name="down")], name="inner")
    return keras.Model(x, L.TimeDistributed(L.Dense(3, name="head"), name="each")(inner(y)))


KINDS = [dense, dense, einsum, einsum, embedding, reversible, attention, block]


def way_of(r):
    """Returns a mode, and attn's name of it."""
    choice = r.integers(4)
    if choice == 0:
        return "int4", Q.Int4QuantizationConfig(block_size=None), "int4:-1"
    if choice == 1:
        return "int4", None, "int4"
    if choice == 2:
        size = int(r.choice([1, 2, 5, 8, 16, 64]))
        return "int4", Q.Int4QuantizationConfig(block_size=size), f"int4:{size}"
    return "int8", None, "int8"


# Data of compile() and of building, and shared-object ids.
IGNORED = ("compile_config", "build_config", "shared_object_id")


def contents(path):
    datasets = {}
    with zipfile.ZipFile(path) as archive:
        config = json.loads(archive.read("config.json"))
        with h5py.File(io.BytesIO(archive.read("model.weights.h5"))) as file:
            file.visititems(lambda name, o: datasets.__setitem__(name, o[()]) if isinstance(o, h5py.Dataset) else None)
    return config, datasets


def without_inner_policies(config):
    """Returns the config with the policies of composite layers as Keras writes them."""
    if isinstance(config, dict):
        dtype = config.get("dtype")
        if isinstance(dtype, dict) and dtype.get("class_name") == "DTypePolicyMap":
            name = dtype["config"]["default_policy"]
            config["dtype"] = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": name}, "registered_name": None}
        return {key: without_inner_policies(value) for key, value in config.items() if key not in IGNORED}
    if isinstance(config, list):
        return [without_inner_policies(item) for item in config]
    return config


def check(attn, kind, folder, r):
    policy = str(r.choice(["float32", "float32", "mixed_bfloat16", "bfloat16"]))
    mode, config, word = way_of(r)
    keras.backend.clear_session()
    keras.utils.set_random_seed(int(r.integers(2**31)))
    keras.config.set_dtype_policy(policy)
    model = kind(r)
    for weight in model.weights:
        weight.assign(r.normal(0, 1, weight.shape).astype("float32") * r.choice([1e-3, 1.0, 30.0]))
    model.save(folder / "floats.keras")
    subprocess.run([attn, "convert", folder / "floats.keras", folder / "attn.keras", "--quantize", word, "--quiet"], check=True)
    model.quantize(mode, config=config) if config is not None else model.quantize(mode)
    model.save(folder / "keras.keras")

    what = f"{kind.__name__} {word} {policy}"
    ours, theirs = contents(folder / "attn.keras"), contents(folder / "keras.keras")
    problems = []
    if ours[1].keys() != theirs[1].keys():
        problems.append(f"datasets {sorted(ours[1].keys() ^ theirs[1].keys())}")
    for name in ours[1].keys() & theirs[1].keys():
        a, b = ours[1][name], theirs[1][name]
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            problems.append(f"{name}: {a.dtype} {a.shape} against {b.dtype} {b.shape}, {np.sum(a != b) if a.shape == b.shape else '?'} differ")
    if without_inner_policies(ours[0]) != without_inner_policies(theirs[0]):
        problems.append("config.json differs")
    shape = (3,) + tuple(model.inputs[0].shape[1:])
    x = r.integers(0, 2, shape).astype("int32") if "int" in model.inputs[0].dtype else r.normal(0, 1, shape).astype("float32")
    try:
        loaded = keras.models.load_model(folder / "attn.keras")
        a, b = (np.asarray(keras.ops.cast(m(x), "float32")) for m in (loaded, model))
        if not np.array_equal(a, b):
            problems.append(f"loaded again its outputs differ by {np.max(np.abs(a - b))}")
    except ValueError as error:
        problems.append("Keras cannot load it: " + str(error).split("\n")[0][:200])
    for problem in problems:
        print(f"{what}: {problem}")
    return not problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attn")
    parser.add_argument("--layers", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    args = parser.parse_args()
    r = np.random.default_rng(args.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        good = sum(check(args.attn, KINDS[i % len(KINDS)], folder, r) for i in range(args.layers))
    print(f"{good} of {args.layers} are Keras's, bit for bit")
    return 0 if good == args.layers else 1


if __name__ == "__main__":
    sys.exit(main())
