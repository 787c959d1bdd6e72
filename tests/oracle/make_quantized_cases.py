"""Writes cases of tests/data/quantized: GPTQ and AWQ layers, whose calibration would need a dataset, and LoRA with quantized
weights.

usage: make_quantized_cases.py FOLDER [CASE…]

FOLDER/CASE/ has model.keras, inputs.npz, outputs.npz (Keras's float32 result), summary.txt and meta.json. The integers,
scales and zero points of GPTQ and AWQ are random, because only the layers' results for them are checked. A LoRA model has its
merged weights in model.keras; outputs.npz belongs to these. Its folder beside/ has the state before merging: weights.npz with
all variables by path, and outputs.npz.
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


def adapted():
    x = keras.Input((7,), dtype="int32", name="x")
    y = L.Embedding(11, 24, name="table")(x)
    y = L.Dense(24, activation="gelu", name="head")(y)
    y = L.EinsumDense("abc,cde->abde", (None, 3, 4), bias_axes="de", name="split")(y)
    return keras.Model(x, L.EinsumDense("abcd,cde->abe", (None, 20), name="join")(y))


ADAPTED = {"lora_int8": "int8", "lora_int4": keras.quantizers.Int4QuantizationConfig(block_size=None),
           "lora_int4_block": keras.quantizers.Int4QuantizationConfig(block_size=8)}


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
                r.shuffle(value)  # the order that GPTQ leaves when it sorts columns by activation
        elif name == "bias":
            value = r.normal(0, 0.3, shape)
        else:
            value = r.uniform(0.01, 0.05, shape) if name == "kernel_scale" else r.uniform(0.5, 2, shape)
        variable.assign(value.astype(str(variable.dtype)))
    # Keras 3.15 saves a calibrated layer without its zero points, and then cannot load it: they are passed to it here.
    layer._get_kernel_with_merged_lora = lambda: (None, None, layer.kernel_zero)
    layer.is_gptq_calibrated = layer.quantization_mode == "gptq"
    layer.is_awq_calibrated = layer.quantization_mode == "awq"


def written(path, model, inputs, outputs, meta):
    np.savez(path / "inputs.npz", x=inputs)
    np.savez(path / "outputs.npz", output_0=outputs)
    lines = []
    model.summary(line_length=80, print_fn=lambda line, **_: lines.append(line))
    (path / "summary.txt").write_text("\n".join(lines) + "\n")
    meta = {"keras": keras.__version__, **meta, "policy": "float32", "params": model.count_params(),
            "largest": float(np.max(np.abs(outputs)))}
    (path / "meta.json").write_text(json.dumps(meta, indent=1))
    print(f"{path.name:28} {meta['params']} parameters, largest {meta['largest']:.3g}")


def make_calibrated(path, seed, make, policy):
    r = np.random.default_rng(seed)
    model = make(policy)
    for layer in model.layers:
        if layer.weights:
            draw(layer, int(policy.split("/")[2].split("_")[0]), r)
    x = r.normal(0, 1, (3, 7, 24)).astype("float32")
    y = np.asarray(model(x))
    model.save(path / "model.keras")
    again = np.asarray(keras.models.load_model(path / "model.keras")(x))
    written(path, model, x, y, {"seed": seed, "mode": policy, "reloaded_equal": bool(np.array_equal(again, y))})


def make_adapted(path, seed, how):
    r = np.random.default_rng(seed)
    keras.utils.set_random_seed(seed)
    model = adapted()
    model.quantize("int8") if how == "int8" else model.quantize("int4", config=how)
    for layer in model.layers[1:]:
        layer.enable_lora(3, lora_alpha=3 if layer.name in ("table", "head") else 6)
        for variable in layer.weights:
            if variable.name.startswith("lora_") or variable.name == "bias":
                variable.assign(r.normal(0, 0.2, variable.shape).astype("float32"))
    x = r.integers(0, 11, (3, 7)).astype("int32")
    (path / "beside").mkdir(exist_ok=True)
    np.savez(path / "beside/weights.npz", **{variable.path: np.asarray(variable) for variable in model.variables})
    np.savez(path / "beside/outputs.npz", output_0=np.asarray(model(x)))
    model.save(path / "model.keras")
    again = keras.models.load_model(path / "model.keras")
    written(path, again, x, np.asarray(again(x)), {"seed": seed, "mode": "int8" if how == "int8" else "int4"})


def main(folder, names):
    jobs = {name: (make_calibrated, make, policy) for name, (make, policy) in CASES.items()}
    jobs |= {name: (make_adapted, how) for name, how in ADAPTED.items()}
    for seed, (name, (job, *words)) in enumerate(jobs.items()):
        if names and name not in names:
            continue
        keras.backend.clear_session()
        path = pathlib.Path(folder) / name
        path.mkdir(parents=True, exist_ok=True)
        job(path, seed, *words)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
