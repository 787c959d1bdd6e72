"""Trains random small models with random compile settings by attn and by real Keras.

    python tests/oracle/check_training.py ATTN [--seed N] [--count N] [--first N] [--keep DIR]

Number i of seed s is always the same (training_models.py); a model that Keras cannot train is drawn again. Keras compiles
and saves each model. Then `attn train --no-shuffle` and Keras's fit() without shuffling train it for two epochs. These are
compared:

- losses and metrics of each epoch, also on validation data
- all weights and the optimizer's variables, as Keras reads them from attn's file
- the loss of one more epoch by Keras, from attn's file and from its own
- losses, weights and variables after one more epoch by attn and by Keras, from Keras's file

The tolerance comes from Keras itself: eight times the change of an array if its starting weights move by a unit in the last
place, or 2e-5 of the array's largest number. Keras rounds layers in half precision more often than attn does. For these it is
the largest of: sixteen times the change by such a unit of half precision, four of these units, four times the effect of the
policy. One try may not find the units that change the maximum of a pool or cross a threshold. If numbers differ by more, four
other units are tried, and the largest change counts. The last line is the score.
"""

import argparse
import json
import logging
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402
import numpy as np  # noqa: E402

import training_models  # noqa: E402

warnings.filterwarnings("ignore")
logging.getLogger("tensorflow").setLevel(logging.ERROR)  # each model is a new function

FACTOR = {"float32": 8.0, "mixed_bfloat16": 16.0, "mixed_float16": 16.0}
LEAST = {"float32": 2e-5, "mixed_bfloat16": 2.0**-6, "mixed_float16": 2.0**-9}
OF_POLICY = 4.0  # factor of the effect of Keras's mixed policy: both differ from float32 as much, each by its own roundings
UNIT = {"float32": 2.0**-23, "mixed_bfloat16": 2.0**-8, "mixed_float16": 2.0**-11}
EPOCHS = 2
MORE_NUDGES = 4
ATTEMPTS = 20  # attempts for one model, until Keras can train it


# ---- runs


def arrays_of(model):
    """Returns its weights and the optimizer's variables."""
    out = {"weight:" + v.path: np.array(keras.ops.convert_to_numpy(v))
           for v in model.weights if "seed_generator" not in v.path}
    for i, v in enumerate(model.optimizer.variables):
        out[f"optimizer:{i}"] = np.array(keras.ops.convert_to_numpy(v))
    return out


def fit(model, settings, epochs, first=0):
    y, weights = settings.targets_of(settings.data)
    more = {}
    if settings.validation:
        validation_y, validation_weights = settings.targets_of(settings.validation)
        more["validation_data"] = (settings.validation["x"], validation_y)
        if validation_weights is not None:
            more["validation_data"] += (validation_weights,)
    return model.fit(settings.data["x"], y, sample_weight=weights, class_weight=settings.class_weight, epochs=epochs,
                     initial_epoch=first, batch_size=training_models.BATCH, shuffle=False, verbose=0, **more).history


def nudge(model, rng, policy):
    for variable in model.trainable_weights:
        value = keras.ops.convert_to_numpy(variable)
        moved = value * np.float32(1 + UNIT[policy]) + np.float32(1e-12)
        variable.assign(np.where(rng.integers(0, 2, value.shape) > 0, moved, value))


class Attn:
    def __init__(self, path):
        self.path = path

    def train(self, start, target, folder, settings, epochs):
        words = [self.path, "train", start, "--data", folder / "data.npz", "-o", target, "--no-shuffle", "--json",
                 "--batch-size", training_models.BATCH, "--epochs", epochs]
        if settings.validation:
            words += ["--validation", folder / "validation.npz"]
        if settings.class_weight:
            words += ["--class-weight", json.dumps(settings.class_weight)]
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


# ---- comparison


class Comparison:
    """Compares the results of one model. `expected`, `moved` and `single` come from Keras: `moved` from several trainings
    with perturbed starting weights, `single` from float32."""

    def __init__(self, policy):
        self.least, self.factor, self.wrong = LEAST[policy], FACTOR[policy], []

    def array(self, name, found, expected, moved, single):
        found, expected, single = (np.asarray(x, "float64") for x in (found, expected, single))
        if found.shape != expected.shape:
            self.wrong.append(f"{name} has the shape {found.shape}, not {expected.shape}")
            return
        if not np.isfinite(expected).all():
            if not np.array_equal(np.isfinite(found), np.isfinite(expected)):
                self.wrong.append(f"{name}: not the same numbers are finite")
            return
        size = float(np.max(np.abs(expected), initial=0.0))

        def off(other):
            return float(np.max(np.abs(np.asarray(other, "float64") - expected), initial=0.0))
        allowed = max(self.least * max(size, 1e-3), self.factor * max(map(off, moved)), OF_POLICY * off(single))
        error = off(found)
        if not error <= allowed:
            self.wrong.append(f"{name}: {error:.3g} from Keras's, {allowed:.3g} are allowed, {size:.3g} is the largest")

    def arrays(self, where, found, expected, moved, single):
        if found.keys() != expected.keys():
            self.wrong.append(f"{where}: the arrays are {sorted(found)}, and Keras's {sorted(expected)}")
        for name in found.keys() & expected.keys():
            self.array(f"{where}{name}", found[name], expected[name], [each[name] for each in moved],
                       single.get(name, expected[name]))


def in_float32(start):
    """Returns the archive's model with all layers computing in float32."""
    single = start.with_name("single.keras")
    with zipfile.ZipFile(start) as old, zipfile.ZipFile(single, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, re.sub(rb"mixed_b?float16", b"float32", data) if name == "config.json" else data)
    return keras.models.load_model(single)


class KerasTraining:
    """The model with its results, those of perturbed copies, and those in float32 for a mixed policy. Results are
    [history, arrays]."""

    def __init__(self, start, settings, seeds, epochs):
        def numbers(model):
            return fit(model, settings, epochs), arrays_of(model)
        self.model = keras.models.load_model(start)
        self.own, self.moved = numbers(self.model), []
        for seed in seeds:
            other = keras.models.load_model(start)
            nudge(other, np.random.default_rng(seed), settings.policy)
            self.moved.append(numbers(other))
        self.single = self.own if settings.policy == "float32" else numbers(in_float32(start))

    def histories(self):
        return self.own[0], [each[0] for each in self.moved], self.single[0]

    def arrays(self):
        return self.own[1], [each[1] for each in self.moved], self.single[1]

    def losses(self):
        own, moved, single = self.histories()
        return own["loss"], [each["loss"] for each in moved], single["loss"]

    def is_finite(self):
        return all(np.isfinite(array).all() for array in self.own[1].values())


class Unfit(Exception):
    """Keras itself cannot train the model."""


def drawn(folder, seed, index):
    """Draws and returns the settings; start.keras is the model."""
    for attempt in range(ATTEMPTS):
        try:
            model, settings = training_models.make(seed, index, attempt)
            model.save(folder / "start.keras")
            again = keras.models.load_model(folder / "start.keras")
            if isinstance(again.optimizer, keras.optimizers.ScheduleFreeAdamW):
                # load_model initialized it with the weights before loading.
                for variable, begins in zip(again.trainable_variables, again.optimizer._momentums):
                    begins.assign(variable)
                again.save(folder / "start.keras")
            fit(again, settings, 1)
            return settings
        except Exception as error:  # an error of any class
            why = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
    raise Unfit(why)


def check(attn, folder, seed, index):
    """Returns (the settings, the differences)."""
    settings = drawn(folder, seed, index)
    start, trained = folder / "start.keras", folder / "attn.keras"
    np.savez(folder / "data.npz", **settings.data)
    if settings.validation:
        np.savez(folder / "validation.npz", **settings.validation)
    result = attn.train(start, trained, folder, settings, EPOCHS)
    if result.returncode == 1 and "is not finite" in result.stderr:  # Keras continues with NaN
        own = keras.models.load_model(start)
        fit(own, settings, EPOCHS)
        finite = all(np.isfinite(array).all() for array in arrays_of(own).values())
        return settings.steps, [result.stderr.strip()] if finite else []
    if result.returncode != 0:
        return settings.steps, [f"exit {result.returncode}: {result.stderr.strip()[-300:]}"]
    history = json.loads(result.stdout)["history"]
    wrong = differences(attn, folder, settings, history, [index])
    if wrong:
        wrong = differences(attn, folder, settings, history, [1000 * n + index for n in range(1 + MORE_NUDGES)])
    return settings.steps, wrong


def differences(attn, folder, settings, history, seeds):
    """Compares Keras continuing from attn's result, and attn continuing from Keras's."""
    start, trained = folder / "start.keras", folder / "attn.keras"
    comparison = Comparison(settings.policy)

    # Loading restarts Keras's random generators, like attn's.
    own = KerasTraining(start, settings, seeds, EPOCHS)
    from_attn = keras.models.load_model(trained)
    arrays = arrays_of(from_attn)
    if settings.policy == "mixed_float16" and not own.is_finite() and \
            all(np.isfinite(array).all() for array in arrays.values()):
        # If a table row is gathered several times, Keras's LossScaleOptimizer checks only its last gradient for
        # finiteness (densifying_unary), and writes the results of the others into the table.
        return []
    comparison.arrays("", history, *own.histories())
    comparison.arrays("", arrays, *own.arrays())

    # Both directions. Keras does not save the state of its generators.
    own.model.save(folder / "keras.keras")
    own = KerasTraining(folder / "keras.keras", settings, seeds, 1)
    comparison.array("there: loss", fit(from_attn, settings, 1)["loss"], *own.losses())
    result = attn.train(folder / "keras.keras", folder / "back.keras", folder, settings, 1)
    if result.returncode != 0:
        comparison.wrong.append(f"back: exit {result.returncode}: {result.stderr.strip()[-300:]}")
        return comparison.wrong
    comparison.arrays("back: ", json.loads(result.stdout)["history"], *own.histories())
    comparison.arrays("back: ", arrays_of(keras.models.load_model(folder / "back.keras")), *own.arrays())
    return comparison.wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    attn = Attn(pathlib.Path(arguments.attn).resolve())
    right = 0
    for index in range(arguments.first, arguments.first + arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            steps, wrong = check(attn, pathlib.Path(folder), arguments.seed, index)
            right += not wrong
            if wrong:
                print(f"{index}: {' '.join(steps)}", *wrong[:6], sep="\n    ", flush=True)
                if arguments.keep:
                    shutil.copytree(folder, arguments.keep / f"{arguments.seed}_{index}", dirs_exist_ok=True)
    print(f"{right} of {arguments.count}")
    return 0 if right == arguments.count else 1


if __name__ == "__main__":
    sys.exit(main())
