"""Many small files over processes that are killed at random times: all files are processed, none twice, none partially."""
import json
import random
import time

from program import Folder, temporaries
from scenario import MODEL, npz
from writer import is_whole


def start(attn, folder, rank, ranks, *words):
    variables = {"PMI_RANK": str(rank), "PMI_SIZE": str(ranks), "ATTN_THREADS": "1"}
    return attn.start(("run", "m.json", "--input", "in/*.npz", "--output-dir", "out", "--quiet", *words), folder, variables)


def results(folder):
    """Returns the outputs' bytes and times of writing."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (folder / "out").glob("*.npz")}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Shards:
    def __init__(self, attn, files, seed):
        self.attn, self.files, self.random = attn, files, random.Random(f"shards {seed}")
        self.failures = []

    def expect(self, holds, what):
        if not holds:
            self.failures.append(what)

    def whole(self, folder, what):
        got = results(folder)
        self.expect(len(got) == self.files, f"{what}: {len(got)} of {self.files} outputs")
        for path in (folder / "out").glob("*.npz"):
            self.expect(is_whole(path), f"{what}: {path.name} is torn")
        names = [line["output"] for line in lines(folder / "out/manifest.jsonl")]
        self.expect(sorted(names) == sorted(got), f"{what}: the manifest has {len(names)} lines")
        self.expect(not lines(folder / "out/failed.jsonl"), f"{what}: some failed")
        self.expect(not temporaries(folder), f"{what}: left {temporaries(folder)}")

    def killed(self, folder, ranks, schedule):
        """Kills all processes except one; the remaining one, or the same command again, does the rest."""
        processes = [start(self.attn, folder, rank, ranks, "--schedule", schedule) for rank in range(ranks)]
        for process in processes[1:]:
            deadline, wanted = time.monotonic() + 60, self.random.random() * self.files * 0.5
            while len(results(folder)) < wanted and time.monotonic() < deadline:
                time.sleep(0.002)
            process.kill()
            process.communicate()
        _, err = processes[0].communicate(timeout=120)
        self.expect(processes[0].returncode == 0, f"{schedule}: exit {processes[0].returncode}: {err[:200]!r}")

    def run(self, schedule):
        with Folder() as folder:
            (folder / "m.json").write_text(json.dumps(MODEL))
            (folder / "in").mkdir()
            for i in range(self.files):
                (folder / f"in/f{i:04}.npz").write_bytes(npz({"input_layer": (1, 5, 8)}))
            self.killed(folder, 3, schedule)
            before = results(folder)
            if schedule == "static":  # a later run, with another number of processes, completes the work of the killed ones
                again = [start(self.attn, folder, rank, 2) for rank in range(2)]
                for process in again:
                    process.communicate(timeout=120)
                    self.expect(process.returncode == 0, f"again: exit {process.returncode}")
            self.whole(folder, schedule)
            after = results(folder)
            redone = [name for name, was in before.items() if after.get(name) != was]
            # An output whose process was killed before it could record it is written again, by one process.
            self.expect(len(redone) <= 2, f"{schedule}: {len(redone)} outputs were made twice")
            self.expect(len({data for data, _ in after.values()}) == 1, f"{schedule}: equal inputs, other bytes")
            idle = start(self.attn, folder, 0, 1)
            idle.communicate(timeout=120)
            self.expect(results(folder) == after, f"{schedule}: what is done was done again")
        return self.failures


def check(attn, _, __, short):
    files, rounds = (60, 1) if short else (1000, 5)
    failures = []
    for schedule in ("claim", "static"):
        for seed in range(rounds):
            failures += Shards(attn, files, seed).run(schedule)
    return f"{rounds} times {files} files over 3 processes of which 2 are killed, by claims and by turns", failures
