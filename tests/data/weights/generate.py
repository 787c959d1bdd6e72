"""Writes the expected values of the weights module's tests, with real Keras. Needs keras 3.15, tensorflow and h5py.

usage: generate.py   (writes to its own folder)
  model.*             one small model in every format in which Keras saves weights; element i of weight w is 1000 w + i
  model.json          its weights in order: path, store_path, shape, dtype, trainable
  initializers.npz    the results of the initializers in initializers.json with TensorFlow; bfloat16 is stored as float32
"""
import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import h5py
import keras
import numpy as np

HERE = pathlib.Path(__file__).parent


def initializers():
    arrays, index = {}, []

    def case(name, config, shape, dtype="float32"):
        initializer = keras.initializers.get({"class_name": name, "config": config})
        values = keras.ops.convert_to_numpy(initializer(shape, dtype=dtype))
        key = f"{len(index)}"
        arrays[key] = values.astype("float32") if dtype == "bfloat16" else values
        index.append({"key": key, "class_name": type(initializer).__name__, "shape": shape, "dtype": dtype,
                      "config": {**config, **initializer.get_config()}})

    for shape in (8, 6), (16, 4, 8), (4, 8, 16), (7,), (3, 3, 4, 8):
        case("zeros", {}, shape)
        case("ones", {}, shape)
        case("constant", {"value": 0.25}, shape)
        case("random_normal", {"seed": 3}, shape)
        case("random_uniform", {"seed": 4}, shape)
        case("truncated_normal", {"seed": 5}, shape)
        case("glorot_uniform", {"seed": 1}, shape)
        case("glorot_normal", {"seed": 2}, shape)
        case("he_normal", {"seed": 6}, shape)
        case("he_uniform", {"seed": 7}, shape)
        case("lecun_normal", {"seed": 8}, shape)
        case("lecun_uniform", {"seed": 9}, shape)
        case("variance_scaling", {"scale": 2.0, "mode": "fan_avg", "distribution": "uniform", "seed": 10}, shape)
        if len(shape) >= 2:
            case("orthogonal", {"seed": 12, "gain": 1.5}, shape)
        if len(shape) == 2:
            case("identity", {"gain": 2.0}, shape)

    for dtype in "float64", "float16", "bfloat16":
        case("random_uniform", {"minval": -0.3, "maxval": 0.7, "seed": 21}, (5, 3), dtype)
        case("random_normal", {"mean": 0.1, "stddev": 2.0, "seed": 22}, (5, 3), dtype)
        case("truncated_normal", {"mean": 0.1, "stddev": 2.0, "seed": 23}, (5, 3), dtype)
        case("glorot_uniform", {"seed": 24}, (5, 3), dtype)
    case("orthogonal", {"seed": 25}, (3, 5), "float64")
    case("identity", {"gain": 3.0}, (2, 4), "float16")

    for seed in 0, -1, 2**31 - 3, 2**31 - 2, 2**31 - 1, 2**32, 2**53 + 1, -(2**53) - 1:
        case("random_uniform", {"seed": seed}, (3,))
    untruncated = {"mode": "fan_out", "distribution": "untruncated_normal"}
    case("variance_scaling", {"scale": 0.5, "seed": 30, **untruncated}, (4, 3))
    case("variance_scaling", {"scale": 0.5, "seed": 31, "input_axes": [0], "output_axes": [-1, 1]}, (4, 2, 3))
    case("glorot_uniform", {"seed": 32, "input_axes": [0, 1], "output_axes": [2]}, (4, 2, 3))
    case("he_normal", {"seed": 33}, ())
    case("orthogonal", {"seed": 34}, (40, 40))
    case("random_uniform", {"seed": 35, "minval": 0.25, "maxval": 0.25}, (0, 3))
    case("truncated_normal", {"seed": 36}, (1500,))

    np.savez_compressed(HERE / "initializers.npz", **arrays)
    lines = ",\n ".join(json.dumps(entry) for entry in index)
    (HERE / "initializers.json").write_text(f"[{lines}]\n")


def model():
    layers = keras.layers
    x = keras.Input((4, 6), name="x")
    h = layers.MultiHeadAttention(2, 3, dropout=0.1, name="attend")(x, x)
    h = layers.BatchNormalization(name="norm")(h)
    h = keras.Sequential([keras.Input((4, 6)), layers.Dense(5, name="inner"), layers.Dropout(0.1)], name="block")(h)
    h = layers.Bidirectional(layers.LSTM(2, return_sequences=True), name="both")(h)
    model = keras.Model(x, layers.Dense(1, name="out")(h), name="small")
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.zeros((1, 4, 6)), np.zeros((1, 4, 1)), verbose=0)
    for number, weight in enumerate(model.weights):
        weight.assign(1000.0 * number + np.arange(np.prod(weight.shape)).reshape(weight.shape))

    model.save(HERE / "model.keras")
    model.save(HERE / "model.h5")
    model.save_weights(HERE / "model.weights.h5")
    untrained = keras.models.clone_model(model)  # has no optimizer, whose state is larger than the weights
    untrained.set_weights(model.get_weights())
    untrained.save_weights(HERE / "split.weights.json", max_shard_size=6e-7)
    np.savez(HERE / "model.npz", **{weight.path: weight.numpy() for weight in model.weights})

    places = {}

    def note(name, item):
        if isinstance(item, h5py.Dataset) and name.startswith("layers/"):
            places[int(item[:].flat[0]) // 1000] = name

    with h5py.File(HERE / "model.weights.h5") as file:
        file.visititems(note)
    lines = ",\n ".join(json.dumps({"path": weight.path, "store_path": places[number], "shape": tuple(weight.shape),
                                    "dtype": weight.dtype, "trainable": weight.trainable})
                        for number, weight in enumerate(model.weights))
    (HERE / "model.json").write_text(f"[{lines}]\n")


if __name__ == "__main__":
    model()
    initializers()
