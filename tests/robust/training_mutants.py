"""Trainings that start or resume from modified archives: a number or a type in the compile_config, in the regularizers and
constraints of layers, in attn_state.json, or an array of the optimizer. Each is rejected with one line, or trained, and then
its result opens. The archives are those of Keras in tests/data/training, and one for each kind of state of an optimizer."""
import concurrent.futures
import copy
import importlib.util
import io
import json
import random
import zipfile
from dataclasses import dataclass

from program import ROOT, Folder, limited
from scenario import make_inputs

DATA = ROOT / "tests/data/training"
LIMITS = limited(memory=1 << 30, seconds=10)

OPTIMIZERS = ("sgd", "adam", "nadam", "rmsprop", "adafactor", "muon", "ftrl", "lion", "schedulefreeadamw")
VALUES = (0, 1, -1, 2, 0.5, -0.5, 1e39, 1e300, -1e300, 1e-300, 2**31, 2**40, 2**53, 2**62, -2**63, True, False, None, "",
          "none", "sum", "float16", "\x1b]0;x\x07", [], {}, [1], [None], {"a": 1}, [[[]]])
NUMBERS = (0, 1, 2, 3, 7, 100, 0.0, 0.5, 0.9, 0.999, 1.0, 1e-7, 1e4, 1e38, 3.5e38, -0.5, -1)
NAMES = ("mse", "mae", "categorical_crossentropy", "sparse_categorical_crossentropy", "binary_crossentropy", "accuracy", "auto",
         "sum", "mean", "none", "mean_with_sample_weight", "float32", "float16", "bfloat16", "float64", "Adam", "SGD", "Lion", "Nadam",
         "Muon", "Adafactor", "CosineDecay", "PolynomialDecay", "L2", "L1L2", "MaxNorm", "UnitNorm", "LossScaleOptimizer",
         "MeanSquaredError", "CategoricalCrossentropy", "Accuracy", "AUC", "TopKCategoricalAccuracy", "x", "")
OBJECTS = (("L1", ("l1",)), ("L2", ("l2",)), ("L1L2", ("l1", "l2")), ("OrthogonalRegularizer", ("factor",)), ("NonNeg", ()),
           ("MaxNorm", ("max_value",)), ("MinMaxNorm", ("min_value", "max_value", "rate")), ("UnitNorm", ()))
# In the configs of layers, only keys that act in training: other checks cover the rest.
TRAINED = ("regularizer", "constraint")


def places(value, path=()):
    """Returns the paths of all values in a JSON value, including itself."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def replaced(random_, value):
    """Returns another value: mostly one of the same type, which passes the first checks."""
    kind = random_.random()
    if isinstance(value, bool) and kind < 0.5:
        return not value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and kind < 0.7:
        scale = random_.choice((-1, 2, 1e3, 1e-3, 1e6, 1e20, 0))
        return type(value)(value * scale) if kind < 0.35 else random_.choice(NUMBERS)
    if isinstance(value, str) and kind < 0.7:
        return random_.choice(NAMES)
    if value is None and kind < 0.7:
        return config_of(random_)
    return copy.deepcopy(random_.choice(VALUES))


def config_of(random_):
    """Returns the config of a regularizer or a constraint with a number of any size."""
    name, fields = random_.choice(OBJECTS)
    return {"module": "keras", "class_name": name, "config": {field: random_.choice(NUMBERS) for field in fields},
            "registered_name": None}


def changed(random_, value, path):
    """Returns the value with a replacement at the path, or without it."""
    value = copy.deepcopy(value)
    if not path:
        return random_.choice(VALUES)
    inside, key = at(value, path[:-1]), path[-1]
    if random_.random() < 0.1:
        del inside[key]
    else:
        inside[key] = replaced(random_, inside[key])
    return value


def rewritten(members, **texts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), texts.get(name, data))
    return out.getvalue()


@dataclass(frozen=True)
class Trained:
    """An archive after one epoch, with the state of its optimizer."""
    members: dict
    data: str  # the file with its inputs and targets


def compiled(source, compile_config):
    """Returns the bytes of an archive with another compile_config, or with its own if that is None."""
    if compile_config is None:
        return source.read_bytes()
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"]) | {"compile_config": json.loads(compile_config.read_text())}
    return rewritten(members, **{"config.json": json.dumps(config)})


def archives_of_keras():
    """Returns (archive, compile_config or None) of the cases. Those of optimizer/ and option/ share an archive."""
    return ([(path, None) for path in sorted(DATA.glob("*/*/start.keras"))] +
            [(DATA / "optimizer/start.keras", path) for path in sorted(DATA.glob("*/*/compile.json"))])


class Mutants:
    def __init__(self, attn, seed):
        self.attn, self.random, self.failures = attn, random.Random(f"training mutants {seed}"), []
        self.counts = {}

    def run(self, rounds, of_keras):
        with Folder() as folder:
            make_inputs(self.attn, folder)
            seeds = [self.of_optimizer(folder, optimizer) for optimizer in OPTIMIZERS]
            known = archives_of_keras()
            seeds += [self.of_keras(folder, *case) for case in self.random.sample(known, min(of_keras, len(known)))]
            for number in range(rounds):
                self.one(folder, self.random.choice(seeds), number)
        return self

    def of_optimizer(self, folder, optimizer):
        return self.trained(folder, "t.npz", "m.json", "--loss", "mse", "--metrics", "mae", "--optimizer", optimizer)

    def of_keras(self, folder, archive, compile_config):
        case = (compile_config or archive).parent
        data = case / "data.npz" if (case / "data.npz").exists() else archive.parent / "data.npz"
        (folder / "start.keras").write_bytes(compiled(archive, compile_config))
        return self.trained(folder, str(data), "start.keras")

    def trained(self, folder, data, *words):
        target = folder / "trained.keras"
        done = self.attn.run(("train", *words, "--data", data, "--epochs", "1", "--batch-size", "2", "--steps", "3",
                              "--quiet", "-o", target.name), folder)
        assert done.code == 0, (words, done)
        with zipfile.ZipFile(target) as archive:
            return Trained({name: archive.read(name) for name in archive.namelist()}, data)

    def config(self, members):
        config = json.loads(members["config.json"])
        wanted = [path for path in places(config)
                  if path[:1] == ("compile_config",) or any(str(key).endswith(TRAINED) for key in path)]
        return {"config.json": json.dumps(changed(self.random, config, self.random.choice(wanted)))}

    def state(self, members):
        state = json.loads(members["attn_state.json"])
        text = json.dumps(changed(self.random, state, self.random.choice(list(places(state)))))
        if self.random.random() < 0.1:
            cut = self.random.randrange(len(text) + 1)
            text = text[:cut] + self.random.choice(("", "\0", "{", "]", text)) + text[cut:]
        return {"attn_state.json": text}

    def array(self, members):
        import h5py
        import numpy as np
        data = io.BytesIO(members["model.weights.h5"])
        with h5py.File(data, "r+") as file:
            names = []
            file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
            optimizer = [name for name in names if name.startswith("optimizer")]
            name = self.random.choice(optimizer or names)
            old = file[name]
            shape = self.random.choice((old.shape, (), (0,), (1,), (7,), (3, 3), (*old.shape, 1), (1000,)))
            dtype = self.random.choice(("f4", "f8", "f2", "i8", "i4", "u1", "?"))
            value = self.random.choice((0.0, 1.0, -1.0, 1e30, np.inf, -np.inf, np.nan))
            with np.errstate(all="ignore"):
                new = np.full(shape, value).astype(dtype)
            del file[name]
            if self.random.random() < 0.2:
                name = "optimizer/attn/unsaved/0"
                if name in file:
                    del file[name]
            file[name] = new
        return {"model.weights.h5": data.getvalue()}

    def one(self, folder, trained, number):
        kinds = [self.config, self.state]
        if importlib.util.find_spec("h5py") and importlib.util.find_spec("numpy"):
            kinds.append(self.array)
        kind = self.random.choice(kinds)
        source, target = folder / "mutant.keras", folder / "out.keras"
        source.write_bytes(rewritten(trained.members, **kind(trained.members)))
        target.unlink(missing_ok=True)
        resumes = ("--resume",) if kind != self.config or self.random.random() < 0.5 else ()
        result = self.attn.run(("train", source.name, "--data", trained.data, "-o", target.name, "--epochs", "2", "--batch-size",
                                "2", "--steps", "3", "--mem-limit", "1GB", "--quiet", *resumes), folder, preexec_fn=LIMITS)
        self.counts[result.code] = self.counts.get(result.code, 0) + 1
        if trouble := self.trouble(folder, result, target):
            kept = self.attn.build / "robust-findings"
            kept.mkdir(exist_ok=True)
            name = f"{kind.__name__}-{self.random.randrange(10**9)}.keras"
            (kept / name).write_bytes(source.read_bytes())
            self.failures.append(f"{kind.__name__} {number} with {trained.data}, kept as {kept / name}: {trouble}")

    def trouble(self, folder, result, target):
        """Returns what is wrong with a run, or nothing."""
        wrong_lines = len(result.error_lines()) != (1 if result.code else 0)
        if result.code not in (0, 1, 2, 3, 4) or wrong_lines or b"\x1b" in result.err:
            return result
        if result.code:
            return "there is a result beside the error" if target.exists() and result.code > 1 else None
        reopened = self.attn.run(("summary", target.name), folder, preexec_fn=LIMITS)
        return None if reopened.code == 0 else f"the result does not open: {reopened}"


def check(attn, _, jobs, short):
    rounds, of_keras = (60, 6) if short else (20000 // jobs, 1000)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda seed: Mutants(attn, seed).run(rounds, of_keras), range(jobs)))
    codes = {}
    for one in done:
        for code, count in one.counts.items():
            codes[code] = codes.get(code, 0) + count
    failures = [failure for one in done for failure in one.failures]
    if not codes.get(0) or not codes.get(3):  # the command line is wrong, not the archives
        failures.append("no archive was trained, or none refused")
    told = ", ".join(f"{count} ended with {code}" for code, count in sorted(codes.items()))
    return f"{rounds * jobs} archives: {told}", failures
