#!/usr/bin/env python3
"""Writes tests/data/custom: models with custom layers, and the results of flatten.py for them.

    python tests/oracle/make_custom_cases.py build/attn tests/data/custom [NAME…]

classifier/ is the text classifier of Keras's documentation, tagger/ is a subclassed model, and residual/ has a custom layer
whose output is an operand of an addition. Each has model.keras, and Keras's parameter counts in meta.json. classifier/ and
residual/ also have flat.keras, inputs.npz, and Keras's float32 results in outputs.npz. notebook/ has a class of a notebook,
which has no module, as .keras, .h5 and JSON. subclass/ has functional and Sequential models in subclasses of keras.Model.
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


class Gate(keras.layers.Layer):
    def build(self, input_shape):
        self.dense = keras.layers.Dense(input_shape[-1], name="dense")
        self.dense.build(input_shape)
        self.scale = self.add_weight(name="scale", shape=(input_shape[-1],), initializer="ones")

    def call(self, x):
        return x * keras.ops.sigmoid(self.dense(x)) * self.scale


Gate.__module__ = "__main__"


@keras.saving.register_keras_serializable("mine")
class Trainer(keras.Model):
    def train_step(self, data):
        return super().train_step(data)


@keras.saving.register_keras_serializable("mine")
class Stack(keras.Sequential):
    pass


def write_notebook(folder):
    inputs = keras.Input((5, 6), name="x")
    inner = keras.Model(inputs, Gate(name="inner_gate")(keras.layers.Dense(6, name="before")(inputs)), name="inner")
    outputs = keras.layers.Dense(2, name="head")(Gate(name="gate")(inner(inputs)))
    model = keras.Model(inputs, outputs, name="notebook")
    random_weights(model, 4)
    model.save(folder / "model.keras")
    model.save(folder / "model.h5")
    (folder / "model.json").write_text(model.to_json())
    meta = {"total_params": model.count_params(), "layers": {layer.name: layer.count_params() for layer in model.layers}}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def write_subclass(folder):
    inputs = keras.Input((5, 6), name="x")
    attended = keras.layers.MultiHeadAttention(2, 3, name="attention")(inputs, inputs)
    functional = Trainer(inputs, keras.layers.Dense(2, name="head")(attended), name="trainer")
    stack = Stack([keras.Input((5, 6), name="x"), keras.layers.Dense(4, name="a"), keras.layers.Dense(3, name="b")])
    around = keras.Model(inputs, stack(functional(inputs) @ np.ones((2, 6), "float32")), name="around")
    sample = np.random.default_rng(5).standard_normal((2, 5, 6)).astype("float32")
    np.savez(folder / "inputs.npz", x=sample)
    random_weights(around, 6)
    for name, model in (("functional", functional), ("sequential", stack), ("around", around)):
        model.save(folder / f"{name}.keras")
        np.savez(folder / f"{name}.npz", output_0=np.asarray(model(sample, training=False)))
    functional.save(folder / "functional.h5")
    (folder / "functional.json").write_text(functional.to_json())


def main():
    attn, folder, wanted = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    for name, write in (("notebook", write_notebook), ("subclass", write_subclass)):
        if not wanted or name in wanted:
            keras.backend.clear_session()
            keras.utils.set_random_seed(3)
            (folder / name).mkdir(parents=True, exist_ok=True)
            write(folder / name)
    script = subprocess.run([attn, "flatten-script"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "flatten.py").write_text(script)
        sys.path.insert(0, place)
        flatten = importlib.import_module("flatten")
    for name, make in (("classifier", text.text_classification_with_transformer), ("tagger", text.ner_transformers),
                       ("residual", residual)):
        if wanted and name not in wanted:
            continue
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
