"""Compares attn with Keras for the models that Keras's documentation trains, in each dtype policy.

    python tests/oracle/check_document_models.py ATTN [--only MODEL …] [--policies POLICY …] [--keep DIR]

Keras compiles and saves each model of document_models.py. Then these are compared:

    summary   byte for byte at 80 columns
    forward   the largest difference of an output, in units in the last place of the compute dtype at its largest number
    loss      of the first training step, relative
    step      |weights − Keras's| / |Keras's − the initial ones| after the step, over all weights together

The tolerance comes from Keras itself, which computes the same model with and without XLA (jit_compile): the two round at
different places, and neither is more accurate. The columns "own" have the difference of these two. attn may differ from the
one without XLA by FACTOR times as much, or by LEAST units if they agree. The last line is the score.
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
import tensorflow as tf  # noqa: E402

import document_models  # noqa: E402

warnings.filterwarnings("ignore")

POLICIES = ("float32", "float16", "bfloat16", "float64", "mixed_float16", "mixed_bfloat16")
# For float64 models, attn computes in float32.
UNIT = {"float32": 2.0**-23, "float64": 2.0**-23, "float16": 2.0**-10, "mixed_float16": 2.0**-10,
        "bfloat16": 2.0**-7, "mixed_bfloat16": 2.0**-7}
FACTOR, LEAST = 2.0, 4.0
BATCH, FIRST_SCALE = 4, 256.0


def numbers_for(model, rng):
    """Returns random inputs by name, and targets that the loss accepts."""
    out = {}
    for x in model.inputs:
        shape = (BATCH, *x.shape[1:])
        if "int" in x.dtype:
            out[x.name] = rng.integers(1, document_models.VOCABULARY, shape).astype(x.dtype)
        elif x.name == "image":
            out[x.name] = rng.uniform(0, 255, shape).astype("float32")
        else:
            out[x.name] = rng.normal(size=shape).astype("float32")
    shape = (BATCH, *model.output.shape[1:])
    if isinstance(model.loss, keras.losses.SparseCategoricalCrossentropy):
        out["y"] = rng.integers(0, shape[-1], shape[:-1]).astype("int32")
    elif isinstance(model.loss, keras.losses.CategoricalCrossentropy):
        out["y"] = np.eye(shape[-1], dtype="float32")[rng.integers(0, shape[-1], shape[:-1])]
    else:
        out["y"] = rng.normal(size=shape).astype("float32")
    return out


def as_array(value):
    return np.asarray(keras.ops.convert_to_numpy(keras.ops.cast(value, "float64")))


def weights_of(model):
    """Returns the trainable weights by path."""
    return {v.path: as_array(v) for v in model.trainable_weights}


class Run:
    """Keras's results for an archive, with the global policy, which decides whether the loss is scaled."""

    def __init__(self, start, arrays, policy, jit):
        keras.config.set_dtype_policy(policy)
        try:
            self.compute(start, arrays, jit)
        finally:
            keras.config.set_dtype_policy("float32")

    def compute(self, start, arrays, jit):
        model = keras.models.load_model(start)
        given = [arrays[x.name] for x in model.inputs]
        given = given if len(given) > 1 else given[0]
        call = tf.function(lambda x: model(x, training=False), jit_compile=jit, autograph=False)
        self.output = as_array(call(given))
        self.first = weights_of(model)
        model.compile(optimizer=model.optimizer, loss=model.loss, jit_compile=jit)
        self.loss = float(model.train_on_batch(given, arrays["y"]))
        self.weights = weights_of(model)


def summary_of(model):
    lines = []
    os.environ["COLUMNS"] = "80"
    model.summary(print_fn=lambda line, line_break=True: lines.append(line))
    return "\n".join(lines) + "\n"


def distance(weights, own):
    """Returns the distance of weights from Keras's after a step, relative to the step."""
    moved = sum(float(np.sum((own.weights[k] - own.first[k]) ** 2)) for k in own.weights)
    apart = sum(float(np.sum((weights[k] - own.weights[k]) ** 2)) for k in own.weights)
    return (apart / moved) ** 0.5 if moved > 0 else float(apart > 0)


class Row:
    """The results of a model's comparison, as in the table."""

    def __init__(self):
        self.cells, self.wrong = [], []

    def add(self, name, found, own, least):
        self.cells += [f"{found:9.2g}", f"{own:8.2g}"]
        if not found <= max(FACTOR * own, least):
            self.wrong.append(name)


def compare(attn, folder, name, policy):
    keras.utils.clear_session()
    keras.config.set_dtype_policy(policy)
    keras.utils.set_random_seed(1)
    try:
        model = document_models.MODELS[name]()
        loss, optimizer = document_models.COMPILED[name]
        rule = optimizer()
        if policy == "mixed_float16":  # with an initial scale at which no first step overflows
            rule = keras.optimizers.LossScaleOptimizer(rule, initial_scale=FIRST_SCALE)
        model.compile(optimizer=rule, loss=loss)
    finally:
        keras.config.set_dtype_policy("float32")
    start, data, found = folder / "start.keras", folder / "data.npz", folder / "y.npz"
    model.save(start)
    arrays = numbers_for(model, np.random.default_rng(1))
    np.savez(data, **arrays)
    np.savez(folder / "x.npz", **{key: value for key, value in arrays.items() if key != "y"})
    own, jit = (Run(start, arrays, policy, jit) for jit in (False, True))

    def run(*words):
        done = subprocess.run([str(word) for word in (attn, *words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]}: exit {done.returncode}: {done.stderr.strip()[-200:]}")
        return done.stdout

    row, unit = Row(), UNIT[policy]
    shown = run("summary", start, "--line-length", 80) == summary_of(keras.models.load_model(start))
    row.cells.append("equal  " if shown else "differs")
    if not shown:
        row.wrong.append("summary")
    run("run", start, "--input", folder / "x.npz", "--output", found)
    (output,) = np.load(found).values()
    size = max(float(np.max(np.abs(own.output))), 1e-3) * unit
    row.add("forward", float(np.max(np.abs(output.astype("float64") - own.output))) / size,
            float(np.max(np.abs(jit.output - own.output))) / size, LEAST)
    told = json.loads(run("train", start, "--data", data, "-o", folder / "trained.keras", "--no-shuffle", "--batch-size", BATCH,
                          "--epochs", 1, "--steps", 1, "--json"))
    row.add("loss", abs(told["history"]["loss"][0] / own.loss - 1), abs(jit.loss / own.loss - 1), LEAST * unit / 2)
    row.add("step", distance(weights_of(keras.models.load_model(folder / "trained.keras")), own), distance(jit.weights, own),
            LEAST * unit)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attn")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--policies", nargs="*", default=POLICIES)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    attn = pathlib.Path(arguments.attn).resolve()
    right = total = 0
    print(f"{'model':26}{'policy':16}summary   forward      own      loss      own      step      own")
    for name in document_models.MODELS:
        if arguments.only and name not in arguments.only:
            continue
        for policy in arguments.policies:
            total += 1
            with tempfile.TemporaryDirectory() as folder:
                try:
                    row = compare(attn, pathlib.Path(folder), name, policy)
                    cells, wrong = " ".join(row.cells), row.wrong
                except RuntimeError as error:
                    cells, wrong = str(error), ["attn"]
                print(f"{name:26}{policy:16}{cells}{'   ← ' + ', '.join(wrong) if wrong else ''}", flush=True)
                right += not wrong
                if wrong and arguments.keep:
                    shutil.copytree(folder, arguments.keep / f"{name}_{policy}", dirs_exist_ok=True)
    print(f"{right} of {total}")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
