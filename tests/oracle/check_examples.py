#!/usr/bin/env python3
"""Holds attn against the models of Keras's documentation on attention, custom layers and all.

    python tests/oracle/check_examples.py build/attn [NAME…]

Each model of examples/ is saved by Keras with random weights, made flat by the script of `attn flatten-script`, and run by
`attn run --expect` on inputs for which Keras says what it gives. `attn summary` opens the unflattened archive too.
"""
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
warnings.simplefilter("ignore")

import keras
import numpy as np

HERE = pathlib.Path(__file__).parent / "examples"
sys.path.insert(0, str(HERE))
MODULES = ("text", "translation", "vision", "series", "scattering", "mixing", "recognition")


def random_weights(model, seed):
    """Every weight differs from every other, so that one in a wrong place shows."""
    random = np.random.default_rng(seed)
    for weight in model.weights:
        value = np.asarray(weight, "float32")
        if "float" in str(weight.dtype):
            noise = 0.1 * random.standard_normal(value.shape)
            weight.assign(np.abs(value + noise) + 0.1 if weight.name.endswith("variance") else value + noise)


def check(attn, flatten, make, folder):
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    model = make()
    random_weights(model, 2)
    archive, flat = folder / "model.keras", folder / "flat.keras"
    model.save(archive)
    specs = INPUTS.get(make.__name__) or flatten.specs_of(model, None)
    sample = flatten.random_inputs(model, specs, 2, 7, 3)
    arrays = keras.tree.flatten(sample)
    given = sample if make.__name__ in INPUTS else None
    flatten.flatten(keras.saving.load_model(archive, compile=False), str(flat), given)
    names = [tensor.name for tensor in keras.saving.load_model(flat).inputs]
    outputs = model(sample, training=False)
    named = outputs if isinstance(outputs, dict) else {f"output_{i}": x for i, x in enumerate(keras.tree.flatten(outputs))}
    np.savez(folder / "in.npz", **dict(zip(names, map(as_array, arrays))))
    np.savez(folder / "out.npz", **{name: as_array(value) for name, value in named.items()})
    rows = [attn, "run", flat, "--input", folder / "in.npz", "--expect", folder / "out.npz", "--rtol", "1e-4", "--atol", "1e-5", "-q"]
    ran = subprocess.run(rows, capture_output=True, text=True)
    if ran.returncode:
        return ran.stderr.strip() or ran.stdout.strip()[-400:]
    shown = subprocess.run([attn, "summary", archive, "--json", "-q"], capture_output=True, text=True)
    if shown.returncode:
        return "summary: " + shown.stderr.strip()
    if f'"total_params": {model.count_params()},' not in shown.stdout:
        return f"summary counts other parameters than the {model.count_params()} of Keras"
    return ""


def as_array(value):
    """Strings as NumPy has them without Python's objects."""
    value = np.asarray(value)
    return value if value.dtype != object else np.vectorize(bytes.decode, otypes=["U"])(value)


def array(flatten, shape, dtype, name):
    return flatten.Spec(shape, dtype, name)


def main():
    attn, wanted = sys.argv[1], sys.argv[2:]
    script = subprocess.run([attn, "flatten-script"], capture_output=True, text=True, check=True).stdout
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "flatten.py").write_text(script)
        sys.path.insert(0, str(folder))
        flatten = importlib.import_module("flatten")
        INPUTS["transformer_asr"] = [array(flatten, (64, 9), "float32", "input_0"), array(flatten, (6,), "int32", "input_1")]
        INPUTS["ner_transformers"] = array(flatten, (12,), "int32", "inputs")
        INPUTS["tab_transformer"] = {"categories": array(flatten, (3,), "int32", "categories"),
                                     "numbers": array(flatten, (4,), "float32", "numbers")}
        INPUTS["image_search_with_a_dual_encoder"] = [array(flatten, (8, 8, 3), "float32", "image"), array(flatten, (5,), "int32", "ids")]
        models = [make for name in MODULES for make in importlib.import_module(name).MODELS]
        for make in models:
            if wanted and make.__name__ not in wanted:
                continue
            try:
                wrong = check(attn, flatten, make, folder)
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
                if wanted:
                    raise
            failed += bool(wrong)
            print(f"{make.__name__}: {wrong or 'agrees'}", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


INPUTS = {}  # of subclassed models, whose archives do not tell dtypes

if __name__ == "__main__":
    sys.exit(main())
