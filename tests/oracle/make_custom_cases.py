#!/usr/bin/env python3
"""Writes tests/data/custom: models with custom layers, and what flatten.py makes of them.

    python tests/oracle/make_custom_cases.py build/attn tests/data/custom

classifier/ is the Keras documentation's text classifier; tagger/ a subclassed model; residual/ has a custom layer whose
output goes into an addition. Each has model.keras, and meta.json with what Keras counts; classifier/ and residual/ have
flat.keras, inputs.npz and outputs.npz, in float32 as Keras computed it.
"""
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent / "examples"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import text
from check_examples import random_weights


def residual():
    inputs = keras.Input((6, 8), name="x")
    x = keras.layers.Dense(8, name="widen")(inputs)
    x = x + text.SwiGLU(12, name="gated")(x)
    return keras.Model(inputs, keras.layers.Dense(3, name="head")(x), name="residual")


def main():
    attn, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    script = subprocess.run([attn, "flatten-script"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "flatten.py").write_text(script)
        sys.path.insert(0, place)
        flatten = importlib.import_module("flatten")
    for name, make in (("classifier", text.text_classification_with_transformer), ("tagger", text.ner_transformers),
                       ("residual", residual)):
        keras.backend.clear_session()
        keras.utils.set_random_seed(3)
        model = make()
        random_weights(model, 4)
        (folder / name).mkdir(parents=True, exist_ok=True)
        model.save(folder / name / "model.keras")
        meta = {"keras": keras.__version__, "total_params": model.count_params(),
                "layers": {layer.name: layer.count_params() for layer in model.layers}}
        (folder / name / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
        if name == "tagger":
            continue
        flatten.flatten(keras.saving.load_model(folder / name / "model.keras"), str(folder / name / "flat.keras"))
        sample = flatten.random_inputs(model, flatten.specs_of(model, None), 2, 7, 3)
        np.savez(folder / name / "inputs.npz", **{model.inputs[0].name: sample})
        np.savez(folder / name / "outputs.npz", output_0=np.asarray(model(sample, training=False)))


if __name__ == "__main__":
    main()
