#!/usr/bin/env python3
"""Compares attn with the models of Keras's documentation on attention, which have custom layers.

    python tests/oracle/check_examples.py build/attn [NAME…]

Keras saves each model of examples/ with random weights. A new process then follows docs/custom.md: it loads the file, with the
classes of --import, and flattens it by the script of `attn flatten-script`. `attn run --expect` compares the result with what
Keras computed in the first process. `attn summary` also opens the original archive.
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
MODULES = ("text", "translation", "vision", "series", "scattering", "mixing", "recognition", "custom")


def random_weights(model, seed):
    """Sets all weights to different numbers, so that a misplaced one is detected."""
    random = np.random.default_rng(seed)
    for weight in model.weights:
        value = np.asarray(weight, "float32")
        if "float" in str(weight.dtype):
            noise = 0.1 * random.standard_normal(value.shape)
            weight.assign(np.abs(value + noise) + 0.1 if weight.name.endswith("variance") else value + noise)


def command(*words):
    """Returns the stderr of a command (or its stdout if that is empty) if it fails, otherwise ""."""
    ran = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return (ran.stderr.strip() or ran.stdout.strip())[-400:] if ran.returncode else ""


def check(attn, flatten, module, make, folder):
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    model = make()
    random_weights(model, 2)
    archive, flat = folder / "model.keras", folder / "flat.keras"
    model.save(archive)
    specs = INPUTS.get(make.__name__) or flatten.specs_of(model, None)
    sample = flatten.random_inputs(model, specs, 2, 7, 3)
    outputs = flatten.called(model, sample)
    named = outputs if isinstance(outputs, dict) else {f"output_{i}": x for i, x in enumerate(keras.tree.flatten(outputs))}
    leaves = zip(keras.tree.flatten(specs), keras.tree.flatten(sample))
    np.savez(folder / "in.npz", **{spec.name: as_array(value) for spec, value in leaves})
    np.savez(folder / "out.npz", **{name: as_array(value) for name, value in named.items()})
    given = ["--inputs", folder / "in.npz"] if make.__name__ in INPUTS else []
    return (
        command(sys.executable, folder / "flatten.py", archive, flat, "--import", HERE / f"{module}.py", *given)
        or command(attn, "run", flat, "--input", folder / "in.npz", "--expect", folder / "out.npz", "--rtol", "1e-4",
                   "--atol", "1e-5", "-q")
        or wrong_summary(attn, archive, model)
    )


def wrong_summary(attn, archive, model):
    shown = subprocess.run([attn, "summary", archive, "--json", "-q"], capture_output=True, text=True)
    if shown.returncode:
        return "summary: " + shown.stderr.strip()
    if f'"total_params": {model.count_params()},' not in shown.stdout:
        return f"summary counts other parameters than the {model.count_params()} of Keras"
    return ""


def as_array(value):
    """Converts strings to NumPy without Python objects."""
    value = np.asarray(value)
    return value if value.dtype != object else np.vectorize(bytes.decode, otypes=["U"])(value)


def inputs_of_subclassed(array):
    """Returns the inputs of subclassed models, whose archives contain shapes without dtypes."""
    return {
        "transformer_asr": (array((64, 9), "float32", "frames"), array((6,), "int32", "tokens")),
        "ner_transformers": array((12,), "int32", "tokens"),
        "tab_transformer": {"categories": array((3,), "int32", "categories"), "numbers": array((4,), "float32", "numbers")},
        "subclassed_classifier": array((10,), "int32", "tokens"),
        "subclassed_captioner": {"images": array((8, 8, 3), "float32", "images"), "tokens": array((5,), "int32", "tokens")},
        "image_search_with_a_dual_encoder": (array((8, 8, 3), "float32", "image"), array((5,), "int32", "ids")),
    }


def main():
    attn, wanted = sys.argv[1], sys.argv[2:]
    script = subprocess.run([attn, "flatten-script"], capture_output=True, text=True, check=True).stdout
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "flatten.py").write_text(script)
        sys.path.insert(0, str(folder))
        flatten = importlib.import_module("flatten")
        INPUTS.update(inputs_of_subclassed(flatten.Spec))
        for module in MODULES:
            for make in importlib.import_module(module).MODELS:
                if wanted and make.__name__ not in wanted:
                    continue
                try:
                    wrong = check(attn, flatten, module, make, folder)
                except Exception as error:
                    wrong = f"{type(error).__name__}: {error}"
                    if wanted:
                        raise
                failed += bool(wrong)
                print(f"{make.__name__}: {wrong or 'agrees'}", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


INPUTS = {}

if __name__ == "__main__":
    sys.exit(main())
