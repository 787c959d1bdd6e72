"""Training cases of real Keras: losses, weights and optimizer state of small models over a few steps.

    python tests/oracle/make_training_cases.py tests/data/training [case …]

Each case is a folder with start.keras, data.npz, trace.npz (a row for each step), after.npz ("weight:<path>",
"optimizer:<n>") and meta.json. Layers draw random numbers in the dtype in which they compute, so there is no float64 run for
comparison: the tolerance is that of float32 sums in another order.
"""

import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402

STEPS, ROWS, LENGTH, WIDTH = 4, 3, 5, 6
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def sequence():
    return keras.Input((LENGTH, WIDTH), name="x")


def compiled(model, **arguments):
    arguments.setdefault("optimizer", keras.optimizers.SGD(0.05))
    arguments.setdefault("loss", "mse")
    model.compile(jit_compile=False, **arguments)
    return model


@case
def dropout_noise():
    x = sequence()
    y = keras.layers.GaussianNoise(0.3, seed=1)(x)
    y = keras.layers.Dense(7, "selu")(y)
    y = keras.layers.AlphaDropout(0.25, seed=2)(y)
    y = keras.layers.SpatialDropout1D(0.3, seed=3)(y)
    y = keras.layers.GaussianDropout(0.2, seed=4)(y)
    y = keras.layers.AlphaDropout(0.4, noise_shape=(None, 1, 7), seed=5)(y)
    return compiled(keras.Model(x, keras.layers.Dense(2)(y)))


@case
def dropout_rnn():
    x = sequence()
    y = keras.layers.LSTM(4, return_sequences=True, dropout=0.3, recurrent_dropout=0.2, seed=7)(x)
    y = keras.layers.GRU(4, return_sequences=True, dropout=0.2, recurrent_dropout=0.3, reset_after=False, seed=8)(y)
    y = keras.layers.GRU(3, return_sequences=True, recurrent_dropout=0.25, seed=9)(y)
    y = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True, dropout=0.3, seed=10))(y)
    y = keras.layers.RNN(keras.layers.SimpleRNNCell(4, dropout=0.2, recurrent_dropout=0.2, seed=11))(y)
    return compiled(keras.Model(x, keras.layers.Dense(2)(y)))


@case
def dropout_attention():
    x = sequence()
    y = keras.layers.Dense(WIDTH)(x)
    z = keras.layers.Attention(use_scale=True, dropout=0.3, seed=12)([y, x])
    z = keras.layers.AdditiveAttention(dropout=0.2, seed=13)([z, y])
    z = keras.layers.MultiHeadAttention(2, 3, dropout=0.25, seed=14)(z, x)
    return compiled(keras.Model(x, keras.layers.Dense(2)(z)))


@case
def norm_renorm():
    x = sequence()
    y = keras.layers.Dense(4)(x)
    y = keras.layers.BatchNormalization(
        momentum=0.9, renorm=True, renorm_momentum=0.8, renorm_clipping={"rmax": 1.2, "rmin": 0.5, "dmax": 0.3}
    )(y)
    y = keras.layers.BatchNormalization(momentum=0.9, renorm=True, scale=False, center=False)(y)
    return compiled(keras.Model(x, keras.layers.Dense(2)(y)))


@case
def loss_metrics():
    x = sequence()
    y = keras.layers.Dense(1, "sigmoid", name="p")(x)
    metrics = [
        "accuracy",
        "auc",
        keras.metrics.AUC(curve="PR", num_thresholds=20, name="area"),
        keras.metrics.Precision(),
        keras.metrics.Recall(thresholds=0.4),
        keras.metrics.TruePositives(),
        keras.metrics.FalsePositives(),
        keras.metrics.TrueNegatives(),
        keras.metrics.FalseNegatives(),
        keras.metrics.BinaryCrossentropy(name="entropy"),
    ]
    return compiled(keras.Model(x, y), loss="binary_crossentropy", metrics=metrics, weighted_metrics=["precision", "auc"])


@case
def loss_top_k():
    x = sequence()
    y = keras.layers.Dense(8, "softmax")(keras.layers.Flatten()(x))
    metrics = [
        "sparse_categorical_crossentropy",
        keras.metrics.SparseTopKCategoricalAccuracy(3),
        "sparse_top_k_categorical_accuracy",
    ]
    return compiled(keras.Model(x, y), loss="sparse_categorical_crossentropy", metrics=metrics)


@case
def loss_circle():
    x = sequence()
    y = keras.layers.UnitNormalization()(keras.layers.Dense(3)(keras.layers.Flatten()(x)))
    return compiled(keras.Model(x, y), loss=keras.losses.Circle(gamma=8.0, margin=0.3))


@case
def loss_ctc():
    x = sequence()
    return compiled(keras.Model(x, keras.layers.Dense(4)(x)), loss="ctc")


def of_policies(policies, **arguments):
    """A layer of each kind, each with a different policy."""
    first, second, third, last = policies
    x = sequence()
    y = keras.layers.Dense(8, "tanh", dtype=first, name="first")(x)
    y = keras.layers.LayerNormalization(dtype=second, name="norm")(y)
    y = keras.layers.MultiHeadAttention(2, 3, dtype=second, name="mha")(y, y)
    # TensorFlow cannot draw an orthogonal matrix in bfloat16.
    y = keras.layers.GRU(5, return_sequences=True, recurrent_initializer="glorot_uniform", dtype=third, name="gru")(y)
    return compiled(keras.Model(x, keras.layers.Dense(2, dtype=last, name="last")(y)), **arguments)


@case
def policy_float64():
    return of_policies(["float64"] * 4, optimizer=keras.optimizers.Adam(0.01, epsilon=1e-3))


@case
def policy_bfloat16():
    return of_policies(["bfloat16"] * 4, optimizer=keras.optimizers.SGD(0.05, momentum=0.5))


@case
def policy_float16():
    return of_policies(["float16"] * 4, optimizer=keras.optimizers.SGD(0.05, momentum=0.5))


@case
def policy_several():
    return of_policies(["float64", "float32", "mixed_bfloat16", "bfloat16"], optimizer=keras.optimizers.SGD(0.05))


def steps_of(name):
    return 10 if name.startswith("policy_") else STEPS


def data_for(name, model, random):
    rows = steps_of(name) * ROWS
    shape = (rows, *model.output.shape[1:])
    out = {"x": random.normal(size=(rows, LENGTH, WIDTH)).astype("float32")}
    if name == "loss_metrics":
        out["y"] = random.integers(0, 2, shape).astype("float32")
        out["sample_weight"] = random.uniform(0.5, 2.0, shape[:-1]).astype("float32")
    elif name == "loss_circle":
        out["y"] = random.integers(0, 2, rows).astype("int32")
    elif name == "loss_ctc":
        out["y"] = np.array([[1, 1, 0], [3, 0, 0], [2, 1, 3]] * STEPS, "int32")
    elif name == "loss_top_k":
        out["y"] = random.integers(0, 8, rows).astype("int32")
    else:
        out["y"] = random.normal(size=shape).astype("float32")
    return out


def in_float32(model):
    """Returns the same model and weights in float32."""
    policies = {"class_name": "DTypePolicy", "module": "keras", "registered_name": None}
    policies["config"] = {"name": "float32"}
    config = model.get_config()
    for layer in config["layers"]:
        if layer["class_name"] != "InputLayer":
            layer["config"]["dtype"] = policies
    other = keras.Model.from_config(config)
    other.compile_from_config(model.get_compile_config())
    other.set_weights([np.asarray(keras.ops.cast(weight, "float32")) for weight in model.weights])
    return other


def weights_of(model):
    """Returns half-precision weights as float32, which is exact."""
    arrays = {}
    for variable in model.weights:
        half = variable.dtype in ("float16", "bfloat16")
        # The state of random generators is not a weight.
        if "seed_generator" not in variable.path:
            arrays["weight:" + variable.path] = np.asarray(keras.ops.cast(variable, "float32") if half else variable)
    return arrays


def make(folder, name):
    keras.utils.set_random_seed(len(name))
    model = CASES[name]()
    data = data_for(name, model, np.random.default_rng(len(name)))
    model.optimizer.build(model.trainable_variables)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "start.keras")
    np.savez_compressed(folder / "data.npz", **data)
    reference = in_float32(model) if name.startswith("policy_") and name != "policy_float64" else None
    trace = steps_with(model, name, data)
    after = weights_of(model)
    policy_error = None
    if reference is not None:
        losses = steps_with(reference, name, data)["loss"]
        policy_error = {k: float(np.abs(after[k] - v).max(initial=0)) for k, v in weights_of(reference).items()}
        policy_error["loss"] = float(np.abs(np.subtract(trace["loss"], losses)).max())
    write(folder, name, model, trace, after, policy_error)


def steps_with(model, name, data):
    trace = {}
    for step in range(steps_of(name)):
        part = slice(step * ROWS, (step + 1) * ROWS)
        model.reset_metrics()
        rate = float(model.optimizer.learning_rate)
        told = model.train_on_batch(
            data["x"][part],
            data["y"][part],
            sample_weight=data["sample_weight"][part] if "sample_weight" in data else None,
            return_dict=True,
        )
        for key, value in {**told, "learning_rate": rate}.items():
            trace.setdefault(key, []).append(float(value))
    return trace


def write(folder, name, model, trace, after, policy_error):
    for index, variable in enumerate(model.optimizer.variables):
        half = variable.dtype in ("float16", "bfloat16")
        after[f"optimizer:{index}"] = np.asarray(keras.ops.cast(variable, "float32") if half else variable)
    np.savez_compressed(folder / "trace.npz", **{key: np.array(value) for key, value in trace.items()})
    np.savez_compressed(folder / "after.npz", **after)
    size = {key: float(np.abs(value).max(initial=0)) for key, value in after.items()}
    meta = {
        "keras": keras.__version__,
        "backend": keras.backend.backend(),
        "steps": steps_of(name),
        "batch": ROWS,
        "policy": name.split("_", 1)[1] if name.startswith("policy_") else None,
        "policy_error": policy_error,
        "trace_error": {key: 1e-6 * max(1.0, float(np.abs(value).max())) for key, value in trace.items()},
        "float32_error": {key: 1e-6 * max(1.0, value) for key, value in size.items()},
        "undetermined": [],
        "optimizer_variables": [
            {"index": i, "path": v.path, "shape": list(v.shape), "dtype": v.dtype}
            for i, v in enumerate(model.optimizer.variables)
        ],
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
    print(f"{name:20} {trace['loss'][0]:.6f} {trace['loss'][-1]:.6f}")


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    for each in sys.argv[2:] or CASES:
        kind, rest = each.split("_", 1)
        make(root / kind / rest, each)
