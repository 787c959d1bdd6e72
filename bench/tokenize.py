#!/usr/bin/env python3
"""Measures the megabytes of text per second that `attn tokenize` encodes.

usage: bench/tokenize.py [--attn ATTN] [--megabytes 20] [--rounds 5] [TEXT.txt] [--model FOLDER]…

The text is TEXT.txt, by default the repository's own pages and sources, repeated up to this size; as one text, and as its
lines. Each row is the median of the rounds, in CPU seconds (user and system) and elapsed seconds, minus those of a text with one
word: start-up and loading the vocabulary. The ids are written to a file. Without a MODEL it uses byte-pair, WordPiece and
SentencePiece (BPE and Unigram) tokenizers of tests/data; their vocabularies have a few hundred tokens, so words are split into
more parts than by those of real models.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ["gpt2/preset", "llama3/preset", "llama3/hf", "bert_classifier/preset", "bert_classifier/hf", "llama/preset", "t5/preset"]


def own_text():
    files = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("src/**/*.cpp"), *ROOT.glob("tests/*.md")])
    return "".join(path.read_text() for path in files)


def seconds(words, text):
    """Returns processor seconds and elapsed seconds."""
    before, start = os.times(), time.perf_counter()
    with open(text) as file:
        done = subprocess.run([*map(str, words)], stdin=file, capture_output=True, text=True)
    passed, after = time.perf_counter() - start, os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return after.children_user + after.children_system - before.children_user - before.children_system, passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?", type=pathlib.Path)
    parser.add_argument("--attn", default=str(ROOT / "build/attn"))
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", action="append", default=[], help="a preset or Hugging Face folder")
    options = parser.parse_args()
    text = options.text.read_text() if options.text else own_text()
    wanted = int(1e6 * options.megabytes)
    text = (text * (wanted // len(text.encode()) + 1)).encode()[:wanted].decode(errors="ignore")
    megabytes = len(text.encode()) / 1e6
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        (place / "text.txt").write_text(text)
        (place / "word.txt").write_text("word\n")
        for model in options.model or [ROOT / "tests/data/tokenizers" / name for name in MODELS]:
            words = [options.attn, "tokenize", model, "--format", "ids", "-q", "-o", place / "ids"]
            for name, form in (("one text", None), ("lines", "--texts")):
                rates = []
                for _ in range(options.rounds):
                    least, taken = (seconds([*words, *([form, file] if form else [])], file)
                                    for file in (place / "word.txt", place / "text.txt"))
                    rates.append([megabytes / max(1e-9, b - a) for a, b in zip(least, taken)])
                processor, clock = (statistics.median(column) for column in zip(*rates))
                print(f"{pathlib.Path(model).parent.name}/{pathlib.Path(model).name:7} {name:9}"
                      f"{processor:8.1f} MB/s of one processor {clock:8.1f} MB/s by the clock", flush=True)


if __name__ == "__main__":
    main()
