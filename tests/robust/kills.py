"""kill -9 at random times: an output is missing, the old one or a complete new one, and few files are left behind."""
import concurrent.futures
import hashlib
import os
import random
import time

from program import Folder, temporaries
from sweep import OLD
from writer import is_whole, make_model, writers


TIMED = ("manifest.json", "y.html", "y.keras")  # they contain the time of writing


class Kills:
    def __init__(self, attn, writer, seed):
        self.attn, self.writer = attn, writer
        self.random = random.Random(f"{writer.name} {seed}")
        self.failures, self.states, self.most_left = [], {"absent": 0, "old": 0, "new": 0}, 0

    def state_of(self, path, first):
        if not path.exists():
            return "absent"
        data = path.read_bytes()
        if data == OLD:
            return "old"
        if not is_whole(path):
            return f"torn: {len(data)} bytes"
        # Outputs without times must be equal to the byte.
        if first is not None and hashlib.sha256(data).digest() != first:
            return "other bytes"
        return "new"

    def run(self, kills):
        with Folder() as folder:
            make_model(folder)
            target = folder / "target"
            target.mkdir()
            words = self.writer.argv("target")
            start = time.monotonic()
            assert self.attn.run(words, folder).code == 0
            took = max(0.01, time.monotonic() - start)
            digests = {}
            assert self.attn.run(words, folder).code == 0
            for name in self.writer.outputs:
                digest = hashlib.sha256((target / name).read_bytes()).digest()
                digests[name] = digest if name not in TIMED else None
            for i in range(kills):
                for name in self.writer.outputs:
                    if i % 2:
                        (target / name).write_bytes(OLD)
                    elif (target / name).exists():
                        os.unlink(target / name)
                process = self.attn.start(words, folder)
                # Most of them late, during the writing.
                time.sleep(took * (0.4 + 0.7 * self.random.random()) if i % 4 else took * self.random.random())
                process.kill()
                process.communicate()
                states = [self.state_of(target / name, digests[name]) for name in self.writer.outputs]
                for name, state in zip(self.writer.outputs, states):
                    if state not in self.states:
                        self.failures.append(f"{self.writer.name}: {name} is {state}")
                    else:
                        self.states[state] += 1
                self.most_left = max(self.most_left, len(temporaries(target)))
                if self.most_left > len(self.writer.outputs):
                    self.failures.append(f"{self.writer.name}: left {temporaries(target)}")
                    break
                if i % 20 == 19:
                    self.attn.run(words, folder)
                    if temporaries(target):
                        self.failures.append(f"{self.writer.name}: the next run leaves {temporaries(target)}")
        return self


def check(attn, _, jobs, short):
    kills = 25 if short else 1000
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda writer: Kills(attn, writer, 0).run(kills), writers()))
    states = {state: sum(one.states[state] for one in done) for state in ("absent", "old", "new")}
    told = ", ".join(f"{n} {state}" for state, n in states.items())
    return (f"{kills} kills of each of {len(done)} writers: {told}, at most {max(o.most_left for o in done)} "
            "temporaries left, one for each output"), [failure for one in done for failure in one.failures]
