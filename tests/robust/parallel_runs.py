"""Many runs that write the same output concurrently: one of them wins, completely."""
from program import Folder, temporaries
from writer import is_whole, make_model, writers

RUNS = 50


def check(attn, _, __, short):
    failures, rounds = [], 0
    for writer in writers():
        if short and writer.name not in ("npz", "weights.h5", "json", "dump"):
            continue
        rounds += 1
        with Folder() as folder:
            make_model(folder)
            target = folder / "target"
            target.mkdir()
            words = writer.argv("target")
            runs = [attn.start(words + (("--seed", str(i)) if words[0] in ("init", "run") else ()), folder)
                    for i in range(RUNS)]
            for process in runs:
                _, err = process.communicate(timeout=300)
                if process.returncode != 0:
                    failures.append(f"{writer.name}: exit {process.returncode}: {err[:200]!r}")
            for name in writer.outputs:
                if not is_whole(target / name):
                    failures.append(f"{writer.name}: {name} is torn")
            if temporaries(target):
                failures.append(f"{writer.name}: left {temporaries(target)}")
            if writer.name == "npz":  # the file of one of them
                got = (target / "y.npz").read_bytes()
                (folder / "alone").mkdir()
                one_of = []
                for i in range(RUNS):
                    attn.run((*writer.argv("alone"), "--seed", str(i)), folder)
                    one_of.append((folder / "alone" / "y.npz").read_bytes())
                if got not in one_of:
                    failures.append("npz: the file is of none of the runs")
    return f"{RUNS} runs at a time into the same output, {rounds} kinds of files", failures
