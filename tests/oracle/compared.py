"""Helpers of the scripts that compare attn with Keras: dtype policies, summaries, runs of attn, and the comparison of one
compiled model in one policy:

    summary   byte for byte at 80 columns
    forward   the largest difference of an output, in units in the last place of the compute dtype at its largest number
    loss      of the first training step, relative
    step      |weights − Keras's| / |Keras's − the initial ones| after the step, over all weights together

The tolerance comes from Keras itself. attn may differ from its result by LEAST units. If it differs by more, Keras computes the
model again in other ways:

- with XLA (jit_compile), which rounds at other places
- a float32 model in float64
- from weights that are half a unit in the last place away, up to NUDGES times

attn may differ by FACTOR times as much as any of these do, and the columns "own" show by how much. XLA and float64 draw other
random numbers, so a model that draws any trains without them.
"""
import json
import os
import subprocess
import zipfile

import keras
import numpy as np
import tensorflow as tf

POLICIES = ("float32", "float16", "bfloat16", "float64", "mixed_float16", "mixed_bfloat16")
# float64 is measured in units of float32, like the loss, which is float32 in every policy.
UNIT = {"float32": 2.0**-23, "float64": 2.0**-23, "float16": 2.0**-10, "mixed_float16": 2.0**-10,
        "bfloat16": 2.0**-7, "mixed_bfloat16": 2.0**-7}
FACTOR, LEAST, NUDGES = 2.0, 4.0, 4
BATCH, FIRST_SCALE = 4, 256.0


def as_array(value):
    """Returns a tensor in float64."""
    return np.asarray(keras.ops.convert_to_numpy(keras.ops.cast(value, "float64")))


def weights_of(model):
    """Returns the trainable weights by path."""
    return {v.path: as_array(v) for v in model.trainable_weights}


def summary_of(model):
    """Returns the summary that Keras prints at 80 columns."""
    lines = []
    os.environ["COLUMNS"] = "80"
    model.summary(print_fn=lambda line, line_break=True: lines.append(line))
    return "\n".join(lines) + "\n"


class Rejected(RuntimeError):
    """attn ended with another exit code than 0."""

    def __init__(self, command, code, message):
        super().__init__(f"{command}: exit {code}: {message.strip()[-200:]}")
        self.code, self.message = code, message


def run(attn, *words):
    """Returns the output of an attn command. Raises Rejected."""
    done = subprocess.run([str(word) for word in (attn, *words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Rejected(words[0], done.returncode, done.stderr)
    return done.stdout


def in_policy(policy, make):
    """Calls `make` under a global policy, which also decides whether a loss is scaled."""
    keras.config.set_dtype_policy(policy)
    try:
        return make()
    finally:
        keras.config.set_dtype_policy("float32")


def made(policy, make):
    """Makes a model in a policy, with the same weights each time."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    return in_policy(policy, make)


def compiled(policy, model, loss, rule):
    """The model, to be trained from a scale at which no first step overflows, and is skipped."""
    if policy == "mixed_float16":
        rule = keras.optimizers.LossScaleOptimizer(rule, initial_scale=FIRST_SCALE)
    in_policy(policy, lambda: model.compile(optimizer=rule, loss=loss))
    return model


def draws(model):
    """Returns whether the model draws random numbers in training."""
    return any("seed_generator" in v.path for v in model.variables)


def nudge(model, seed):
    """Moves about half of the weights by half a unit in the last place of the dtype in which their layer computes."""
    random = np.random.default_rng(seed)
    units = {id(v): UNIT[layer.compute_dtype] for layer in model._flatten_layers() for v in layer._trainable_variables}
    for variable in model.trainable_weights:
        value = as_array(variable)
        moved = value * (1 + units.get(id(variable), UNIT["float32"]) / 2) + 1e-12
        variable.assign(np.where(random.integers(0, 2, value.shape) > 0, moved, value))


def in_double(start):
    """Writes the archive of a float32 model again, to compute in float64, and returns its path."""
    double = start.with_name("double.keras")
    with zipfile.ZipFile(start) as old, zipfile.ZipFile(double, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b'"float32"', b'"float64"') if name == "config.json" else data)
    return double


def run_in_double(start, arrays):
    """Returns Keras's results for a float32 model in float64."""
    keras.config.set_floatx("float64")
    try:
        return Run(in_double(start), {key: x.astype("float64") if x.dtype == "float32" else x for key, x in arrays.items()}, "float64")
    finally:
        keras.config.set_floatx("float32")


class Run:
    """Keras's results for an archive. It trains only if there are targets."""

    def __init__(self, start, arrays, policy, jit=False, seed=None):
        in_policy(policy, lambda: self.compute(start, arrays, jit, seed))

    def compute(self, start, arrays, jit, seed):
        model = keras.models.load_model(start)
        self.draws, self.first = draws(model), weights_of(model)
        if seed is not None:
            nudge(model, seed)
        given = [arrays[x.name] for x in model.inputs]
        given = given if len(given) > 1 else given[0]
        call = tf.function(lambda x: model(x, training=False), jit_compile=jit, autograph=False)
        self.outputs = [as_array(y) for y in keras.tree.flatten(call(given))]
        if "y" not in arrays:
            return
        model.compile(optimizer=model.optimizer, loss=model.loss, jit_compile=jit and not self.draws)
        self.loss = float(model.train_on_batch(given, arrays["y"]))
        self.weights = weights_of(model)


class Others:
    """Other runs by Keras of the same model, made when they are needed by the functions `ways`. Those that fail, because XLA or
    TensorFlow lacks an operation, are left out."""

    def __init__(self, *ways):
        self.ways, self.runs = list(ways), []

    def each(self, measure):
        """Yields the measured difference of each run."""
        for run in self.runs:
            yield measure(run)
        while self.ways:
            try:
                self.runs.append(self.ways.pop(0)())
            except Exception:
                continue
            yield measure(self.runs[-1])


def other_ways(make):
    """Returns functions that call `make` with XLA, and with the seeds of nudges."""
    return [lambda: make(jit=True), *(lambda seed=seed: make(seed=seed) for seed in range(NUDGES))]


def distance(weights, own):
    """Returns the distance of weights from Keras's after a step, relative to the step."""
    moved = sum(float(np.sum((own.weights[k] - own.first[k]) ** 2)) for k in own.weights)
    apart = sum(float(np.sum((weights[k] - own.weights[k]) ** 2)) for k in own.weights)
    return (apart / moved) ** 0.5 if moved > 0 else float(apart > 0)


def farthest(outputs, own, unit):
    """The largest difference of any output, in units at its largest number. Numbers that are finite in one only are
    infinitely far apart."""
    out = 0.0
    for found, right in zip(outputs, own):
        finite = np.isfinite(right)
        if found.shape != right.shape or not np.array_equal(finite, np.isfinite(found)):
            return float("inf")
        size = max(float(np.max(np.abs(right[finite]), initial=0.0)), 1e-3) * unit
        out = max(out, float(np.max(np.abs(found - right)[finite], initial=0.0)) / size)
    return out


class Row:
    """The results of a model's comparison, as in the table."""

    HEAD = f"summary {'forward':>9}{'own':>9}{'loss':>10}{'own':>9}{'step':>10}{'own':>9}"

    def __init__(self):
        self.cells, self.wrong = [], []

    def add(self, name, found, least, own):
        """Adds a difference. `own` yields Keras's own ones, which are needed only if `found` is larger than `least`."""
        allowed = least
        for other in own if not found <= least else ():
            allowed = max(allowed, FACTOR * other)
            if found <= allowed:
                break
        self.cells += [f"{found:9.2g}", f"{allowed / FACTOR:8.2g}" if allowed > least else " " * 8]
        if not found <= allowed:
            self.wrong.append(name)

    def __str__(self):
        return " ".join(self.cells) + (f"   ← {', '.join(self.wrong)}" if self.wrong else "")


def compare(attn, folder, model, arrays, policy):
    """Returns the row of a model, which is compiled if the arrays have targets "y". Writes its files into the folder."""
    start, found = folder / "start.keras", folder / "y.npz"
    model.save(start)
    np.savez(folder / "data.npz", **arrays)
    np.savez(folder / "x.npz", **{key: value for key, value in arrays.items() if key != "y"})
    own = Run(start, arrays, policy)
    xla, *nudged = other_ways(lambda **way: Run(start, arrays, policy, **way))
    others = Others(xla, *([lambda: run_in_double(start, arrays)] if policy == "float32" and not own.draws else []), *nudged)
    row, unit = Row(), UNIT[policy]
    keras.utils.clear_session()  # names that a file lacks are numbered from 1 again
    shown = run(attn, "summary", start, "--line-length", 80) == summary_of(keras.models.load_model(start))
    row.cells.append("equal  " if shown else "differs")
    if not shown:
        row.wrong.append("summary")
    run(attn, "run", start, "--input", folder / "x.npz", "--output", found)
    with np.load(found) as file:
        outputs = [file[name].astype("float64") for name in file.files]
    row.add("forward", farthest(outputs, own.outputs, unit), LEAST, others.each(lambda x: farthest(x.outputs, own.outputs, unit)))
    if "y" in arrays:
        told = json.loads(run(attn, "train", start, "--data", folder / "data.npz", "-o", folder / "trained.keras", "--no-shuffle",
                              "--batch-size", BATCH, "--epochs", 1, "--steps", 1, "--json"))
        row.add("loss", abs(told["history"]["loss"][0] / own.loss - 1), LEAST * unit / 2,
                others.each(lambda x: abs(x.loss / own.loss - 1)))
        row.add("step", distance(weights_of(keras.models.load_model(folder / "trained.keras")), own), LEAST * unit,
                others.each(lambda x: distance(x.weights, own)))
    return row
