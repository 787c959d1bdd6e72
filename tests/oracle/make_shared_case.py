#!/usr/bin/env python3
"""Writes tests/data/shared_layers: a model that shares a Dense and a MultiHeadAttention with a model inside it.

    python tests/oracle/make_shared_case.py tests/data/shared_layers

Keras 3.15 saves the weights once, under the inner model, and does not load its own file again.
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

keras.utils.set_random_seed(5)
shared = keras.layers.Dense(4, name="shared", activation="tanh")
attention = keras.layers.MultiHeadAttention(2, 4, name="att")
inner_input = keras.Input((3, 4), name="inner_in")
inner_output = keras.layers.LayerNormalization(name="norm")(attention(shared(inner_input), shared(inner_input)))
inner = keras.Model(inner_input, inner_output, name="inner")
x = keras.Input((3, 4), name="x")
y = shared(inner(x))
model = keras.Model(x, keras.layers.Dense(2, name="out")(attention(y, y)), name="outer")

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
model.save(folder / "model.keras")
array = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("float32")
np.savez(folder / "inputs.npz", x=array)
np.savez(folder / "outputs.npz", output_0=np.asarray(model(array)))
(folder / "meta.json").write_text(json.dumps({"keras": keras.__version__, "total_params": model.count_params()}) + "\n")
