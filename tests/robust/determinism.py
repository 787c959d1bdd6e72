"""Checks that the same machine, threads and command give the same bits, idle or under load."""
import json
import multiprocessing
from collections import defaultdict

from program import ROOT, Folder

ROOM = {"name": "encoder", "input_shape": [50, 64], "num_layers": 2, "num_heads": 4, "key_dim": 16,
        "intermediate_dim": 128, "units": 10}
# The differences between runs.
VARIANTS = {
    "plain": {}, "softmax": {"output_activation": "softmax"}, "causal": {"causal": True},
    "pre-norm": {"normalize_first": True}, "gelu": {"activation": "gelu"},
    "odd": {"input_shape": [37, 48], "key_dim": 12},
    "short": {"input_shape": [7, 64]}, "long": {"input_shape": [257, 64], "num_layers": 1},
    "wide": {"input_shape": [9, 256], "intermediate_dim": 1024, "num_layers": 1},
    "one head": {"num_heads": 1, "key_dim": 64}, "deep": {"num_layers": 5, "input_shape": [16, 64]},
    "sine": {"position_encoding": "sine"},
}
BUILT_IN = ("lstm_attention.json", "vit_tiny.json", "encoder.json", "encoder_decoder.json")


def configs(folder, source):
    """Returns 30 tuples (name, words)."""
    found = []
    for i, (name, change) in enumerate(VARIANTS.items()):
        file = f"{i}.json"
        (folder / file).write_text(json.dumps(ROOM | change))
        found.append((name, (file, "--backend", "onednn")))
        found.append((name + ", bfloat16", (file, "--backend", "onednn", "--dtype", "bfloat16")))
        if i < 2:
            found.append((name + ", reference", (file, "--backend", "reference")))
    for name in BUILT_IN:
        found.append((name, (str(source / "configs" / name), "--backend", "onednn", "--batch-size", "2")))
    return found


def busy(stop):
    while not stop.is_set():
        sum(i * i for i in range(10000))


def bits(attn, words, folder, threads):
    result = attn.run(("run", *words, "--json", "--quiet", "--threads", str(threads)), folder)
    assert result.code == 0, (words, result)
    return tuple(output["sha256"] for output in json.loads(result.out)["outputs"])


def check(attn, _, __, short):
    failures, by_threads = [], defaultdict(set)
    repeats = 5 if short else 100
    stop = multiprocessing.Event()
    load = multiprocessing.Process(target=busy, args=(stop,))
    load.start()
    try:
        with Folder() as folder:
            chosen = configs(folder, ROOT)[:: 10 if short else 1]
            for name, words in chosen:
                seen = {bits(attn, words, folder, 2) for _ in range(repeats)}
                if len(seen) != 1:
                    failures.append(f"{name}: {len(seen)} different outputs in {repeats} runs")
                for threads in (1, 3, 5):
                    if bits(attn, words, folder, threads) not in seen:
                        by_threads[name].add(threads)
    finally:
        stop.set()
        load.join()
    other = "none changes with 1, 2, 3 or 5 threads"
    if by_threads:
        other = f"{len(by_threads)} change with the number of threads: " + "; ".join(
            f"{name} ({', '.join(map(str, sorted(which)))})" for name, which in by_threads.items())
    return f"{len(chosen)} configs, {repeats} runs each beside other work: {other}", failures
