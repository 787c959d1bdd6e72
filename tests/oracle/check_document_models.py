"""Compares attn with Keras for the models that Keras's documentation trains, in each dtype policy.

    python tests/oracle/check_document_models.py ATTN [--only MODEL …] [--policies POLICY …] [--keep DIR]

Keras compiles and saves each model of document_models.py; compared.py describes the comparison. The last line is the score.
"""
import argparse
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
import document_models  # noqa: E402
from compared import BATCH, POLICIES  # noqa: E402

warnings.filterwarnings("ignore")


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


def compare(attn, folder, name, policy):
    loss, optimizer = document_models.COMPILED[name]
    model = compared.compiled(policy, compared.made(policy, document_models.MODELS[name]), loss, optimizer())
    return compared.compare(attn, folder, model, numbers_for(model, np.random.default_rng(1)), policy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attn")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--policies", nargs="*", default=POLICIES)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    attn = pathlib.Path(arguments.attn).resolve()
    right = total = 0
    print(f"{'model':26}{'policy':16}{compared.Row.HEAD}")
    for name in document_models.MODELS:
        if arguments.only and name not in arguments.only:
            continue
        for policy in arguments.policies:
            total += 1
            with tempfile.TemporaryDirectory() as folder:
                try:
                    row = compare(attn, pathlib.Path(folder), name, policy)
                    told, wrong = str(row), row.wrong
                except compared.Rejected as error:
                    told = wrong = f"{error}   ← attn"
                print(f"{name:26}{policy:16}{told}", flush=True)
                right += not wrong
                if wrong and arguments.keep:
                    shutil.copytree(folder, arguments.keep / f"{name}_{policy}", dirs_exist_ok=True)
    print(f"{right} of {total}")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
