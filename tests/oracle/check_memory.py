"""Compares the memory of a run with attn's prediction before any allocation.

usage: check_memory.py ATTN [MODEL...]      (nothing to install)

Runs every config of configs/ with several batches, lengths, dtypes and backends, with random weights and from weight
files, and compares the prediction of `attn run --json` with the peak of the process. The prediction must not be below the
peak, nor more than 15 % above it. With a weight file it may be higher, because only the requested rows of an embedding table
are read, while the prediction counts all of them. Exits with 1 otherwise.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def memory_of(attn, words):
    done = subprocess.run([attn, "run", *words, "--json"], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()
    memory = json.loads(done.stdout)["memory"]
    return memory["predicted_bytes"] / memory["peak_bytes"], f"{memory['peak_bytes'] / 1e6:.0f} MB"


def main():
    attn = sys.argv[1]
    models = sys.argv[2:] or sorted(map(str, (ROOT / "configs").glob("*.json")))
    variants = [[], ["--batch-size", "8"], ["--batch-size", "4", "--dtype", "bfloat16"],
                ["--batch-size", "2", "--scores", "scores.npz"], ["--batch-size", "3", "-o", "out.safetensors"],
                ["--weights", "w.safetensors"], ["--weights", "w.weights.h5"]]
    low, high, count = 9.0, 0.0, 0  # high: for runs without a weight file
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            for variant in variants:
                words = [str(pathlib.Path(folder) / w) if "." in w else w for w in variant]
                if "--weights" in words:
                    subprocess.run([attn, "init", model, "-o", words[-1]], capture_output=True)
                ratio, what = memory_of(attn, [model, *words])
                for path in pathlib.Path(folder).iterdir():
                    path.unlink()
                name = pathlib.Path(model).stem + " " + " ".join(variant)
                if ratio is None:
                    print(f"{name}: not run: {what}")
                    continue
                from_file = "--weights" in words
                low, count = min(low, ratio), count + 1
                high = high if from_file else max(high, ratio)
                wrong = "" if 1 <= ratio and (from_file or ratio <= 1.15) else "  <--"
                print(f"{name}: {ratio:.3f} of {what}{wrong}", flush=True)
    print(f"{count} runs: predicted {low:.3f} to {high:.3f} of the peak")
    return 0 if 1 <= low and high <= 1.15 else 1


if __name__ == "__main__":
    sys.exit(main())
