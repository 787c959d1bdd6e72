"""kill -9 during training: resuming from the last checkpoint ends with the bits of an uninterrupted training, and
Keras's file is complete at any time."""
import concurrent.futures
import hashlib
import random
import re
import time

from program import Folder
from scenario import make_inputs
from writer import is_whole

TRAINING = ("train", "--data", "t.npz", "--batch-size", "1", "--epochs", "6", "--validation-split", "0.5", "--quiet",
            "--early-stopping", "patience=9,restore_best_weights", "--reduce-lr", "patience=1,factor=0.5,min_delta=1")
MOST_RUNS = 60
PATIENCE = 1.1  # factor of the time limit from run to run: a machine under load is slow


def dump_of(folder, name):
    return hashlib.sha256((folder / name).read_bytes()).digest()


class Trainings:
    def __init__(self, attn, seed):
        self.attn, self.random = attn, random.Random(f"training {seed}")
        self.failures, self.kills = [], 0

    def run(self, rounds):
        with Folder() as folder:
            make_inputs(self.attn, folder)
            start = ("m.json", "--loss", "mse", "-o")
            begun = time.monotonic()
            whole = self.attn.run((*TRAINING, *start, "whole.keras", "--dump", "whole.npz"), folder)
            took = time.monotonic() - begun
            if whole.code != 0:
                self.failures.append(f"the training itself: {whole}")
                return self
            expected = dump_of(folder, "whole.npz")
            for number in range(rounds):
                self.one(folder, start, number, took, expected)
        return self

    def one(self, folder, start, number, took, expected):
        """Kills a training repeatedly until it is done."""
        target = folder / f"k{number}.keras"
        for attempt in range(MOST_RUNS):
            begins = not target.exists()
            words = ((*TRAINING, *start, target.name) if begins else
                     (*TRAINING, target.name, "-o", target.name, "--resume"))
            process = self.attn.start((*words, "--save-every", "1steps", "--keep", "2", "--dump", "killed.npz"), folder)
            try:
                process.communicate(timeout=took * self.random.uniform(0.3, 1.6) * PATIENCE**attempt)
            except Exception:
                process.kill()
                process.communicate()
                self.kills += 1
            if target.exists() and not is_whole(target):
                self.failures.append(f"round {number}: a torn checkpoint of {target.stat().st_size} bytes")
                return
            if process.returncode == 0:
                if dump_of(folder, "killed.npz") != expected:
                    self.failures.append(f"round {number}: other bits than those of a training that was never stopped")
                self.check_names(folder, number)
                return
            if process.returncode > 0:
                self.failures.append(f"round {number}: ends with {process.returncode}")
                return
        self.failures.append(f"round {number}: not done after {MOST_RUNS} runs")

    def check_names(self, folder, number):
        """Checks that after any kill the model and its last two checkpoints are left, and no hidden file."""
        left = [each for each in folder.iterdir() if each.name.lstrip(".").startswith(f"k{number}.")]
        wrong = [each.name for each in left if not re.fullmatch(rf"k{number}(\.step\d+)?\.keras", each.name)]
        if wrong or len(left) > 3:
            self.failures.append(f"round {number}: left {sorted(each.name for each in left)}")
        for each in left:
            each.unlink()


def check(attn, _, jobs, short):
    rounds = 3 if short else 250
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda seed: Trainings(attn, seed).run(rounds), range(jobs)))
    kills = sum(one.kills for one in done)
    return (f"{rounds * jobs} trainings with {kills} kills in all", [failure for one in done for failure in one.failures])
