"""Checks attn against Keras for every operation of keras.ops that can be part of a model.

    python tests/oracle/check_operations.py ATTN [--only NAME …] [--dtypes DTYPE …] [--keep DIR]

Keras saves a model for each operation of classes_of_keras.py and for each activation. With --dtypes, floating inputs have
these dtypes instead of float32. Two results are compared:

    summary   byte for byte at 80 columns
    run       each output: its dtype, its shape, and its numbers within TOLERANCE of the largest one; NaN and infinities
              are where Keras has them

A model that Keras cannot load or run is not compared, and its line gives the reason. attn must also reject an activation
that Keras rejects. If attn does not support an operation, or not for the dtype of its inputs, it must reject it by name, in
one sentence, with exit code 3. The last line is the score.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import warnings
import zlib

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402
import numpy as np  # noqa: E402

import compared  # noqa: E402
from classes_of_keras import activations, made_operations, operation_classes, tensor  # noqa: E402

warnings.filterwarnings("ignore")

TOLERANCE = 2e-5
BAD_INPUT = 3
# No operations: bases of others, and models.
NO_OPERATIONS = ("Function", "SegmentReduction")
# Matrices that have a decomposition, numbers below others, and the like, by class.
SYMMETRIC = ("Cholesky", "CholeskyInverse", "Eigh", "Inv", "Det", "Logdet", "Solve", "SolveTriangular", "LuFactor")
GREATEST = {"Scatter": 5, "ScatterUpdate": 5, "Take": 2, "TakeAlongAxis": 2, "UnravelIndex": 6,
            "SegmentSum": 3, "SegmentMax": 3, "SegmentMin": 3, "SegmentProd": 3, "SparseCategoricalCrossentropy": 3}
# Operations that no function of their own name creates.
ALIASES = {name: lambda dtype: [tensor(2, 3, dtype=dtype)] for name in ("Abs", "Conj")}


def operation_models(dtype):
    """Yields the name of each class, and a function that makes a model of it; None if Keras cannot make one."""
    classes, made = operation_classes(), made_operations()
    for name, thing in classes.items():
        if name in NO_OPERATIONS:
            continue
        if name in made:
            operation, result = made[name]
            if dtype == "float32":
                yield name, lambda operation=operation, result=result: keras.Model(operation.input, result)
            elif any("float" in x.dtype for x in keras.tree.flatten(operation.input)):
                yield name, lambda operation=operation: with_dtype(operation, dtype)
        elif name in ALIASES:
            yield name, lambda thing=thing, name=name: model_of_call(thing(), ALIASES[name](dtype))
        elif dtype == "float32":
            yield name, None
    for name in activations():
        if name != "threshold":  # it needs arguments
            yield name, lambda name=name: model_of_call(keras.layers.Activation(name), [tensor(2, 4, dtype=dtype)])


def model_of_call(operation, inputs):
    return keras.Model(inputs, operation(*inputs))


def with_dtype(operation, dtype):
    """Returns a model with the same call, whose floating inputs have another dtype."""
    inputs, node = [], operation._inbound_nodes[0]

    def other(value):
        if isinstance(value, keras.KerasTensor):
            value = tensor(*value.shape, dtype=dtype if "float" in value.dtype else value.dtype)
            inputs.append(value)
        return value

    args, kwargs = (keras.tree.map_structure(other, part) for part in (node.arguments.args, node.arguments.kwargs))
    return keras.Model(inputs, type(operation).from_config(operation.get_config())(*args, **kwargs))


def numbers_for(model, name, rng):
    """Returns random values for the inputs, in order."""
    out = []
    for x in model.inputs:
        shape = tuple(3 if size is None else size for size in x.shape)
        if x.dtype == "bool":
            value = rng.random(shape) < 0.5
        elif "int" in x.dtype:
            value = rng.integers(0, GREATEST[name], shape) if name in GREATEST else rng.integers(-1, 4, shape)
            value = np.sort(value) if name == "SearchSorted" and not out else value
        else:
            value = rng.normal(size=shape)
            if name in SYMMETRIC and len(shape) > 1 and shape[-1] == shape[-2]:
                value = value @ np.swapaxes(value, -1, -2) + 2.0 * np.eye(shape[-1])
            if name in ("SearchSorted", "Digitize") and len(out) == (name == "Digitize"):
                value = np.sort(value)
        out.append(np.asarray(value).astype(x.dtype))
    return out


def plain(value):
    """Converts a result to an array that NumPy files can hold."""
    value = np.int32(value) if isinstance(value, int) else keras.ops.convert_to_numpy(value)
    return value.astype("float32") if str(value.dtype) == "bfloat16" else value


def differences(found, wanted):
    out = []
    for at, (own, right) in enumerate(zip(found, wanted)):
        if own.dtype != right.dtype or own.shape != right.shape:
            out.append(f"output {at} is {own.dtype} {own.shape}, Keras's {right.dtype} {right.shape}")
            continue
        a, b = own.astype("float64"), right.astype("float64")
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        finite = np.isfinite(a) & np.isfinite(b)
        size = max(float(np.max(np.abs(b[finite]), initial=0.0)), 1e-3)
        if not np.all(same | finite):
            out.append(f"output {at} is not finite where Keras's is, or the other way round")
        elif (off := float(np.max(np.abs(a - b)[finite & ~same], initial=0.0)) / size) > TOLERANCE:
            out.append(f"output {at} is off by {off:.2g}")
    return out if len(found) == len(wanted) else [f"{len(found)} outputs instead of {len(wanted)}"]


def refusal_problem(name, error):
    lines = error.message.strip().splitlines()
    if error.code != BAD_INPUT:
        return f"exit {error.code}: {error.message.strip()[-150:]}"
    if len(lines) != 1 or (f"'{name}' is refused: " not in lines[0] and f": {name} '" not in lines[0]):
        return f"no refusal by name: {error.message.strip()[-150:]}"
    return ""


def check_unmade(attn, folder, name):
    """Checks an operation that Keras cannot create here, with a config that names it."""
    x = tensor(2, 3)
    config = json.loads(keras.Model(x, keras.ops.sin(x)).to_json())
    config["config"]["layers"][-1] |= {"class_name": name, "registered_name": name, "module": operation_classes()[name].__module__}
    path = folder / "model.json"
    path.write_text(json.dumps(config))
    try:
        compared.run(attn, "summary", path)
    except compared.Rejected as error:
        return "refused" if not refusal_problem(name, error) else "", refusal_problem(name, error)
    return "", "accepted, and Keras cannot make one"


def check(attn, folder, name, make):
    """Returns the outcome and the problem; both may be empty."""
    if make is None:
        return check_unmade(attn, folder, name)
    path, data, found = folder / "model.keras", folder / "x.npz", folder / "y.npz"
    try:
        model = make()
        model.save(path)
        read = keras.models.load_model(path)
    except Exception as error:
        return f"Keras does not make it: {type(error).__name__}", ""
    values = numbers_for(model, name, np.random.default_rng(zlib.crc32(name.encode())))
    np.savez(data, **{x.name: value for x, value in zip(read.inputs, values)})
    try:
        outputs = [plain(y) for y in keras.tree.flatten(read(values if len(values) > 1 else values[0], training=False))]
    except Exception as error:
        outputs, failure = None, type(error).__name__
    try:
        shown = compared.run(attn, "summary", path, "--line-length", 80)
        compared.run(attn, "run", path, "--input", data, "--output", found)
    except compared.Rejected as error:
        if outputs is None and error.code == BAD_INPUT:
            return f"both reject it: {failure}", ""
        problem = refusal_problem(name, error)
        return "" if problem else "refused", problem
    if outputs is None:
        return f"Keras cannot run it: {failure}", "attn runs it" if name in activations() else ""
    wrong = [] if shown == compared.summary_of(read) else ["the summary differs"]
    with np.load(found) as file:
        own = [file[key] for key in file.files]
    return "equal", "; ".join(wrong + differences(own, outputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attn")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--dtypes", nargs="*", default=["float32"])
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    attn = pathlib.Path(arguments.attn).resolve()
    right = total = 0
    for dtype, name, make in ((dtype, *rest) for dtype in arguments.dtypes for rest in operation_models(dtype)):
        if arguments.only and name not in arguments.only:
            continue
        total += 1
        with tempfile.TemporaryDirectory() as folder:
            happened, wrong = check(attn, pathlib.Path(folder), name, make)
            print(f"{name:32}{dtype:10}{happened}{'   ← ' + wrong if wrong else ''}", flush=True)
            right += not wrong
            if wrong and arguments.keep:
                shutil.copytree(folder, arguments.keep / f"{name}_{dtype}", dirs_exist_ok=True)
    print(f"{right} of {total}")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
