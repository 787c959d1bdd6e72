"""Draws random small models from all layers and operations that attn supports, and compares attn with real Keras.

usage: random_models.py ATTN [--seed N] [--count N] [--only FAMILY] [--keep DIR] [--steps N]
       (needs: pip install keras tensorflow-cpu keras-hub safetensors)

Model number i of seed s is always the same; a model that Keras cannot run is drawn again. These are compared:
  outputs    of both backends: within 4 times Keras's own float32 error against a float64 run of the same model, or 1e-6 of
             the output's largest magnitude; if a layer computes in half precision, within 2 times Keras's own error or
             one unit in the last place of the largest magnitude; integers and bools are equal
  summaries  byte for byte, at several widths, plain and with expand_nested and show_trainable
  config     `attn get-config --json` equals model.to_json(); Keras makes the model for the other checks from this text
  weights    `attn convert` in one form of file per model: Keras, safetensors or NumPy read the same bits
  init       `attn init`: initializers with a seed draw Keras's numbers
  paths      weights with the paths of Keras's variables give the same outputs as the archive
A failure leaves the model, its inputs and the differences in DIR/SEED_INDEX. The last line is the score, "N of N".
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np

warnings.filterwarnings("ignore")

# The TensorFlow backend treats an x2 with one long axis as a bias of leading channels, and adds (n, 1) to (b, n, t, c)
# along the second axis, or along the last if c is n. NumPy and Keras's other backends broadcast.
import keras.src.backend.tensorflow.numpy as tensorflow_numpy
import tensorflow as tf


def broadcasting_add(x1, x2):
    dtype = keras.backend.result_type(getattr(x1, "dtype", type(x1)), getattr(x2, "dtype", type(x2)))
    return tf.add(keras.ops.convert_to_tensor(x1, dtype), keras.ops.convert_to_tensor(x2, dtype))


tensorflow_numpy.add = broadcasting_add

# Its channels_first kernels support only float32.
import inspect

import keras.src.backend.tensorflow.nn as tensorflow_nn


def channels_last_only(function):
    signature = inspect.signature(function)

    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        x = bound.arguments["inputs"]
        if bound.arguments.get("data_format") != "channels_first" or keras.backend.standardize_dtype(x.dtype) != "float64":
            return function(*args, **kwargs)
        bound.arguments.update(inputs=keras.ops.moveaxis(x, 1, -1), data_format="channels_last")
        return keras.ops.moveaxis(function(*bound.args, **bound.kwargs), -1, 1)

    return call


for name in ("conv", "depthwise_conv", "separable_conv", "conv_transpose", "max_pool", "average_pool"):
    setattr(tensorflow_nn, name, channels_last_only(getattr(tensorflow_nn, name)))

import written
from drawing import Draw, FAMILIES, Unfit
from drawing import attention, core, hub, models, normalization, operations, recurrent, shapes, spatial  # noqa: F401

BACKENDS = ("reference", "onednn")
POLICIES = ["mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float64"]
HALF_UNIT = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
DISTURBANCES = 8
ATTEMPTS = 20  # attempts for one model, until Keras can run it


# ---- Keras's side
def draw_model(seed, index, attempt, only, steps):
    rng = np.random.default_rng([seed, index] + [attempt] * (attempt > 0))
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(int(rng.integers(2**31)))
    policy = str(rng.choice(POLICIES)) if rng.random() < 0.1 else "float32"
    keras.config.set_dtype_policy(policy)
    try:
        for _ in range(20):
            draw = Draw(rng)
            try:
                model, done = models.model(draw, draw.integer(1, steps), only)
                return draw, model, done, policy, rng
            except Unfit:
                continue
            except Exception as error:
                draw.last_refusal = repr(error)
        raise Unfit
    finally:
        keras.config.set_dtype_policy("float32")


def randomise(model, rng):
    """Sets weights away from 0 and 1, so that an ignored one is detected."""
    for weight in model.weights:
        if "float" not in str(weight.dtype):
            continue
        value = 0.5 * rng.standard_normal(weight.shape)
        weight.assign(np.abs(value) + 0.1 if any(word in weight.path for word in ("variance", "stddev")) else value)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Normalization) and layer.built:
            layer.finalize_state()


def input_name(x):
    return x._keras_history.operation.name


def input_values(draw, model, rng):
    bounds = {input_name(x): draw.bounds.get(id(x)) for x in draw.inputs}
    out = {}
    for x in model.inputs:
        shape = [draw.batch if axis == 0 and n is None else draw.steps if n is None else n for axis, n in enumerate(x.shape)]
        if x.dtype == "bool":
            value = rng.random(shape) < 0.7
            if value.ndim > 1:
                value[..., 0] = True
        elif "int" in x.dtype:
            value = rng.integers(0, bounds.get(input_name(x)) or 5, shape).astype(x.dtype)
            if value.ndim > 1:
                value[:, 0] = np.maximum(value[:, 0], min(1, (bounds.get(input_name(x)) or 5) - 1))  # not only padding
        else:
            value = rng.standard_normal(shape)
            if rng.random() < 0.1:
                value[rng.random(shape) < 0.3] = 0.0
            value = value.astype("float32") if "16" not in x.dtype else np.array(keras.ops.convert_to_numpy(keras.ops.cast(value, x.dtype)), "float32")
        out[input_name(x)] = value
    return out


def run(model, values):
    def given(x):
        value = values[input_name(x)]
        return keras.ops.cast(keras.ops.convert_to_tensor(value), x.dtype)
    results = model(keras.tree.map_structure(given, model._inputs_struct), training=False)
    return [(keras.backend.standardize_dtype(y.dtype), np.array(keras.ops.convert_to_numpy(keras.ops.cast(y, "float64") if keras.backend.is_float_dtype(y.dtype) else y)))
            for y in keras.tree.flatten(results)]


FLOATS = ("float16", "bfloat16", "float32", "mixed_float16", "mixed_bfloat16")


def fresh(text):
    """Returns the model of a config with the names of a new session."""
    keras.utils.clear_session(free_memory=False)
    return keras.models.model_from_json(text)


def in_float64(model, text):
    for name in FLOATS:
        text = text.replace(f'"{name}"', '"float64"')
    out = fresh(text)
    out.set_weights([w.astype("float64") if "float" in str(w.dtype) or w.dtype.kind == "V" else w for w in
                     [np.array(keras.ops.convert_to_numpy(keras.ops.cast(v, "float64") if "float" in str(v.dtype) else v)) for v in model.weights]])
    for layer in out._flatten_layers():
        if isinstance(layer, keras.layers.Normalization) and layer.built:
            layer.finalize_state()
    return out


def summary(model, line_length, **options):
    lines = []
    os.environ["COLUMNS"] = str(max(80, line_length))
    model.summary(line_length=line_length, print_fn=lambda s, line_break=True: lines.append(s), **options)
    return "\n".join(lines)


def output_names(model):
    """Returns the names of `attn run`: the keys of a dict, otherwise those of the layers; the second result of one is
    layer[1]."""
    structure = model._outputs_struct
    if isinstance(structure, dict) and all(keras.backend.is_keras_tensor(v) for v in structure.values()):
        return sorted(structure)
    names = model.output_names
    return [name if names.index(name) == i else f"{name}[{names[:i].count(name)}]" for i, name in enumerate(names)]


# ---- attn's side
def attn(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr.strip()


class Commands:
    """Runs the commands for one model in parallel to Keras."""

    def __init__(self, program, folder, pool):
        self.program, self.folder, self.pool = program, folder, pool
        self.jobs = {}

    def start(self, name, *arguments):
        self.jobs[name] = self.pool.submit(attn, self.program, *arguments)

    def result(self, name):
        return self.jobs[name].result()


# ---- the comparison
def largest(array):
    finite = array[np.isfinite(array)]
    return float(np.max(np.abs(finite))) if finite.size else 0.0


def difference(a, b):
    """Returns the largest difference of elements that are finite in both; infinite if one is finite and the other is
    not."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        gap = np.where(same, 0.0, np.abs(a - b))
    gap[np.isnan(gap)] = np.inf
    return float(np.max(gap)) if gap.size else 0.0


class Outputs:
    """Keras's results and their tolerances."""

    def __init__(self, model, draw, values, text, half, rng):
        self.single = run(model, values)
        if any(y.size == 0 for _, y in self.single):
            raise ValueError("an output is empty")
        self.double = None
        self.half = half
        self.rng = rng
        self.values = values
        keras.config.set_floatx("float64")
        keras.config.set_dtype_policy("float64")
        try:
            self.wide = in_float64(model, text)
            self.double = [y for _, y in run(self.wide, values)]
        except Exception as error:
            self.why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        finally:
            keras.config.set_floatx("float32")
            keras.config.set_dtype_policy("float32")
        self.names = output_names(model)
        self.spread = None

    def disturbed(self):
        """Returns the change of the float64 outputs if inputs and weights change by a unit in the last place."""
        if self.spread is None:
            unit = max([2.0**-24] + [HALF_UNIT[h] / 2 for h in self.half])
            self.spread = [0.0] * len(self.single)
            keras.config.set_floatx("float64")
            try:
                weights = self.wide.get_weights()
                for _ in range(DISTURBANCES):
                    move = lambda a: a * (1 + unit * self.rng.choice([-1, 1], np.shape(a))) if np.asarray(a).dtype.kind == "f" else a
                    self.wide.set_weights([move(w) for w in weights])
                    for i, (_, y) in enumerate(run(self.wide, {k: move(v) for k, v in self.values.items()})):
                        if y.dtype.kind == "f":
                            self.spread[i] = max(self.spread[i], difference(y, self.double[i]))
                        elif np.any(y != self.double[i]):
                            self.spread[i] = np.inf
                self.wide.set_weights(weights)
            finally:
                keras.config.set_floatx("float32")
        return self.spread

    def problems(self, got):
        """Returns sentences about differences in attn's outputs."""
        out = []
        if sorted(got) != sorted(self.names):
            return [f"outputs {sorted(got)}, Keras {sorted(self.names)}"]
        for i, name in enumerate(self.names):
            dtype, single = self.single[i]
            y = got[name]
            if tuple(y.shape) != tuple(single.shape):
                out.append(f"{name}: shape {y.shape}, Keras {single.shape}")
                continue
            if "float" not in dtype:
                if not np.array_equal(y.astype("float64"), single.astype("float64")):
                    unstable = self.double is None or not np.array_equal(self.double[i], single) or self.disturbed()[i] > 0
                    if not unstable:
                        out.append(f"{name} ({dtype}): {int(np.sum(y != single))} of {single.size} differ")
                continue
            y = y.astype("float64")
            if self.double is None:
                error = difference(y, single)
                tolerance = 1e-5 * largest(single) if dtype in ("float32", "float64") and not self.half else 0.02 * largest(single)
                if not error <= tolerance:
                    out.append(f"{name} ({dtype}): differs by {error:.3g} from Keras's own run (no float64 run: {self.why})")
                continue
            double = self.double[i]
            if self.half or dtype in HALF_UNIT:
                # If half precision overflows, Keras's own pattern is expected.
                wild = ~np.isfinite(single)
                if np.any(wild != ~np.isfinite(double)):
                    double = np.where(wild, single, double)
                unit = max([HALF_UNIT.get(dtype, 0.0)] + [HALF_UNIT[h] for h in self.half])
                own = difference(single, double)
                tolerance = max(2 * own, unit * largest(double))
            else:
                own = difference(single, double)
                if not np.isfinite(own):
                    continue  # overflow of float32 itself
                tolerance = max(4 * own, 1e-6 * largest(double), 1e-37)
            error = difference(y, double)
            if error <= tolerance or error <= 4 * self.disturbed()[i]:
                continue
            out.append(f"{name} ({dtype}): error {error:.3g}, Keras's own {own:.3g}, allowed {tolerance:.3g}, largest {largest(double):.3g}")
        return out


def halves(model, policy):
    """Returns the half-precision dtypes in which layers compute."""
    found = set()
    for layer in model._flatten_layers():
        for dtype in (layer.compute_dtype, layer.variable_dtype):
            if dtype in HALF_UNIT:
                found.add(dtype)
    for x in [t for op in getattr(model, 'operations', model.layers) for node in op._inbound_nodes for t in node.output_tensors]:
        if str(x.dtype) in HALF_UNIT:
            found.add(str(x.dtype))
    return found


def first_line(text):
    return text.splitlines()[0] if text else ""


def check(program, seed, index, attempt, options, folder, pool):
    """Returns (steps, problems) of one model; raises Unfit if Keras cannot run it."""
    draw, model, steps, policy, rng = draw_model(seed, index, attempt, options.only, options.steps)
    initial = written.values_of(model)
    randomise(model, rng)
    values = input_values(draw, model, rng)
    text = model.to_json()
    (folder / "model.json").write_text(text)
    model.save(folder / "model.keras")
    np.savez(folder / "inputs.npz", **values)
    paths = [v.path for v in model.weights]
    commands = Commands(program, folder, pool)
    for backend in BACKENDS:
        commands.start(backend, "run", folder / "model.keras", "--backend", backend, "--threads", 1, *inputs_argument(values, folder),
                       "-o", folder / f"{backend}.npz", "--quiet")
    widths = [(76, False), (int(rng.choice([100, 120])), True), (int(rng.choice([88, 100, 108, 120, 150])), False)]
    for width, expanded in widths:
        more = ["--expand-nested", "--show-trainable"] if expanded else []
        commands.start(("summary", width, expanded), "summary", folder / "model.json", "--line-length", width, "--quiet", *more)
    commands.start("config", "get-config", "--json", "--quiet", folder / "model.json")
    form = written.FORMS[index % len(written.FORMS)]
    commands.start("convert", "convert", folder / "model.keras", folder / f"converted{form}", "--quiet")
    commands.start("init", "init", folder / "model.json", "-o", folder / "initial.weights.h5", "--quiet")
    unique = len(set(paths)) == len(paths) and all(str(v.dtype) in ("float32", "float64", "float16", "int64") for v in model.weights)
    if paths and unique:
        np.savez(folder / "weights.npz", **{v.path: np.array(keras.ops.convert_to_numpy(v)) for v in model.weights})
        commands.start("paths", "run", folder / "model.json", "--weights", folder / "weights.npz", "--backend", "reference", "--threads", 1,
                       *inputs_argument(values, folder), "-o", folder / "by_path.npz", "--quiet")
    try:
        expected = Outputs(model, draw, values, text, halves(model, policy), rng)
    except Exception as error:
        for job in commands.jobs.values():
            job.result()
        raise Unfit(f"{type(error).__name__}: {str(error)[:150]}") from error

    problems = []
    code, out, error = commands.result("config")
    if code:
        problems.append(f"refused: {first_line(error)}")
    elif json.loads(out) != json.loads(text):
        problems.append("config: another JSON")
    else:
        text = out
    if code == 0:
        try:
            loaded = fresh(text)
        except Exception:  # Keras cannot load some of its own files
            loaded = model
        again = written.values_of(loaded)
        for width, expanded in widths:
            code, out, error = commands.result(("summary", width, expanded))
            wanted = summary(loaded, width, **({"expand_nested": True, "show_trainable": True} if expanded else {}))
            if code:
                problems.append(f"summary: {first_line(error)}")
            elif out != wanted and out != wanted + "\n":
                (folder / f"summary_{width}.keras.txt").write_text(wanted)
                (folder / f"summary_{width}.attn.txt").write_text(out)
                problems.append(f"summary at {width} columns{' expanded' if expanded else ''}")
        for name in [*BACKENDS, *(["paths"] if "paths" in commands.jobs else [])]:
            code, out, error = commands.result(name)
            if code:
                problems.append(f"{name}: {first_line(error)}")
                continue
            with np.load(folder / ("by_path.npz" if name == "paths" else f"{name}.npz")) as file:
                got = {key: file[key] for key in file.files}
            problems += [f"{name}: {problem}" for problem in expected.problems(got)]
        code, out, error = commands.result("convert")
        if code:
            problems.append(f"convert to {form}: {first_line(error)}")
        else:
            problems += [f"convert to {form}: {problem}" for problem in
                         written.problems(model, loaded, folder, folder / f"converted{form}", form, lambda: fresh(text))]
        code, out, error = commands.result("init")
        if code:
            problems.append(f"init: {first_line(error)}")
        elif loaded is not model:
            try:
                loaded.load_weights(folder / "initial.weights.h5")
                problems += [f"init: {problem}" for problem in
                             written.initializer_problems(initial, again, written.values_of(loaded))]
            except Exception as error:
                if written.keras_reads_its_own(model, folder, ".weights.h5", lambda: fresh(text)):
                    problems.append(f"init: {type(error).__name__}: {first_line(str(error))}")
    for job in commands.jobs.values():
        job.result()
    if problems:
        np.savez(folder / "expected.npz", **{n: y for n, (_, y) in zip(expected.names, expected.single)})
    return steps, policy, problems


def inputs_argument(values, folder):
    return ["--input", folder / "inputs.npz"] if values else []


def work(options):
    """Answers one line of JSON for every model number on stdin."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as scratch:
        for line in sys.stdin:
            index, attempt = map(int, line.split())
            folder = pathlib.Path(scratch) / str(index)
            folder.mkdir()
            answer = {"index": index}
            try:
                steps, policy, problems = check(options.attn, options.seed, index, attempt, options, folder, pool)
                problems = [problem.replace(f"attn: error: {folder}/", "") for problem in problems]
                answer.update(steps=steps, policy=policy, problems=problems)
                if problems:
                    (folder / "problems.txt").write_text("\n".join([" ".join(steps), *problems]) + "\n")
                    target = options.keep / f"{options.seed}_{index}"
                    shutil.rmtree(target, ignore_errors=True)
                    shutil.copytree(folder, target)
            except Unfit as error:
                answer["unfit"] = str(error)
            shutil.rmtree(folder)
            print(json.dumps(answer), flush=True)


class Worker(threading.Thread):
    """Passes model numbers to a separate process, because Keras may crash it."""

    def __init__(self, numbers, report):
        super().__init__()
        self.numbers, self.report = numbers, report

        self.process = None

    def run(self):
        for index in self.numbers:
            for attempt in range(ATTEMPTS):
                answer = self.ask(index, attempt)
                self.report(answer)
                if "unfit" not in answer:
                    break
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()

    def ask(self, index, attempt):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, *sys.argv, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(f"{index} {attempt}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        code, self.process = self.process.wait(), None
        return {"index": index, "unfit": f"Keras ended with {code}"}


class Score:
    def __init__(self, options):
        self.options = options
        self.passed = self.total = 0
        self.unfit = collections.Counter()
        self.lock = threading.Lock()

    def report(self, answer):
        with self.lock:
            if "unfit" in answer:
                self.unfit[answer["unfit"][:120]] += 1
                return
            problems = answer["problems"]
            self.total += 1
            self.passed += not problems
            if self.options.verbose or problems:
                print(f"{self.options.seed}_{answer['index']} [{answer['policy']}] {' '.join(answer['steps'])}: {'; '.join(problems) or 'equal'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--only", choices=sorted(FAMILIES))
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("random_models"))
    parser.add_argument("--steps", type=int, default=6, help="the most steps of one model")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return 0
    begin = time.time()
    score = Score(options)
    numbers = Shared(range(options.first, options.first + options.count))
    workers = [Worker(numbers, score.report) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if options.verbose:
        for why, count in score.unfit.most_common(15):
            print(f"not run by Keras: {count} × {why}")
    print(f"{score.total} models in {time.time() - begin:.0f} s; {sum(score.unfit.values())} more were drawn that Keras cannot run")
    print(f"{score.passed} of {score.total}")
    return 0 if score.passed == score.total else 1


class Shared:
    """An iterator for several threads."""

    def __init__(self, items):
        self.items, self.lock = iter(items), threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            return next(self.items)


if __name__ == "__main__":
    sys.exit(main())
