"""Trainings that resume from modified archives: a number or a type in the compile_config, in the regularizers and
constraints of layers, in attn_state.json, or an array of the optimizer. Each is trained, or rejected with one line."""
import concurrent.futures
import copy
import importlib.util
import io
import json
import random
import zipfile

from program import Folder
from scenario import make_inputs

OPTIMIZERS = ("sgd", "adam", "nadam", "rmsprop", "adafactor", "muon", "ftrl", "lion", "schedulefreeadamw")
VALUES = (0, 1, -1, 2, 0.5, -0.5, 1e39, 1e300, -1e300, 1e-300, 2**31, 2**40, 2**53, 2**62, -2**63, True, False, None, "",
          "none", "sum", "float16", "\x1b]0;x\x07", [], {}, [1], [None], {"a": 1}, [[[]]])
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


def changed(random_, value, path):
    """Returns the value with a replacement at the path, without it, or with a repeated key."""
    value = copy.deepcopy(value)
    if not path:
        return random_.choice(VALUES)
    inside, key = at(value, path[:-1]), path[-1]
    kind = random_.random()
    if kind < 0.1:
        del inside[key]
    elif kind < 0.2 and isinstance(inside[key], (int, float)):
        inside[key] = inside[key] * random_.choice((-1, 2, 1e6, 0))
    else:
        inside[key] = copy.deepcopy(random_.choice(VALUES))
    return value


def rewritten(members, **texts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), texts.get(name, data))
    return out.getvalue()


class Mutants:
    def __init__(self, attn, seed):
        self.attn, self.random, self.failures = attn, random.Random(f"training mutants {seed}"), []
        self.counts = {}

    def run(self, rounds):
        with Folder() as folder:
            make_inputs(self.attn, folder)
            seeds = [self.trained(folder, optimizer) for optimizer in OPTIMIZERS]
            for number in range(rounds):
                self.one(folder, self.random.choice(seeds), number)
        return self

    def trained(self, folder, optimizer):
        target = folder / f"{optimizer}.keras"
        done = self.attn.run(("train", "m.json", "--data", "t.npz", "--loss", "mse", "--metrics", "mae", "--optimizer", optimizer,
                              "--epochs", "1", "--batch-size", "2", "--quiet", "-o", target.name), folder)
        assert done.code == 0, done
        with zipfile.ZipFile(target) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

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

    def one(self, folder, members, number):
        kinds = [self.config, self.state]
        if importlib.util.find_spec("h5py") and importlib.util.find_spec("numpy"):
            kinds.append(self.array)
        kind = self.random.choice(kinds)
        target = folder / "mutant.keras"
        target.write_bytes(rewritten(members, **kind(members)))
        resumes = ("--resume",) if kind != self.config or self.random.random() < 0.5 else ()
        result = self.attn.run(("train", target.name, "--data", "t.npz", "-o", "out.keras", "--epochs", "2", "--batch-size", "2",
                                "--steps", "3", "--mem-limit", "1GB", "--quiet", *resumes), folder)
        self.counts[result.code] = self.counts.get(result.code, 0) + 1
        wrong_lines = len(result.error_lines()) != (1 if result.code else 0)
        if result.code not in (0, 1, 2, 3, 4) or wrong_lines or b"\x1b" in result.err:
            kept = self.attn.build / "robust-findings"
            kept.mkdir(exist_ok=True)
            name = f"{kind.__name__}-{self.random.randrange(10**9)}.keras"
            (kept / name).write_bytes(target.read_bytes())
            self.failures.append(f"{kind.__name__} {number}, kept as {kept / name}: {result}")


def check(attn, _, jobs, short):
    rounds = 60 if short else 20000 // jobs
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda seed: Mutants(attn, seed).run(rounds), range(jobs)))
    codes = {}
    for one in done:
        for code, count in one.counts.items():
            codes[code] = codes.get(code, 0) + count
    failures = [failure for one in done for failure in one.failures]
    if not codes.get(0) or not codes.get(3):  # the command line is wrong, not the archives
        failures.append("no archive was trained, or none refused")
    told = ", ".join(f"{count} ended with {code}" for code, count in sorted(codes.items()))
    return f"{rounds * jobs} archives: {told}", failures
