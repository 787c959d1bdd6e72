"""Trains random small models with random compile settings by attn and by real Keras.

    python tests/oracle/check_training.py ATTN [--seed N] [--count N] [--keep DIR]

Number i of seed s is always the same. Each model is compiled and saved by Keras, trained for some steps by `attn train
--no-shuffle` and by Keras's fit() without shuffling, and then the losses and metrics of each epoch, all weights and the
optimizer's variables are compared; then Keras loads what attn wrote and goes on for an epoch, as its own does. How far
two float32 trainings may be apart is told by Keras itself: eight times what it changes of an array when its starting
weights are moved by a unit in the last place, or 2e-5 of the array's largest number. The last line is the score.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402
import numpy as np  # noqa: E402

warnings.filterwarnings("ignore", "Skipping variable loading")  # of models that were never trained

LENGTH, WIDTH, VOCABULARY, CLASSES = 5, 6, 11, 4
LEAST = 2e-5
FACTOR = 8.0


# ---- models


def trunk(rng, kind):
    if kind == "tokens":
        x = keras.Input((LENGTH,), dtype="int32", name="x")
        y = keras.layers.Embedding(VOCABULARY, WIDTH, mask_zero=bool(rng.integers(2)))(x)
        return x, y
    x = keras.Input((LENGTH, WIDTH), name="x")
    return x, x


def regularizer(rng):
    return [None, None, None, keras.regularizers.L2(0.01), keras.regularizers.L1(0.003)][rng.integers(5)]


def constraint(rng):
    return [None, None, None, keras.constraints.MaxNorm(1.5), keras.constraints.UnitNorm()][rng.integers(5)]


def block(rng, y):
    kind = rng.choice(
        ["dense", "lstm", "gru", "rnn", "attention", "conv", "norm", "batch", "dropout", "noise", "bidirectional", "dot"]
    )
    seed = int(rng.integers(1000))
    if kind == "dense":
        activation = str(rng.choice(["relu", "gelu", "tanh", "silu", "selu", "linear"]))
        return keras.layers.Dense(
            WIDTH, activation, kernel_regularizer=regularizer(rng), kernel_constraint=constraint(rng)
        )(y)
    if kind in ("lstm", "gru", "rnn", "bidirectional"):
        make = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU, "rnn": keras.layers.SimpleRNN}.get(
            kind, keras.layers.LSTM
        )
        more = {"seed": seed}
        # A SimpleRNN takes a seed and does not write it, so that no two trainings of it are alike.
        if kind == "rnn":
            more = {}
        elif rng.integers(2):
            more["dropout"] = 0.2
        if kind != "rnn" and rng.integers(3) == 0:
            more["recurrent_dropout"] = 0.25
        if kind == "gru":
            more["reset_after"] = bool(rng.integers(2))
        layer = make(WIDTH, return_sequences=True, **more)
        return keras.layers.Bidirectional(layer, merge_mode="sum")(y) if kind == "bidirectional" else layer(y)
    if kind == "attention":
        dropout = 0.2 if rng.integers(2) else 0.0
        z = keras.layers.MultiHeadAttention(2, 3, dropout=dropout, seed=seed)(
            y, y, use_causal_mask=bool(rng.integers(2))
        )
        return keras.layers.Add()([y, z])
    if kind == "dot":
        return keras.layers.Attention(use_scale=True, dropout=float(rng.choice([0.0, 0.3])), seed=seed)([y, y])
    if kind == "conv":
        return keras.layers.Conv1D(WIDTH, 3, padding="same", activation="relu")(y)
    if kind == "norm":
        return keras.layers.LayerNormalization()(y)
    if kind == "batch":
        return keras.layers.BatchNormalization(momentum=0.8)(y)
    if kind == "dropout":
        layer = keras.layers.SpatialDropout1D if rng.integers(2) else keras.layers.Dropout
        return layer(0.3, seed=seed)(y)
    layer = [keras.layers.GaussianNoise, keras.layers.GaussianDropout, keras.layers.AlphaDropout][rng.integers(3)]
    return layer(0.2, seed=seed)(y)


def head(rng, y):
    kind = str(rng.choice(["numbers", "classes", "one_hot", "binary", "sequence"]))
    if kind != "sequence":
        y = keras.layers.Flatten()(y) if rng.integers(2) and y.shape[1] else keras.layers.GlobalAveragePooling1D()(y)
    if kind == "numbers":
        loss = rng.choice(["mse", "mae", "huber", "log_cosh", "mean_squared_logarithmic_error"])
        return keras.layers.Dense(2)(y), str(loss), ["mae", "root_mean_squared_error"]
    if kind == "binary":
        loss = rng.choice(["binary_crossentropy", "binary_focal_crossentropy", "hinge"])
        return keras.layers.Dense(1, "sigmoid")(y), str(loss), ["accuracy", "auc", "precision"]
    if kind == "one_hot":
        loss = [
            "categorical_crossentropy",
            keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
            "kl_divergence",
            "categorical_focal_crossentropy",
            "cosine_similarity",
        ][rng.integers(5)]
        return keras.layers.Dense(CLASSES, "softmax")(y), loss, ["accuracy"]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    if rng.integers(2):
        return keras.layers.Dense(CLASSES, "softmax")(y), "sparse_categorical_crossentropy", ["accuracy"]
    return keras.layers.Dense(CLASSES)(y), loss, ["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2)]


def optimizer(rng):
    o, s = keras.optimizers, keras.optimizers.schedules
    more = {}
    rate = float(rng.choice([0.01, 0.003]))
    pick = rng.integers(6)
    if pick == 0:
        rate = s.CosineDecay(rate, 6, warmup_target=0.02, warmup_steps=2)
    elif pick == 1:
        rate = s.ExponentialDecay(rate, 3, 0.8)
    clip = rng.integers(6)
    if clip < 3:
        more[["clipnorm", "clipvalue", "global_clipnorm"][clip]] = 0.5
    if rng.integers(4) == 0:
        more["use_ema"] = True
        more["ema_momentum"] = 0.9
    if rng.integers(4) == 0:
        more["gradient_accumulation_steps"] = 2
    if rng.integers(4) == 0:
        more["weight_decay"] = 0.01
    makers = [
        lambda: o.SGD(rate, momentum=0.9, nesterov=bool(rng.integers(2)), **more),
        lambda: o.SGD(rate, **more),
        lambda: o.Adam(rate, amsgrad=bool(rng.integers(2)), **more),
        lambda: o.AdamW(rate, **{"weight_decay": 0.01, **more}),
        lambda: o.RMSprop(rate, centered=bool(rng.integers(2)), **more),
        lambda: o.Adagrad(rate, **more),
        lambda: o.Adadelta(rate, **more),
        lambda: o.Adamax(rate, **more),
        lambda: o.Nadam(rate, **more),
        lambda: o.Ftrl(rate, **more),
        lambda: o.Lion(rate / 10 if isinstance(rate, float) else rate, **more),
        lambda: o.Adafactor(rate, **more),
        lambda: o.Lamb(rate, **more),
        lambda: o.Muon(rate, **more),
    ]
    return makers[rng.integers(len(makers))]()


def make(seed, index):
    rng = np.random.default_rng([seed, index])
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(int(rng.integers(1 << 30)))
    kind = str(rng.choice(["tokens", "numbers", "numbers"]))
    x, y = trunk(rng, kind)
    for _ in range(rng.integers(1, 4)):
        y = block(rng, y)
    out, loss, metrics = head(rng, y)
    model = keras.Model(x, out)
    if rng.integers(4) == 0:
        layers = [layer for layer in model.layers if layer.weights]
        layers[rng.integers(len(layers))].trainable = False
        if not model.trainable_weights:
            model.layers[-1].trainable = True
    weighted = bool(rng.integers(3) == 0)
    of_classes = "sparse" in (loss if isinstance(loss, str) else loss.name)
    model.compile(
        optimizer(rng), loss, metrics=metrics, weighted_metrics=["mae"] if weighted and rng.integers(2) and not of_classes else None,
        jit_compile=False,
    )
    rows = int(rng.integers(9, 15))
    data = {}
    if kind == "tokens":
        data["x"] = rng.integers(0, VOCABULARY, (rows, LENGTH)).astype("int32")
        data["x"][:, 0] = rng.integers(1, VOCABULARY, rows)
    else:
        data["x"] = rng.normal(size=(rows, LENGTH, WIDTH)).astype("float32")
    shape = (rows, *out.shape[1:])
    name = loss if isinstance(loss, str) else loss.name
    if "sparse" in name:
        data["y"] = rng.integers(0, CLASSES, shape[:-1]).astype("int32")
    elif name in ("binary_crossentropy", "binary_focal_crossentropy", "hinge"):
        data["y"] = rng.integers(0, 2, shape).astype("float32")
    elif shape[-1] == CLASSES:
        data["y"] = np.eye(CLASSES, dtype="float32")[rng.integers(0, CLASSES, shape[:-1])]
    else:
        data["y"] = np.abs(rng.normal(size=shape)).astype("float32")
    if weighted:
        data["sample_weight"] = rng.uniform(0.5, 2.0, shape[:-1]).astype("float32")
    return model, data


# ---- runs


def arrays_of(model):
    out = {"weight:" + v.path: keras.ops.convert_to_numpy(v) for v in model.weights if "seed_generator" not in v.path}
    for i, v in enumerate(model.optimizer.variables):
        out[f"optimizer:{i}"] = keras.ops.convert_to_numpy(v)
    return out


def fit(model, data, epochs, first=0):
    weights = data.get("sample_weight")
    return model.fit(
        data["x"], data["y"], sample_weight=weights, batch_size=4, epochs=epochs, initial_epoch=first, shuffle=False,
        verbose=0,
    ).history


def nudged(model, rng):
    for variable in model.trainable_weights:
        value = keras.ops.convert_to_numpy(variable)
        variable.assign(np.where(rng.integers(0, 2, value.shape) > 0, np.nextafter(value, np.float32(np.inf)), value))


def difference(name, found, expected, moved):
    """How often the difference is what it may be."""
    size = float(np.max(np.abs(expected), initial=0.0))
    allowed = max(LEAST * max(size, 1e-3), FACTOR * float(np.max(np.abs(moved - expected), initial=0.0)))
    if found.shape != expected.shape:
        return f"{name} has the shape {found.shape}, not {expected.shape}"
    error = float(np.max(np.abs(found.astype("float64") - expected), initial=0.0))
    return f"{name}: {error:.3g} from Keras's, {allowed:.3g} are allowed" if not error <= allowed else None


def check(attn, folder, seed, index):
    model, data = make(seed, index)
    start = folder / "start.keras"
    model.save(start)
    np.savez(folder / "data.npz", **data)
    trained = folder / "attn.keras"
    words = [attn, "train", start, "--data", folder / "data.npz", "-o", trained, "--batch-size", "4", "--epochs", "2",
             "--no-shuffle", "--json"]
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if result.returncode == 1 and "is not finite" in result.stderr:  # where Keras goes on with NaN
        mine = keras.models.load_model(start)
        fit(mine, data, 2)
        return [] if any(not np.isfinite(array).all() for array in arrays_of(mine).values()) else [result.stderr.strip()]
    if result.returncode != 0:
        return [f"exit {result.returncode}: {result.stderr.strip()[-300:]}"]
    # Keras's generators are made anew by loading, as attn's are.
    mine = keras.models.load_model(start)
    history = fit(mine, data, 2)
    expected = arrays_of(mine)
    other = keras.models.load_model(start)
    nudged(other, np.random.default_rng(index))
    moved_history = fit(other, data, 2)
    moved = arrays_of(other)

    wrong = []
    told = json.loads(result.stdout)["history"]
    for name in history.keys() | told.keys():
        if name not in told or name not in history:
            wrong.append(f"only one tells '{name}'")
            continue
        wrong.append(difference(name, np.array(told[name], "float64"), np.array(history[name]),
                                np.array(moved_history[name])))
    # As Keras reads them from what attn wrote.
    again = keras.models.load_model(trained)
    found = arrays_of(again)
    if found.keys() != expected.keys():
        wrong.append(f"the arrays are {sorted(found)}, and Keras's {sorted(expected)}")
    for name in found.keys() & expected.keys():
        wrong.append(difference(name, found[name], expected[name], moved[name]))

    # Keras goes on with it. It does not keep what its generators have drawn.
    if any("seed_generator" in v.path for v in mine.variables):
        mine.save(folder / "keras.keras")
        mine = keras.models.load_model(folder / "keras.keras")
    theirs, ours = fit(mine, data, 3, 2)["loss"], fit(again, data, 3, 2)["loss"]
    wrong.append(difference("loss after Keras goes on", np.array(ours), np.array(theirs), np.array(theirs) * (1 + 1e-5)))
    return [each for each in wrong if each]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    attn = pathlib.Path(arguments.attn).resolve()
    right = 0
    for index in range(arguments.first, arguments.first + arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(attn, pathlib.Path(folder), arguments.seed, index)
            right += not wrong
            if wrong:
                print(f"{index}:", *wrong[:6], sep="\n    ", flush=True)
                if arguments.keep:
                    shutil.copytree(folder, arguments.keep / f"{arguments.seed}_{index}", dirs_exist_ok=True)
    print(f"{right} of {arguments.count}")
    return 0 if right == arguments.count else 1


if __name__ == "__main__":
    sys.exit(main())
