#!/usr/bin/env python3
"""Compares a training step of attn with PyTorch and Keras on this CPU, with the same models, weights and data, in turn.

usage: train_peers.py --attn ATTN -o FOLDER [--only W,…] [--runtimes R,…] [--dtypes float32,bfloat16] [--threads 2] [--rounds N]
       (bench/cpu/run --train makes the environments and calls it)

A step is forward, backward and Adam, for a mean squared error, or for the cross-entropy of tokens. In every round each
runtime runs for a short window, one after the other. The result is the ratio of attn's median to the runtime's in the same
round (peers.py). The losses of the first three steps must agree with attn's; otherwise the runtime has no row. The first step is
timed from process start to its loss; for attn, until the log of `attn train` has it. Writes training.json and training.md to FOLDER.
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np

import peers
from workloads import WORKLOADS, encoder, gpt2

RUNTIMES = ["torch", "torch-compile", "keras", "keras-jit", "keras-jax"]
TRAINED = {
    "tiny_b8": encoder(16, 64, 2, 4, 128, "relu", batch=8),
    "seed_b32": encoder(50, 512, 1, 8, 2048, "relu", batch=32),
    "base_b8_s128": WORKLOADS["base_b8_s128"],
    "lstm_attention_b32": WORKLOADS["lstm_attention"],
    "gpt2_b4_s256": gpt2(12, 768, 12, 50257, batch=4, length=256),
}
LOSSES = {"numbers": "mse",
          "tokens": json.dumps({"module": "keras.losses", "class_name": "SparseCategoricalCrossentropy",
                                "registered_name": None, "config": {"from_logits": True}})}
# Tolerances relative to the loss. Float32 sums in another order, through three steps of Adam; bfloat16 has 8 bits.
TOLERANCE = {"float32": 1e-3, "bfloat16": 5e-2}


class Trainer(peers.Peer):
    """A worker that trains."""

    script = peers.HERE / "train_worker.py"


class Attn(peers.Attn):
    def __init__(self, attn, dtype, folder, threads, environment):
        super().__init__(attn, dtype, folder, threads, len(np.load(folder / "input.npy")), environment)
        self.words = [attn, "bench", "--train", folder / "model.json", "--weights", folder / "weights.safetensors", "--data",
                      folder / "data.npz", "--optimizer", OPTIMIZER, "--loss", LOSSES[targets_in(folder)], "--threads",
                      threads, "--json", "--quiet"]
        if dtype != "float32":
            self.words += ["--dtype", dtype]
        self.trains = [attn, "train", folder / "model.json", *self.words[4:10], "--loss", LOSSES[targets_in(folder)],
                       "--threads", threads, "--batch-size", len(np.load(folder / "input.npy")), "--no-shuffle", "--epochs",
                       1000, "-o", folder / "trained.keras", "--log", "/dev/stdout", "--progress", "none", "--quiet"]
        if dtype != "float32":
            self.trains += ["--dtype", "mixed_" + dtype]

    def first_seconds(self):
        """Returns the time from process start to the loss of the first step."""
        began = time.perf_counter()
        process = subprocess.Popen([str(word) for word in self.trains], stdout=subprocess.PIPE, text=True,
                                   env=self.environment)
        seconds = None
        for line in process.stdout:
            if json.loads(line)["event"] == "step":
                seconds = time.perf_counter() - began
                break
        process.kill()
        process.wait()
        return seconds

    def samples_of(self, row):
        self.info = {"ready": True, "losses": row["losses"][:3]}
        return [row["ms"]["median"]]


OPTIMIZER = json.dumps({"module": "keras.optimizers", "class_name": "Adam", "registered_name": None,
                        "config": {"learning_rate": 1e-4, "epsilon": 1e-7}})


def targets_in(folder):
    return json.loads((folder / "about.json").read_text())["targets"]


def without_dropout(config):
    """No runtime reproduces another's random numbers."""
    if isinstance(config, list):
        return [without_dropout(part) for part in config]
    if not isinstance(config, dict):
        return config
    return {key: 0.0 if key in ("dropout", "recurrent_dropout", "rate") and isinstance(value, float) else
            without_dropout(value) for key, value in config.items()}


def prepare(attn, name, folder):
    workload = dict(TRAINED[name])
    if isinstance(workload["model"], str):
        workload["model"] = json.loads((peers.ROOT / workload["model"]).read_text())
    workload["model"] = without_dropout(workload["model"])
    peers.WORKLOADS[name] = workload
    peers.prepare(attn, name, folder)
    x = np.load(folder / "input.npy")
    told = json.loads(peers.command(attn, "run", folder / "model.json", *peers.sizes(workload), "--json"))
    random = np.random.default_rng(8)
    shape = told["outputs"][0]["shape"]
    names = [each["name"] for each in told["inputs"]]
    if "token_ids" in names:  # each token predicts the next one
        tokens = random.integers(0, shape[-1], (shape[0], shape[1] + 1)).astype(np.int32)
        x, y = tokens[:, :-1], tokens[:, 1:]
        inputs = {"token_ids": x, "padding_mask": np.ones_like(x)}
    else:
        y = random.standard_normal(shape).astype(np.float32)
        inputs = {names[0]: x}
    np.save(folder / "input.npy", x)
    np.save(folder / "target.npy", y)
    np.savez(folder / "data.npz", **inputs, y=y)
    about = json.loads((folder / "about.json").read_text())
    about["targets"] = "tokens" if "token_ids" in names else "numbers"
    (folder / "about.json").write_text(json.dumps(about))


def agree(got, expected, dtype):
    return len(got) == len(expected) and all(abs(a - b) <= TOLERANCE[dtype] * abs(b) for a, b in zip(got, expected))


def measure(options, name, dtype, threads, environment):
    with tempfile.TemporaryDirectory(prefix="attn-train-") as where:
        folder = pathlib.Path(where)
        prepare(options.attn, name, folder)
        mine = Attn(options.attn, dtype, folder, threads, environment)
        mine.window(0.01)
        turns, rows = [mine], []
        for runtime in options.runtimes:
            python = {"keras-jax": options.jax_python, "keras": options.keras_python,
                      "keras-jit": options.keras_python}.get(runtime, options.torch_python)
            peer = Trainer(python, runtime, dtype, folder, threads, environment)
            why = peer.info.get("why")
            if not why and not agree(peer.info["losses"], mine.info["losses"], dtype):
                why = f"its losses are {peer.info['losses']}, attn's {mine.info['losses']}"
            if why:
                print(f"{name} {dtype} {threads}: {runtime}: not measured: {why}", flush=True)
                rows.append({"runtime": runtime, "why_not": why})
                peer.process.kill()
                continue
            peer.window(0.2)
            turns.append(peer)
        rounds, noisy = peers.take_turns(options, turns, options.retries)
        mine.info["first_seconds"] = mine.first_seconds()
        for peer in turns:
            rows.append({"runtime": peer.name, **peers.ratio_columns(rounds["attn"], rounds[peer.name]),
                         "noisy_windows": noisy[peer.name], "losses": peer.info["losses"],
                         "first_seconds": peer.info.get("first_seconds"), "peak_bytes": peer.end()})
    for row in rows:
        row.update(workload=name, dtype=dtype, threads=threads)
    peers.report(rows)
    return rows


def table(rows):
    lines = ["| workload | dtype | threads | runtime | ms/step | attn's time to it | first step after | peak MB | loss of step 3 |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        where = f"| {row['workload']} | {row['dtype']} | {row['threads']} | {row['runtime']} "
        if "ms" not in row:
            lines.append(where + f"| not measured: {row['why_not']} | | | | |")
            continue
        ratio = "" if row["runtime"] == "attn" else f"{row['ratio']:.2f} ({row['ratio_min']:.2f} to {row['ratio_max']:.2f})"
        first = f"{row['first_seconds']:.2f} s" if row["first_seconds"] else ""
        lines.append(where + f"| {row['ms']:.4g} | {ratio} | {first} | {row['peak_bytes'] / 1e6:.0f} | "
                             f"{row['losses'][-1]:.6g} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attn", default=str(peers.ROOT / "build" / "attn"))
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--keras-python", default=sys.executable)
    parser.add_argument("--jax-python", default=sys.executable)
    words = {"type": lambda text: text.split(",")}
    parser.add_argument("--only", default=list(TRAINED), **words)
    parser.add_argument("--runtimes", default=RUNTIMES, **words)
    parser.add_argument("--dtypes", default=["float32"], **words)
    parser.add_argument("--threads", default=[os.cpu_count()], type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--retries", type=int, default=2)
    options = parser.parse_args()
    environment = {**os.environ, "PYTHONPATH": str(peers.HERE)}
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in options.only:
        for dtype in options.dtypes:
            for threads in options.threads:
                rows += measure(options, name, dtype, threads, environment)
                result = {"machine": platform.processor(), "attn": peers.command(options.attn, "--version").strip(),
                          "commit": subprocess.run(["git", "-C", peers.ROOT, "rev-parse", "HEAD"], capture_output=True,
                                                   text=True).stdout.strip(), "rows": rows}
                (folder / "training.json").write_text(json.dumps(result, indent=1) + "\n")
                (folder / "training.md").write_text(table(rows))
    print(table(rows))


if __name__ == "__main__":
    main()
