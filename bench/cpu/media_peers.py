"""Measures texts, images and sounds alternately with other runtimes, with the same random weights.

usage: media_peers.py --python PYTHON [--attn PROGRAM] [--rounds N] [--only NAME] [-o FOLDER]
       (PYTHON has the packages of requirements-media.txt, and so has the one that runs this script)

  embed       texts of 128 tokens in batches of 32 by a BERT-base: attn embed, ONNX Runtime, fastembed
  image       JPEG files of 640 x 480 by a ViT-B/16, decoding and resizing included: attn run, torch.compile
  transcribe  30 seconds of sound by a Whisper base, 100 tokens: attn transcribe, CTranslate2 with the features of faster-whisper

A time is that of the work after the start. attn is measured as two processes, one with more inputs; the difference is the time
of the inputs that only the second one has. Another process runs first, because the kernel's work for a process is longer after
one that used much memory. A peer measures itself after it has loaded its model and run once. The results are compared before
times are reported.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = ROOT / "bench/cpu/media_worker.py"
SAME = 1e-4  # tolerance, relative to the largest number of a result


def finished(words):
    """Runs a command; returns its output and its seconds."""
    start = time.perf_counter()
    done = subprocess.run([*map(str, words)], capture_output=True, text=True,
                          env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"})
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words[:4]))}: {done.stderr[-2000:]}")
    return done.stdout, time.perf_counter() - start


def bytes_of(text):
    return np.frombuffer(text.encode(), "uint8")


class Embed:
    """128 texts, of which the first 32 are one batch."""
    unit, units = "texts", 96
    peers = ("ONNX Runtime", "fastembed")

    def attn(self, program, folder, threads):
        run = lambda texts: finished([program, "embed", folder / "bert", "--texts", folder / texts, "--threads", threads, "-q",
                                      "-o", folder / f"{texts}.npz"])[1]
        run("few.json")
        seconds = -run("few.json") + run("texts.json")
        return seconds, np.load(folder / "texts.json.npz")["embeddings"][32:]


class Image:
    """Nine files; the process that is the start reads only the first."""
    unit, units = "images", 8
    peers = ("torch.compile",)

    def attn(self, program, folder, threads):
        def run(count):
            words = [word for i in range(count) for word in ("--image", folder / f"{i}.jpg")]
            return finished([program, "run", folder / "vit_preset", *words, "--threads", threads, "-q", "-o",
                             folder / f"images_{count}.npz"])[1]
        run(1)
        seconds = -run(1) + run(9)
        return seconds, next(iter(np.load(folder / "images_9.npz").values()))[1:]


class Transcribe:
    """The same 30 seconds three times, of which the first are the start."""
    unit, units = "sounds", 2
    peers = ("CTranslate2",)

    def attn(self, program, folder, threads):
        def run(count):
            return finished([program, "transcribe", folder / "whisper", *[folder / "sound.wav"] * count, "--language", "en", "-n",
                             100, "--threads", threads, "--json"])
        run(1)
        start = run(1)[1]
        text, seconds = run(3)
        seconds -= start
        return seconds, bytes_of(json.loads(text)["results"][-1]["text"])


WORKLOADS = {"embed": Embed(), "image": Image(), "transcribe": Transcribe()}


def by_peer(python, name, peer, folder, threads):
    result = folder / "peer.npy"
    text, _ = finished([python, WORKER, name, peer, folder, result, threads])
    return json.loads([line for line in text.splitlines() if line.startswith('{"')][-1])["seconds"], np.load(result)


def difference(got, wanted):
    """Returns the largest difference, relative to the largest number; of texts, the share that differs."""
    if got.dtype.kind == "u":
        return float(np.mean(got != wanted)) if got.shape == wanted.shape else 1.0
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def measure(arguments, folder, name):
    work = WORKLOADS[name]
    rows = {runtime: [] for runtime in ("attn", *work.peers)}
    apart = {}
    for _ in range(arguments.rounds):
        seconds, result = work.attn(arguments.attn, folder, arguments.threads)
        rows["attn"].append(seconds / work.units)
        for peer in work.peers:
            seconds, wanted = by_peer(arguments.python, name, peer, folder, arguments.threads)
            rows[peer].append(seconds / work.units)
            apart[peer] = difference(result, wanted)
            if not apart[peer] <= SAME:
                raise SystemExit(f"{name}: the results of attn and {peer} differ by {apart[peer]:.2e}")
    return {"work": name, "unit": work.unit, "differences": apart, "seconds": rows}


def table(results):
    lines = ["| work | runtime | ms for one | attn is faster | difference |", "|---|---|---:|---:|---:|"]
    for result in results:
        own = result["seconds"]["attn"]
        for name, seconds in result["seconds"].items():
            ratio = statistics.median(b / a for a, b in zip(own, seconds))
            apart = f"{result['differences'][name]:.0e}" if name in result["differences"] else "–"
            lines.append(f"| {result['work']} ({result['unit']}) | {name} | {1000 * statistics.median(seconds):.1f} | {ratio:.2f}× | "
                         f"{apart} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--attn", default=ROOT / "build/attn")
    parser.add_argument("--only", choices=list(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("-o", "--output", default=ROOT / "build/peers/results", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = ROOT / "build/peers/media_models"
    if not (folder / "ready").exists():
        finished([arguments.python, ROOT / "bench/cpu/media_models.py", arguments.attn, folder])
    results = []
    for name in WORKLOADS:
        if arguments.only in (None, name):
            results.append(measure(arguments, folder, name))
            print(table(results[-1:]), file=sys.stderr)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "media.json").write_text(json.dumps(results, indent=1) + "\n")
    (arguments.output / "media.md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
