"""Writes tests/data/keras_versions/VERSION: models saved by the installed Keras, with inputs and outputs.

usage: make_version_cases.py OUT_DIR      (needs: pip install keras==3.N tensorflow-cpu)

encoder/ has all forms in which this Keras saves a model: model.json, model.keras, model.weights.h5, model.h5, and
split.weights.json if it can split weights. zoo/ has model.keras with a layer of each kind. drawn/ has the weights that seeded
initializers drew.
"""
import inspect
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from keras import layers as L


def encoder():
    i = keras.Input((5,), dtype="int32", name="tokens")
    x = L.Embedding(11, 8, name="table")(i)
    block = keras.Input((5, 8))
    a = L.MultiHeadAttention(2, 4, dropout=0.1)(block, block, use_causal_mask=True)
    a = L.LayerNormalization(epsilon=1e-6)(block + L.Dropout(0.1)(a))
    f = L.Dense(8)(L.Dense(12, activation="gelu")(a))
    block = keras.Model(block, L.LayerNormalization(epsilon=1e-6)(L.Add()([a, f])), name="block")
    x = block(block(x))
    x = keras.Sequential([L.Dense(6, activation="relu"), L.Dense(4)], name="head")(x)
    return keras.Model(i, {"y": L.Softmax()(x), "first": x[:, 0] * 0.5}, name="encoder")


def zoo():
    i = keras.Input((6, 4), name="x")
    x = L.Conv1D(4, 3, padding="causal", activation="silu")(i)
    x = L.BatchNormalization()(x)
    x = L.Bidirectional(L.LSTM(3, return_sequences=True))(x)
    x = L.GRU(4, return_sequences=True)(x)
    x = L.EinsumDense("abc,cd->abd", (None, 8), bias_axes="d", kernel_initializer="he_normal")(x)
    gqa = L.GroupedQueryAttention if hasattr(L, "GroupedQueryAttention") else L.GroupQueryAttention
    x = gqa(4, 4, 2)(x, x)
    x = L.Attention(use_scale=True)([x, x])
    x = L.UnitNormalization()(L.GroupNormalization(groups=2)(x))
    y = [L.LeakyReLU(0.2)(x), L.ELU(0.5)(x), L.PReLU(shared_axes=[1])(x), L.Softmax()(x)]
    y = L.Concatenate()(y)
    y = L.TimeDistributed(L.Dense(5, kernel_regularizer="l2", kernel_initializer="orthogonal"))(y)
    y = L.SimpleRNN(4, return_sequences=True)(L.SpatialDropout1D(0.1)(y))
    z = L.Flatten()(L.Reshape((4, 6))(L.Permute((2, 1))(y)))
    z = L.Dense(3, kernel_initializer=keras.initializers.VarianceScaling(2.0), activation="hard_sigmoid")(z)
    return keras.Model(i, [y, z], name="zoo")


def drawn():
    seeded = keras.initializers
    i = keras.Input((6, 8), name="x")
    x = L.MultiHeadAttention(2, 5, value_dim=3, kernel_initializer=seeded.GlorotUniform(seed=3))(i, i)
    x = L.EinsumDense("abc,cde->abde", (None, 4, 2), kernel_initializer=seeded.HeNormal(seed=4))(x)
    return keras.Model(i, L.Dense(3, kernel_initializer=seeded.LecunUniform(seed=5))(x), name="drawn")


def write(make, out):
    keras.utils.set_random_seed(5)
    model = make()
    rng = np.random.default_rng(3)
    for weight in model.weights:
        if "seed" in weight.path or make is drawn:
            continue
        value = np.asarray(weight.numpy()) + rng.normal(0, 0.2, weight.shape)
        weight.assign(np.abs(value) + 0.1 if "variance" in weight.path else value)
    folder = out / make.__name__
    folder.mkdir(parents=True, exist_ok=True)
    tensor = model.inputs[0]
    shape = (2,) + tuple(tensor.shape[1:])
    x = rng.integers(0, 10, shape).astype("int32") if tensor.dtype == "int32" else rng.normal(size=shape).astype("float32")
    results = model(x, training=False)
    if not isinstance(results, dict):
        results = {f"output_{n}": value for n, value in enumerate(results)}
    np.savez(folder / "inputs.npz", **{tensor.name: x})
    np.savez(folder / "outputs.npz", **{k: np.asarray(keras.ops.convert_to_numpy(v)) for k, v in results.items()})
    model.save(folder / "model.keras")
    if make is encoder:
        (folder / "model.json").write_text(model.to_json())
        model.save_weights(folder / "model.weights.h5")
        try:
            model.save(folder / "model.h5")
        except ValueError:  # Keras 3.0 gives all weights of nested models the same name
            (folder / "model.h5").unlink()
        if "max_shard_size" in inspect.signature(model.save_weights).parameters:
            model.save_weights(folder / "split.weights.json", max_shard_size=1e-6)


def main():
    out = pathlib.Path(sys.argv[1]) / keras.__version__
    for make in (encoder, zoo, drawn):
        keras.backend.clear_session()
        write(make, out)
    print(out)


main()
