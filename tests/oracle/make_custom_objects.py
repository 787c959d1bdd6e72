"""Models of built-in layers with custom initializers, regularizers and constraints.

    python tests/oracle/make_custom_objects.py tests/data/custom_objects

Writes model.keras and model.h5 with registered classes, notebook.keras with classes that have no module and functions that
nobody registered, and x.npz and y.npz: none of these objects changes a pass with stored weights.
"""

import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import ops  # noqa: E402


class Fill(keras.initializers.Initializer):
    def __init__(self, value=0.25):
        self.value = value

    def __call__(self, shape, dtype=None):
        return ops.ones(shape, dtype) * self.value

    def get_config(self):
        return {"value": self.value}


class Sum(keras.regularizers.Regularizer):
    def __call__(self, x):
        return 0.01 * ops.sum(x)

    def get_config(self):
        return {}


class Same(keras.constraints.Constraint):
    def __call__(self, w):
        return w

    def get_config(self):
        return {}


def filled(shape, dtype=None):
    return ops.ones(shape, dtype) * 0.125


def model_of(initializer):
    x = keras.Input((4, 6), name="x")
    y = keras.layers.Dense(5, kernel_initializer=initializer, kernel_regularizer=Sum(), bias_constraint=Same())(x)
    y = keras.layers.LSTM(4, return_sequences=True, recurrent_initializer=initializer, bias_initializer=initializer)(y)
    y = keras.layers.MultiHeadAttention(2, 3, kernel_constraint=Same(), activity_regularizer=Sum())(y, y)
    return keras.Model(x, keras.layers.Dense(2)(y))


def write(folder, names, model):
    x = np.random.default_rng(0).normal(size=(2, 4, 6)).astype("float32")
    np.savez(folder / "x.npz", x=x)
    np.savez(folder / "y.npz", output_0=np.asarray(model(x)))
    for name in names:
        model.save(folder / name)


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    root.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(1)
    for each in (Fill, Sum, Same):
        each.__module__ = None
    notebook = model_of(filled)
    write(root, ["notebook.keras"], notebook)
    for each in (Fill, Sum, Same):
        each.__module__ = "mine"
        keras.saving.register_keras_serializable("mine")(each)
    model = model_of(Fill())
    model.set_weights(notebook.get_weights())
    write(root, ["model.keras", "model.h5"], model)
