"""Writes the cases of tests/data/quantized that calibration would take a dataset for: layers of gptq and awq.

usage: make_quantized_cases.py FOLDER

FOLDER/CASE/ model.keras, inputs.npz, outputs.npz (Keras's float32 result), summary.txt, meta.json. The integers, scales
and zero points are drawn: what is checked is what a layer makes of them.
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
from keras import layers as L


def dense(policy):
    x = keras.Input((7, 24), name="x")
    return keras.Model(x, L.Dense(17, activation="gelu", dtype=policy, name="head")(x))


def heads(policy):
    x = keras.Input((7, 24), name="x")
    y = L.EinsumDense("abc,cde->abde", (None, 3, 4), bias_axes="de", dtype=policy, name="split")(x)
    return keras.Model(x, L.EinsumDense("abcd,cde->abe", (None, 20), dtype=policy, name="join")(y))


CASES = {
    "dense_gptq": (dense, "gptq/4/8_from_float32"),
    "dense_gptq_8": (dense, "gptq/8/-1_from_float32"),
    "dense_awq": (dense, "awq/4/8_from_float32"),
    "einsum_dense_heads_gptq": (heads, "gptq/4/8_from_float32"),
    "einsum_dense_heads_awq": (heads, "awq/4/16_from_float32"),
}


def draw(layer, group, r):
    """The variables of a calibrated layer."""
    for variable in layer.weights:
        shape, name = variable.shape, variable.name
        if name == "kernel":
            value = r.integers(0, 256, shape)
        elif name in ("kernel_zero", "zero_point"):
            value = r.integers(0, 16, shape)
        elif name == "g_idx":
            value = np.arange(shape[0]) // group if group > 0 else np.zeros(shape)
            if group > 0:
                r.shuffle(value)  # as gptq leaves them where it takes columns by their activations
        elif name == "bias":
            value = r.normal(0, 0.3, shape)
        else:
            value = r.uniform(0.01, 0.05, shape) if name == "kernel_scale" else r.uniform(0.5, 2, shape)
        variable.assign(value.astype(str(variable.dtype)))
    # Keras 3.15 saves a calibrated layer without its zero points, and then cannot load it: they are handed to it here.
    layer._get_kernel_with_merged_lora = lambda: (None, None, layer.kernel_zero)
    layer.is_gptq_calibrated = layer.quantization_mode == "gptq"
    layer.is_awq_calibrated = layer.quantization_mode == "awq"


def main(folder):
    for seed, (name, (make, policy)) in enumerate(CASES.items()):
        r = np.random.default_rng(seed)
        keras.backend.clear_session()
        model = make(policy)
        for layer in model.layers:
            if layer.weights:
                draw(layer, int(policy.split("/")[2].split("_")[0]), r)
        path = pathlib.Path(folder) / name
        path.mkdir(parents=True, exist_ok=True)
        x = r.normal(0, 1, (3, 7, 24)).astype("float32")
        y = np.asarray(model(x))
        model.save(path / "model.keras")
        again = np.asarray(keras.models.load_model(path / "model.keras")(x))
        np.savez(path / "inputs.npz", x=x)
        np.savez(path / "outputs.npz", output_0=y)
        lines = []
        model.summary(line_length=80, print_fn=lambda line, **_: lines.append(line))
        (path / "summary.txt").write_text("\n".join(lines) + "\n")
        meta = {"keras": keras.__version__, "seed": seed, "mode": policy, "policy": "float32", "params": model.count_params(),
                "reloaded_equal": bool(np.array_equal(again, y)), "largest": float(np.max(np.abs(y)))}
        (path / "meta.json").write_text(json.dumps(meta, indent=1))
        print(f"{name:28} {meta['params']} parameters, largest {meta['largest']:.3g}, loaded again equal: {meta['reloaded_equal']}")


if __name__ == "__main__":
    main(sys.argv[1])
