"""Checks attn against Keras for every single layer, in each dtype policy.

    python tests/oracle/check_policies.py ATTN [--only CLASS …] [--policies POLICY …] [--keep DIR]

The classes are those of `attn get-config --list layers` for which layer_models.py has a model. Keras saves each model, and
compared.py compares it. If the output is floating and the layer has weights, this includes one step of SGD on a mean squared
error. A step that attn rejects in one sentence is shown as "refused". The last line is the score.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402
import numpy as np  # noqa: E402

import compared  # noqa: E402
import layer_models  # noqa: E402
from compared import BATCH, POLICIES  # noqa: E402

warnings.filterwarnings("ignore")

BAD_INPUT = 3


def known_classes(attn):
    """The layers of Keras that attn runs, and those of KerasHub that have a model here."""
    listed = json.loads(compared.run(attn, "get-config", "--list", "layers", "--format", "json"))
    runs = [row for row in listed["classes"] if row["refused"] is None and row["name"] not in layer_models.NOT_ALONE]
    return [row["name"] for row in runs if row["package"] is None or row["name"] in layer_models.MODELS]


def numbers_for(model, rng):
    out = {}
    for x in model.inputs:
        shape = (BATCH, *x.shape[1:])
        if "int" in x.dtype:
            out[x.name] = rng.integers(0, min(6, layer_models.VOCABULARY), shape).astype(x.dtype)
        else:
            out[x.name] = rng.normal(size=shape).astype("float32")
    return out


def trains(model):
    return bool(model.trainable_weights) and "float" in model.output.dtype


def compare(attn, folder, name, policy):
    model = compared.made(policy, layer_models.MODELS[name])
    rng = np.random.default_rng(1)
    arrays = numbers_for(model, rng)
    if not trains(model):
        return str(row := compared.compare(attn, folder, model, arrays, policy)), row.wrong
    compared.compiled(policy, model, "mse", keras.optimizers.SGD(0.1))
    targets = rng.normal(size=np.shape(model(list(arrays.values()) if len(arrays) > 1 else next(iter(arrays.values())))))
    try:
        row = compared.compare(attn, folder, model, arrays | {"y": targets.astype("float32")}, policy)
        return str(row), row.wrong
    except compared.Rejected as error:
        if error.code != BAD_INPUT or not error.args[0].startswith("train: "):
            raise
        row = compared.compare(attn, folder, model, arrays, policy)
        return f"{row}   refused: {error.message.strip().splitlines()[0][-60:]}", row.wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attn")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--policies", nargs="*", default=POLICIES)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    attn = pathlib.Path(arguments.attn).resolve()
    right = total = 0
    print(f"{'layer':30}{'policy':16}{compared.Row.HEAD}")
    for name in known_classes(attn):
        if arguments.only and name not in arguments.only:
            continue
        for policy in arguments.policies:
            total += 1
            with tempfile.TemporaryDirectory() as folder:
                try:
                    told, wrong = compare(attn, pathlib.Path(folder), name, policy)
                except compared.Rejected as error:
                    told = wrong = f"{error}   ← attn"
                except KeyError:
                    told = wrong = "layer_models.py has no model of it"
                except Exception as error:
                    told, wrong = f"Keras cannot: {type(error).__name__}: {' '.join(str(error).split())[:90]}", ""
                print(f"{name:30}{policy:16}{told}", flush=True)
                right += not wrong
                if wrong and arguments.keep:
                    shutil.copytree(folder, arguments.keep / f"{name}_{policy}", dirs_exist_ok=True)
    print(f"{right} of {total}")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
