"""Compares attn with Keras for training in which one layer or all layers have another dtype policy.

    python tests/oracle/check_training_policies.py ATTN [--seed N] [--count N] [--first N] [--keep DIR]

Trial i of seed s is always the same. It takes the next model of tests/data/training and sets the dtype of one random layer, or
of all layers, to float16, bfloat16 or float64. Keras loads and saves the result. attn and Keras then train it for one epoch.
The loss of the epoch and all weights at its end are compared as in compared.py. If Keras's results are not finite, attn may
stop. The last line is the score.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import warnings
import zipfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402
import keras_hub  # noqa: E402, F401  registers its layers
import numpy as np  # noqa: E402

import compared  # noqa: E402

warnings.filterwarnings("ignore")

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "training"
POLICIES = ("float16", "bfloat16", "float64")


def cases():
    """Returns (archive, data, compile config or None) of each case. Cases of optimizer/ and option/ share an archive. Low-rank
    additions are left out: Keras loads both of their factors as zeros, which do not train."""
    shared = DATA / "optimizer"
    out = [(path, path.parent / "data.npz", None) for path in DATA.glob("*/*/start.keras") if "lora" not in path.parts]
    return sorted(out) + [(shared / "start.keras", shared / "data.npz", path) for path in sorted(DATA.glob("*/*/compile.json"))]


def policies_in(config):
    """Returns the configs of the layers in a config, at any depth, that have a dtype policy."""
    out = []
    for value in config.values() if isinstance(config, dict) else config if isinstance(config, list) else ():
        out += policies_in(value)
    if isinstance(config, dict) and isinstance(config.get("config"), dict):
        dtype = config["config"].get("dtype")
        if isinstance(dtype, dict) and config.get("class_name") != "InputLayer":
            out.append(config["config"])
    return out


def changed(source, target, policy, random, compile_config):
    """Writes the archive with a changed policy, and returns the names of the layers that have it."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "config.json":
                config = json.loads(data)
                if compile_config:
                    config["compile_config"] = json.loads(compile_config.read_text())
                layers = policies_in(config["config"].get("layers", []))
                chosen = layers if random.integers(2) else [layers[random.integers(len(layers))]]
                for layer in chosen:
                    layer["dtype"] = policy
                data = json.dumps(config)
            new.writestr(name, data)
    keras.models.load_model(target).save(target)
    return "all" if len(chosen) > 1 else chosen[0]["name"]


def weights_of(model):
    return {v.path: compared.as_array(v) for v in model.weights if "seed_generator" not in v.path}


class Training:
    """Keras's results for an archive after one epoch."""

    def __init__(self, start, arrays, batch, jit=False, seed=None):
        keras.utils.clear_session()
        model = keras.models.load_model(start)
        model.jit_compile = jit and not compared.draws(model)
        self.first = weights_of(model)
        if seed is not None:
            compared.nudge(model, seed)
        targets = {key[2:]: value for key, value in arrays.items() if key.startswith("y:")} or arrays["y"]
        self.loss = model.fit([arrays[x.name] for x in model.inputs], targets, sample_weight=arrays.get("sample_weight"),
                              batch_size=batch, shuffle=False, verbose=0).history["loss"][0]
        self.weights = weights_of(model)
        # Keras scales the loss if the policy of the process is mixed_float16, attn if a layer computes in float16.
        self.scales_loss = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)

    def is_finite(self):
        return np.isfinite(self.loss) and all(np.isfinite(array).all() for array in self.weights.values())


def compare(attn, folder, start, data, batch, policy):
    arrays = dict(np.load(data))
    own = Training(start, arrays, batch)
    scaling = [] if own.scales_loss else ["--loss-scale", "none"]
    trained, row = folder / "trained.keras", compared.Row()
    try:
        told = json.loads(compared.run(attn, "train", start, "--data", data, "-o", trained, "--no-shuffle", "--batch-size", batch,
                                       "--epochs", 1, *scaling, "--json"))
    except compared.Rejected as error:
        if not own.is_finite() and error.code == 1 and "is not finite" in error.message:
            return "neither is finite", ""
        raise
    if not own.is_finite():
        return "Keras is not finite", ""
    others = compared.Others(*compared.other_ways(lambda **way: Training(start, arrays, batch, **way)))
    found, unit, loss = weights_of(keras.models.load_model(trained)), compared.UNIT[policy], told["history"]["loss"][0]
    row.add("loss", abs(loss / own.loss - 1), compared.LEAST * unit / 2, others.each(lambda x: abs(x.loss / own.loss - 1)))
    row.add("step", compared.distance(found, own), compared.LEAST * unit,
            others.each(lambda x: compared.distance(x.weights, own)))
    return str(row), row.wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=241)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    attn, known = pathlib.Path(arguments.attn).resolve(), cases()
    right = 0
    print(f"{'trial':6}{'model':32}{'policy':10}{'layer':24}{'loss':>9}{'own':>9}{'step':>10}{'own':>9}")
    for index in range(arguments.first, arguments.first + arguments.count):
        random = np.random.default_rng([arguments.seed, index])
        archive, data, compile_config = known[index % len(known)]
        folder_of_case, policy = (compile_config or archive).parent, POLICIES[random.integers(3)]
        meta = json.loads((folder_of_case / "meta.json").read_text())
        layer = "-"
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            try:
                layer = changed(archive, folder / "start.keras", policy, random, compile_config)
                told, wrong = compare(attn, folder, folder / "start.keras", data, meta["batch"], policy)
            except compared.Rejected as error:
                told = wrong = f"{error}   ← attn"
            except Exception as error:
                told, wrong = f"Keras cannot: {type(error).__name__}: {' '.join(str(error).split())[-110:]}", ""
            print(f"{index:<6}{str(folder_of_case.relative_to(DATA)):32}{policy:10}{layer:24}{told}", flush=True)
            right += not wrong
            if wrong and arguments.keep:
                shutil.copytree(folder, arguments.keep / f"{arguments.seed}_{index}", dirs_exist_ok=True)
    print(f"{right} of {arguments.count}")
    return 0 if right == arguments.count else 1


if __name__ == "__main__":
    sys.exit(main())
