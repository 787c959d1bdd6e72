"""Cases of metrics by real Keras: the history of fit() with every metric of keras.metrics.

    python tests/oracle/make_metric_cases.py tests/data/metrics [case …]

Each case is a folder with model.keras, compiled and not yet trained; summary.txt, its table; data.npz and
validation.npz; and history.json, the values of two epochs without shuffling. The last batch of an epoch is shorter than
the others. A metric that has a number for each class or threshold has a list there.
"""

import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import metrics as km  # noqa: E402

ROWS, HELD_OUT, BATCH, EPOCHS = 22, 9, 8, 2
WIDTH, STEPS, CLASSES = 5, 4, 4
CASES = {}


def without_nan(value):
    """Replaces NaN by null, because JSON has none."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and value != value else value


def case(make):
    CASES[make.__name__] = make
    return make


def compiled(model, loss, metrics, weighted=None, **arguments):
    optimizer = keras.optimizers.SGD(0.05, momentum=0.5, use_ema=True)
    model.compile(optimizer, loss, metrics=metrics, weighted_metrics=weighted, jit_compile=False, **arguments)
    return model


def numbers(random, rows, *shape):
    return random.normal(size=(rows, *shape)).astype("float32")


def weights(random, rows, *shape):
    return random.uniform(0.25, 2.0, (rows, *shape)).astype("float32")


@case
def binary(random):
    x = keras.Input((WIDTH,), name="x")
    thresholds = [0.3, 0.5, 0.65]

    def all_metrics():
        return [
            "accuracy",
            "auc",
            "Precision",
            "TruePositives",
            "binary_io_u",
            km.Accuracy(),
            km.BinaryAccuracy(threshold=0.4, name="at_0_4"),
            km.TruePositives(thresholds=thresholds, name="hits"),
            km.FalsePositives(thresholds=[0.25, 0.75], name="alarms"),
            km.TrueNegatives(thresholds=[0.0, 0.5, 1.0], name="quiet"),
            km.FalseNegatives(),
            km.Precision(thresholds=thresholds, name="precisions"),
            km.Recall(thresholds=0.45),
            km.SensitivityAtSpecificity(0.6, num_thresholds=40),
            km.SpecificityAtSensitivity(0.6),
            km.PrecisionAtRecall(0.5, num_thresholds=1),
            km.RecallAtPrecision(0.55),
            km.AUC(name="area"),
            km.AUC(curve="PR", num_thresholds=20, name="pr"),
            km.AUC(curve="PR", num_thresholds=20, summation_method="majoring", name="pr_majoring"),
            km.AUC(summation_method="minoring", thresholds=[0.3, 0.45, 0.5, 0.55, 0.7], name="minoring"),
            km.AUC(curve="PRGAIN", num_thresholds=30, name="gain"),
            km.AUC(from_logits=True, name="of_logits"),
            km.BinaryCrossentropy(label_smoothing=0.1),
            km.Hinge(),
            km.SquaredHinge(),
            keras.losses.BinaryFocalCrossentropy(name="focal"),
            keras.losses.binary_crossentropy,
        ]

    def weighted():  # one number for a batch has no weights
        return [each for each in all_metrics() if not isinstance(each, keras.losses.Loss)]

    model = compiled(
        keras.Model(x, keras.layers.Dense(1, "sigmoid", name="p")(x)), "binary_crossentropy", all_metrics(), weighted()
    )

    def data(rows):
        labels = random.integers(0, 2, (rows, 1)).astype("float32")
        return {"x": numbers(random, rows, WIDTH), "y": labels, "sample_weight": weights(random, rows)}

    return model, data


@case
def one_hot(random):
    x = keras.Input((WIDTH,), name="x")

    def all_metrics():
        return [
            "acc",
            "f1_score",
            "f_beta_score",
            "top_k_categorical_accuracy",
            km.CategoricalAccuracy(),
            km.TopKCategoricalAccuracy(2, name="top_2"),
            km.F1Score(average="micro", name="micro"),
            km.F1Score(average="macro", threshold=0.3, name="macro"),
            km.FBetaScore(average="weighted", beta=2.0, name="weighted"),
            km.FBetaScore(beta=0.5, threshold=0.25, name="of_classes"),
            km.CategoricalCrossentropy(label_smoothing=0.2),
            km.CategoricalHinge(),
            km.KLDivergence(),
            km.Precision(top_k=2, name="precision_top_2"),
            km.Precision(class_id=1, name="precision_1"),
            km.Recall(class_id=2, thresholds=[0.2, 0.3], name="recalls"),
            km.Recall(top_k=1, class_id=0, name="recall_0"),
            km.SensitivityAtSpecificity(0.5, class_id=1),
            km.AUC(multi_label=True, num_labels=CLASSES, name="by_label"),
            km.AUC(multi_label=True, label_weights=[0.5, 1.0, 2.0, 0.0], curve="PR", name="pr_by_label"),
            km.AUC(multi_label=True, thresholds=[0.2, 0.4], name="some"),
            km.AUC(label_weights=[0.5, 1.0, 2.0, 0.0], name="by_weight"),
            km.OneHotIoU(CLASSES, [0, 2]),
            km.OneHotMeanIoU(CLASSES),
            km.MeanMetricWrapper(keras.losses.categorical_focal_crossentropy, name="focal", gamma=1.0),
        ]

    model = compiled(
        keras.Model(x, keras.layers.Dense(CLASSES, "softmax", name="p")(x)),
        "categorical_crossentropy",
        all_metrics(),
        all_metrics(),
    )

    def data(rows):
        labels = np.eye(CLASSES, dtype="float32")[random.integers(0, CLASSES, rows)]
        return {"x": numbers(random, rows, WIDTH), "y": labels, "sample_weight": weights(random, rows)}

    return model, data


@case
def classes(random):
    x = keras.Input((WIDTH,), name="x")

    def all_metrics():
        return [
            "accuracy",
            "sparse_top_k_categorical_accuracy",
            km.SparseCategoricalAccuracy(name="right"),
            km.SparseTopKCategoricalAccuracy(2),
            km.sparse_categorical_accuracy,
            km.SparseCategoricalCrossentropy(),
            km.SparseCategoricalCrossentropy(ignore_class=1, name="without_1"),
            km.IoU(CLASSES, [0, 3], sparse_y_pred=False),
            km.MeanIoU(CLASSES, sparse_y_pred=False, ignore_class=2, dtype="float32"),
            km.MeanIoU(CLASSES - 1, sparse_y_pred=False, name="fewer"),
            km.MeanMetricWrapper(km.sparse_top_k_categorical_accuracy, k=3),
        ]

    output = keras.layers.Dense(CLASSES, "softmax", name="p")(x)
    model = compiled(keras.Model(x, output), "sparse_categorical_crossentropy", all_metrics(), all_metrics())

    def data(rows):
        labels = random.integers(0, CLASSES, rows).astype("int32")
        return {"x": numbers(random, rows, WIDTH), "y": labels, "sample_weight": weights(random, rows)}

    return model, data


@case
def regression(random):
    x = keras.Input((WIDTH,), name="x")

    def all_metrics():
        return [
            "mse",
            "MAE",
            "mape",
            "msle",
            "r2_score",
            "cosine_similarity",
            "root_mean_squared_error",
            "log_cosh_error",
            km.MeanSquaredError(),
            km.MeanAbsoluteError(),
            km.MeanAbsolutePercentageError(),
            km.MeanSquaredLogarithmicError(),
            km.RootMeanSquaredError(name="root"),
            km.CosineSimilarity(name="angle"),
            km.LogCoshError(),
            km.Poisson(),
            km.PearsonCorrelation(),
            km.ConcordanceCorrelation(),
            km.R2Score(class_aggregation=None, name="r2_of_columns"),
            km.R2Score(class_aggregation="variance_weighted_average", num_regressors=3, name="adjusted"),
            keras.losses.cosine_similarity,
            km.MeanMetricWrapper(keras.losses.huber, name="huber", delta=0.5),
        ]

    y = keras.layers.Dense(3, "softplus", name="p")(x)
    by_columns = [km.PearsonCorrelation(name="by_rows", axis=0), keras.losses.Huber()]
    # TensorFlow's graphs have no R2Score with num_regressors.
    model = compiled(keras.Model(x, y), "mse", [*all_metrics(), *by_columns], all_metrics(), run_eagerly=True)

    def data(rows):
        return {
            "x": numbers(random, rows, WIDTH),
            "y": np.abs(numbers(random, rows, 3)) + 0.1,
            "sample_weight": weights(random, rows),
        }

    return model, data


@case
def flat(random):
    """Targets without the last axis of the predictions. Some functions add it, and others broadcast both."""
    x = keras.Input((WIDTH,), name="x")

    def all_metrics():
        return [
            km.MeanSquaredError(),
            km.CosineSimilarity(),
            km.LogCoshError(),
            km.Poisson(),
            km.KLDivergence(),
            km.Hinge(),
            km.SquaredHinge(),
            km.CategoricalHinge(),
        ]

    def of_batches():  # one number for a batch has no weights
        return [keras.losses.dice, keras.losses.tversky, keras.losses.Poisson(name="matched")]

    y = keras.layers.Dense(1, "sigmoid", name="p")(x)
    model = compiled(keras.Model(x, y), "binary_crossentropy", [*all_metrics(), *of_batches()], all_metrics())

    def data(rows):
        labels = random.integers(0, 2, rows).astype("float32")
        return {"x": numbers(random, rows, WIDTH), "y": labels, "sample_weight": weights(random, rows)}

    return model, data


@case
def masked(random):
    """The mask weighs means, and no count or confusion matrix."""
    ids = keras.Input((STEPS,), dtype="int32", name="ids")

    def all_metrics():
        return [
            "accuracy",
            km.SparseCategoricalCrossentropy(ignore_class=0),
            km.SparseTopKCategoricalAccuracy(2),
            km.MeanIoU(CLASSES, sparse_y_pred=False),
        ]

    y = keras.layers.Embedding(7, WIDTH, mask_zero=True)(ids)
    y = keras.layers.Dense(CLASSES, "softmax", name="p")(y)
    model = compiled(keras.Model(ids, y), "sparse_categorical_crossentropy", all_metrics(), all_metrics())

    def data(rows):
        return {
            "ids": random.integers(0, 7, (rows, STEPS)).astype("int32"),
            "y": random.integers(0, CLASSES, (rows, STEPS)).astype("int32"),
            "sample_weight": weights(random, rows, STEPS),
        }

    return model, data


@case
def masked_numbers(random):
    ids = keras.Input((STEPS,), dtype="int32", name="ids")

    def all_metrics():
        return [
            "mse",
            "accuracy",
            km.RootMeanSquaredError(),
            km.Precision(thresholds=0.1),
            km.Recall(thresholds=[0.0, 0.1]),
            km.BinaryIoU(threshold=0.05),
            km.AUC(num_thresholds=10),
        ]

    y = keras.layers.Embedding(7, WIDTH, mask_zero=True, embeddings_initializer="normal")(ids)
    y = keras.layers.Dense(1, name="p")(y)
    model = compiled(keras.Model(ids, y), "mse", [*all_metrics(), keras.losses.mean_absolute_error], all_metrics())

    def data(rows):
        return {
            "ids": random.integers(0, 7, (rows, STEPS)).astype("int32"),
            "y": random.integers(0, 2, (rows, STEPS, 1)).astype("float32"),
            "sample_weight": weights(random, rows, STEPS),
        }

    return model, data


@case
def outputs(random):
    """Metrics of outputs by their names. The first output has the numbers of its input."""
    x = keras.Input((WIDTH,), name="x")
    same = keras.layers.Dense(WIDTH, use_bias=False, kernel_initializer="identity", trainable=False, name="ids")
    model = compiled(
        keras.Model(x, {"ids": same(x), "kind": keras.layers.Dense(CLASSES, name="kind")(x)}),
        dict.fromkeys(["ids", "kind"], keras.losses.SparseCategoricalCrossentropy(from_logits=True)),
        {
            "ids": [km.SparseTopKCategoricalAccuracy(3, from_sorted_ids=True), km.SparseTopKCategoricalAccuracy(2)],
            "kind": ["accuracy", km.SparseCategoricalCrossentropy(from_logits=True)],
        },
        {"kind": [km.SparseCategoricalAccuracy()]},
    )

    def data(rows):
        ids = random.integers(0, WIDTH, (rows, WIDTH)).astype("float32")
        return {
            "x": ids,
            "y:ids": random.integers(0, WIDTH, rows).astype("int32"),
            "y:kind": random.integers(0, CLASSES, rows).astype("int32"),
            "sample_weight:ids": np.ones(rows, "float32"),
            "sample_weight:kind": weights(random, rows),
        }

    return model, data


def split(arrays):
    """The arguments of fit() for arrays as attn names them."""
    x, y, w = {}, {}, {}
    for name, array in arrays.items():
        target = {"y": y, "sample_weight": w}.get(name.split(":")[0], x)
        target[name.split(":")[-1]] = array
    only = lambda part: next(iter(part.values())) if len(part) == 1 else part or None  # noqa: E731
    return only(x), only(y), only(w)


def summary_of(model):
    """The table in a pipe of 80 columns, with the variables of the optimizer that loading a compiled model makes."""
    os.environ["COLUMNS"] = "80"
    model.optimizer.build(model.trainable_variables)
    lines = []
    model.summary(print_fn=lambda line, line_break=True: lines.append(line))
    return "\n".join(lines)


class Values(keras.callbacks.Callback):
    """History, with copies: on TensorFlow a metric with a list of thresholds shows its variable, which validation resets."""

    def __init__(self):
        super().__init__()
        self.batch, self.history = {}, {}

    def on_train_batch_end(self, batch, logs=None):
        self.batch = {key: np.array(value, "float64") for key, value in logs.items()}

    def on_epoch_end(self, epoch, logs=None):
        held_out = {key: np.array(value, "float64") for key, value in logs.items() if key.startswith("val_")}
        for key, value in {**self.batch, **held_out}.items():
            self.history.setdefault(key, []).append(value.tolist())


def make(folder, name):
    keras.utils.set_random_seed(len(name))
    random = np.random.default_rng(len(name))
    model, data = CASES[name](random)
    train, held_out = data(ROWS), data(HELD_OUT)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "model.keras")
    (folder / "summary.txt").write_text(summary_of(model))
    np.savez_compressed(folder / "data.npz", **train)
    np.savez_compressed(folder / "validation.npz", **held_out)
    x, y, w = split(train)
    values = Values()
    options = {"batch_size": BATCH, "epochs": EPOCHS, "shuffle": False, "verbose": 0, "callbacks": [values]}
    model.fit(x, y, sample_weight=w, validation_data=split(held_out), **options)
    (folder / "history.json").write_text(json.dumps(without_nan(values.history), sort_keys=True) + "\n")
    print(f"{name:16} {len(values.history)} values")


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    for each in sys.argv[2:] or CASES:
        make(root / each, each)
