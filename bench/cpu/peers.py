#!/usr/bin/env python3
"""Compares attn with PyTorch, ONNX Runtime, OpenVINO and Keras on this CPU: the same models and weights, in turn.

usage: peers.py --attn ATTN -o FOLDER [--only W,…] [--runtimes R,…] [--dtypes …] [--threads 1,2] [--rounds N]
       (bench/cpu/run makes the environments and calls it)

Each runtime is a process that stays loaded (worker.py). In every round each runs for a short window, one after the other. The
result is the ratio of attn's median to the runtime's in the same round, so that a slow minute of the machine affects all of
them. A window in which other processes used more than a tenth of the machine is measured again. There are two rows for attn:
`attn bench`, which starts anew for each window, and "attn, loaded", a process that stays loaded like the others (loaded.cpp).
--cold also measures from process start to the first output. In int8 each runtime quantizes by its own means: attn and Keras like
model.quantize, OpenVINO by NNCF, ONNX Runtime and PyTorch by their dynamic quantization.
Outputs must agree with PyTorch's in float64; otherwise the runtime has no row. Writes results.json and results.md to FOLDER.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from safetensors.numpy import load_file, save_file

from processes import Worker, command, timed_command
from workloads import WORKLOADS

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RUNTIMES = ["torch", "torch-fast", "torch-compile", "onnxruntime", "onnxruntime-fused", "openvino", "keras", "keras-jit"]
# Tolerances relative to the largest value. Float32 sums thousands of terms in another order, through up to 12 layers.
# Bfloat16 has 8 bits. Int8 keeps eight bits of weights and rows, which some runtimes use as 255 steps over a whole
# array.
TOLERANCE = {"float32": 2e-4, "bfloat16": 1e-1, "int8": 2.5e-1}
MINE = ("attn", "attn, loaded")


class Peer(Worker):
    """A worker process."""

    script = HERE / "worker.py"

    def __init__(self, python, runtime, dtype, folder, threads, environment):
        super().__init__(runtime, [python, self.script, runtime, dtype, folder, threads], environment)


def model_words(folder, dtype):
    """Returns the files that attn opens for a dtype: the model, its weights if it has none, and the option."""
    if dtype == "int8":
        return [folder / "int8.keras"]
    words = [folder / "model.json", "--weights", folder / "weights.safetensors"]
    return words + (["--dtype", dtype] if dtype != "float32" else [])


class Attn:
    """Starts attn for each window: it loads and warms up within a second."""

    name = "attn"

    def __init__(self, attn, dtype, folder, threads, batch, environment):
        self.words = [attn, "bench", *model_words(folder, dtype), "--batch-size", batch, "--threads", threads, "--verify", "never",
                      "--samples", "--json", "--quiet"]
        self.environment = environment
        self.peak = 0
        self.pass_ms = None
        self.info = {"ready": True}

    def window(self, seconds):
        """Returns the number of passes that fit into the time, given the time of the previous pass; the peers do the same."""
        if self.pass_ms is None:
            self.passes(1)
        return self.passes(max(1, round(1e3 * seconds / self.pass_ms)))

    def passes(self, count):
        out, others = timed_command(*self.words, "--iterations", count, env=self.environment)
        row = json.loads(out)["rows"][0]
        self.peak = max(self.peak, row["peak_bytes"])
        samples = self.samples_of(row)
        self.pass_ms = statistics.median(samples)
        return samples, others

    def samples_of(self, row):
        return row["samples_ms"]

    def end(self):
        return self.peak


class LoadedAttn(Worker):
    """Runs attn's library in a process that stays loaded."""

    def __init__(self, program, dtype, folder, threads, environment):
        self.numbers = folder / f"outputs.loaded.{dtype}.raw"
        if not pathlib.Path(program).exists():
            self.name, self.info, self.process = MINE[1], {"ready": False, "why": f"{program} is not built"}, None
            return
        is_int8 = dtype == "int8"
        super().__init__(MINE[1], [program, folder / ("int8.keras" if is_int8 else "model.json"),
                                   "-" if is_int8 else folder / "weights.safetensors",
                                   "-" if dtype in ("float32", "int8") else dtype, threads, folder / "input.npy",
                                   self.numbers], environment)

    def outputs(self):
        numbers, out = np.fromfile(self.numbers, np.float32), []
        for shape in self.info["shapes"]:
            size = math.prod(shape)
            out.append(numbers[:size].reshape(shape))
            numbers = numbers[size:]
        return out


def sizes(workload):
    """Returns the batch, and the length if the model's input leaves it open, as options of attn."""
    return ["--batch-size", workload["batch"], *(["--seq-len", workload["length"]] if "length" in workload else [])]


def prepare(attn, name, folder, dtype="float32"):
    """Writes the model as Keras JSON, its weights in two formats, and an input; for int8 also the result of model.quantize."""
    workload = WORKLOADS[name]
    model = workload["model"]
    source = folder / "source.json"
    source.write_text((ROOT / model).read_text() if isinstance(model, str) else json.dumps(model))
    (folder / "model.json").write_text(command(attn, "get-config", source, "--json"))
    command(attn, "init", folder / "model.json", "--seed", "7", "-o", folder / "drawn.safetensors")
    # Distinct biases and scales reveal a runtime that drops one.
    random = np.random.default_rng(7)
    weights = load_file(folder / "drawn.safetensors")
    for path, array in weights.items():
        if array.ndim == 1 or path.endswith(("bias", "gamma", "beta")):
            weights[path] = (array + 0.02 * random.standard_normal(array.shape)).astype(np.float32)
    save_file(weights, folder / "weights.safetensors")
    command(attn, "convert", folder / "weights.safetensors", folder / "weights.weights.h5", "--model",
            folder / "model.json")
    if dtype == "int8":
        command(attn, "convert", folder / "weights.weights.h5", folder / "float32.keras", "--model", folder / "model.json")
        command(attn, "convert", folder / "float32.keras", folder / "int8.keras", "--quantize", "int8")
    about = json.loads(command(attn, "run", folder / "model.json", *sizes(workload), "--json"))
    shape = about["inputs"][0]["shape"]
    np.save(folder / "input.npy", random.standard_normal(shape).astype(np.float32))
    (folder / "about.json").write_text(json.dumps({"model": json.loads(source.read_text()), "torch": workload["torch"]}))
    bench = json.loads(command(attn, "bench", folder / "model.json", *sizes(workload), "--iterations", 1, "--warmup", 0,
                               "--min-time", 0, "--verify", "never", "--json", "--quiet"))
    return bench["rows"][0]["gflop"]


def best_peer(rows):
    return min((row for row in rows if "ms" in row and row["runtime"] not in MINE), key=lambda row: row["ms"], default=None)


def report(rows):
    """Prints a line about the rows of one workload."""
    mine, best = next(row for row in rows if row["runtime"] == "attn"), best_peer(rows)
    if best:
        print(f"{mine['workload']:24s} {mine['dtype']:9s} {mine['threads']} threads: attn {mine['ms']:10.4f} ms, "
              f"best {best['runtime']} {best['ms']:10.4f} ms, "
              f"ratio {best['ratio']:.3f} [{best['ratio_min']:.3f}, {best['ratio_max']:.3f}]", flush=True)


def outputs_of(peer):
    if isinstance(peer, LoadedAttn):
        return peer.outputs()
    with np.load(peer.info["outputs"]) as arrays:
        return [arrays[key] for key in arrays.files]


def outputs_of_attn(attn, folder, dtype, threads):
    name = folder / f"outputs.attn.{dtype}.npz"
    command(attn, "run", *model_words(folder, dtype), "--input", folder / "input.npy", "--threads", threads, "-o", name)
    with np.load(name) as arrays:
        return [arrays[key] for key in sorted(arrays.files, key=lambda key: int(key.rsplit("_", 1)[1]))]


def error_of(got, expected):
    """Returns the largest difference divided by the largest value; infinite if shapes or NaN differ."""
    if len(got) != len(expected) or any(g.shape != e.shape for g, e in zip(got, expected)):
        return math.inf
    worst = max(float(np.abs(g.astype(np.float64) - e).max() / max(np.abs(e).max(), 1e-30))
                for g, e in zip(got, expected))
    return worst if worst == worst else math.inf


def make_peers(options, name, dtype, threads, environment, folder):
    """Returns attn and the runtimes with correct outputs, warm, with their errors; rows for the others; and the GFLOP."""
    gflop = prepare(options.attn, name, folder, dtype)
    exact = Peer(options.torch_python, "torch", "float64", folder, threads, environment)
    if why := exact.info.get("why"):
        raise SystemExit(f"{name}: no float64: {why}")
    expected = outputs_of(exact)
    exact.end()
    errors = {"attn": error_of(outputs_of_attn(options.attn, folder, dtype, threads), expected)}
    if not errors["attn"] <= TOLERANCE[dtype]:
        raise SystemExit(f"{name} {dtype}: attn's outputs differ by {errors['attn']:.1e}")
    peers = [Attn(options.attn, dtype, folder, threads, WORKLOADS[name]["batch"], environment)]
    refused = []
    for runtime in [MINE[1], *options.runtimes]:
        python = options.keras_python if runtime.startswith("keras") else options.torch_python
        if runtime == MINE[1]:
            peer = LoadedAttn(options.loaded, dtype, folder, threads, environment)
        else:
            peer = Peer(python, runtime, dtype, folder, threads, environment)
        why = peer.info.get("why")
        if not why:
            errors[runtime] = error_of(outputs_of(peer), expected)
            if errors[runtime] > TOLERANCE[dtype]:
                why = f"its outputs differ by {errors[runtime]:.1e} of the largest value"
        if why:
            print(f"{name} {dtype} {threads}: {runtime}: not measured: {why}", flush=True)
            refused.append({"runtime": runtime, "why_not": why})
            if peer.process:
                peer.process.kill()
            continue
        peer.window(0.2)
        peers.append(peer)
    return peers, errors, refused, gflop


def take_turns(options, peers, retries):
    """Returns each peer's milliseconds of passes by round, and the number of windows that others disturbed to the end."""
    rounds = {peer.name: [] for peer in peers}
    noisy = dict.fromkeys(rounds, 0)
    for _ in range(options.rounds):
        for peer in peers:
            best = None
            for _ in range(retries + 1):
                time.sleep(0.2)  # until the previous runtime's threads sleep
                samples, others = peer.window(options.seconds)
                if best is None or others < best[1]:
                    best = (samples, others)
                if others <= 0.1:
                    break
            noisy[peer.name] += best[1] > 0.1
            rounds[peer.name].append(best[0] or [math.nan])
    return rounds, noisy


def median_of(rounds):
    return statistics.median(map(statistics.median, rounds))


def ratio_columns(mine, theirs):
    """Returns the runtime's time over the passes of each round, and attn's ratio to it in the same rounds. The spread
    covers nine of ten passes, relative to the median."""
    ratios = [statistics.median(a) / statistics.median(b) for a, b in zip(mine, theirs)]
    passes = sorted(sample for samples in theirs for sample in samples)
    tenth = len(passes) // 10
    middle = median_of(theirs)
    return {"ms": middle, "ms_min": passes[0], "ms_spread": (passes[-1 - tenth] - passes[tenth]) / middle,
            "passes": len(passes), "ratio": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios)}


def measure(options, name, dtype, threads, environment):
    with tempfile.TemporaryDirectory(prefix="attn-peers-") as where:
        peers, errors, rows, gflop = make_peers(options, name, dtype, threads, environment, pathlib.Path(where))
        rounds, noisy = take_turns(options, peers, options.retries)
        for peer in peers:
            rows.append({"runtime": peer.name, **ratio_columns(rounds["attn"], rounds[peer.name]),
                         "noisy_windows": noisy[peer.name], "error": errors[peer.name], "peak_bytes": peer.end()})
    for row in rows:
        row.update(workload=name, dtype=dtype, threads=threads, gflop=gflop)
    report(rows)
    return rows


# Alternates a tenth of a second of work with a tenth of sleep.
HALF_BUSY = """
import time
while True:
    end = time.monotonic() + 0.1
    while time.monotonic() < end: pass
    time.sleep(0.1)
"""


def measure_busy(options, name, threads, environment):
    """Measures while a process uses a core half of the time."""
    with tempfile.TemporaryDirectory(prefix="attn-peers-") as where:
        peers, errors, rows, gflop = make_peers(options, name, "float32", threads, environment, pathlib.Path(where))
        quiet, _ = take_turns(options, peers, options.retries)
        other = subprocess.Popen([sys.executable, "-c", HALF_BUSY])
        try:
            busy, _ = take_turns(options, peers, 0)
        finally:
            other.kill()
            other.wait()
        for peer in peers:
            before, now = (ratio_columns(rounds["attn"], rounds[peer.name]) for rounds in (quiet, busy))
            rows.append({"runtime": peer.name, **now, "slowdown": now["ms"] / before["ms"],
                         "quiet_spread": before["ms_spread"], "quiet_ratio": before["ratio"],
                         "noisy_windows": 0, "error": errors[peer.name], "peak_bytes": peer.end()})
    for row in rows:
        row.update(workload=f"one core busy, {name}", dtype="float32", threads=threads, gflop=gflop)
    report(rows)
    return rows


def sweep(options, threads, environment):
    """Measures only attn: milliseconds and the share of attention by length, for one layer of width 512."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="attn-peers-") as where:
        model = pathlib.Path(where) / "model.json"
        model.write_text(json.dumps(WORKLOADS["long_4096"]["model"]))
        for length in (64, 128, 256, 512, 1024, 2048, 4096, 8192):
            answer = json.loads(command(options.attn, "bench", model, "--seq-len", length, "--threads", threads,
                                        "--verify", "never", "--profile", "--json", "--quiet", env=environment))
            row = answer["rows"][0]
            steps = row["profile"]
            rows.append({"tokens": length, "ms": row["ms"]["median"], "gflop": row["gflop"],
                         "attention_ms": sum(step["ms"] for step in steps if step["operation"] == "attention"),
                         "peak_bytes": row["peak_bytes"]})
            print(f"sweep: {length} tokens {row['ms']['median']:.3f} ms", flush=True)
    return rows


def whole_process(words, environment):
    """Returns the seconds from start to end."""
    start = time.perf_counter()
    command(*words, env=environment)
    return time.perf_counter() - start


def measure_cold(options, name, threads, environment):
    """Times attn and the fastest-starting runtimes from start to the first output, written to a file."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="attn-peers-") as where:
        folder = pathlib.Path(where)
        gflop = prepare(options.attn, name, folder)
        calls = {"attn": [options.attn, "run", folder / "model.json", "--weights", folder / "weights.safetensors",
                          "--input", folder / "input.npy", "--threads", threads, "-o", folder / "cold.attn.npy"]}
        for runtime in ("onnxruntime", "openvino", "torch"):
            if runtime not in options.runtimes:
                continue
            maker = Peer(options.torch_python, runtime, "float32", folder, threads, environment)
            why = maker.info.get("why")  # it leaves model.onnx or model.xml
            maker.end()
            if why:
                rows.append({"runtime": runtime, "why_not": why})
            else:
                calls[runtime] = [options.torch_python, HERE / "cold.py", runtime, folder, threads]
        seconds, errors = {runtime: [] for runtime in calls}, {}  # milliseconds, one pass per round
        for attempt in range(options.rounds + 1):
            for runtime, words in calls.items():
                took = whole_process(words, environment)
                if attempt > 0:  # the first run loads the files into memory
                    seconds[runtime].append([1e3 * took])
        expected = np.load(folder / "cold.attn.npy")
        for runtime in calls:
            errors[runtime] = error_of([np.load(folder / f"cold.{runtime}.npy")], [expected])
            if errors[runtime] > TOLERANCE["float32"]:
                raise SystemExit(f"{name} cold: {runtime}'s output differs by {errors[runtime]:.1e}")
            rows.append({"runtime": runtime, **ratio_columns(seconds["attn"], seconds[runtime]), "noisy_windows": 0,
                         "error": errors[runtime], "peak_bytes": None})
    for row in rows:
        row.update(workload=f"cold start, {name}", dtype="float32", threads=threads, gflop=gflop)
    report(rows)
    return rows


def versions(options):
    code = ("import importlib.metadata as m, json\n"
            "names = ['torch', 'onnxruntime', 'openvino', 'nncf', 'keras', 'tensorflow', 'tensorflow-cpu', 'numpy']\n"
            "found = {}\n"
            "for name in names:\n"
            "    try: found[name] = m.version(name)\n"
            "    except m.PackageNotFoundError: pass\n"
            "print(json.dumps(found))")
    found = {}
    for python in {options.keras_python, options.torch_python}:
        found.update(json.loads(command(python, "-c", code)))
    return found


def megabytes(row):
    return f"{row['peak_bytes'] / 1e6:.0f}" if row["peak_bytes"] else "–"


def markdown(about, rows):
    lines = ["# attn and its peers on a CPU", "", f"`{about['command']}`", "",
             f"{about['machine']}; attn {about['attn']}, " +
             ", ".join(f"{name} {version}" for name, version in sorted(about["versions"].items())), "",
             "Ratio of attn's time to the best peer's in the same round (median over rounds, smallest and largest); "
             "below 1 attn is faster; `loaded` is that of attn in a process that stays loaded, as the others do. Errors are "
             "the largest difference from PyTorch's float64 outputs over the largest value.", "",
             "| workload | dtype | threads | attn ms | best peer | its ms | ratio | spread | loaded | attn error | peer error | "
             "attn MB | peer MB |", "|---|---|---:|---:|---|---:|---:|---|---:|---:|---:|---:|---:|"]
    for key in dict.fromkeys((row["workload"], row["dtype"], row["threads"]) for row in rows):
        group = [row for row in rows if (row["workload"], row["dtype"], row["threads"]) == key and "ms" in row]
        mine, best = next(row for row in group if row["runtime"] == "attn"), best_peer(group)
        if not best:
            continue
        # Both are reported as the ratio of the first one to them.
        loaded = next((f"{best['ratio'] / row['ratio']:.2f}" for row in group if row["runtime"] == MINE[1]), "–")
        lines.append(f"| {key[0]} | {key[1]} | {key[2]} | {mine['ms']:.4g} | {best['runtime']} | {best['ms']:.4g} | "
                     f"**{best['ratio']:.2f}** | {best['ratio_min']:.2f}–{best['ratio_max']:.2f} | {loaded} | {mine['error']:.0e} | "
                     f"{best['error']:.0e} | {megabytes(mine)} | {megabytes(best)} |")
    busy = [row for row in rows if "slowdown" in row]
    if busy:
        lines += ["", "## While another process takes a core for half of the time", "",
                  "A tenth of a second at a time. Times beside those of the same processes on a quiet machine; ratios are of "
                  "medians.", "",
                  "| workload | runtime | ms | spread | times the quiet ones | quiet spread | attn's ratio | quiet ratio |",
                  "|---|---|---:|---:|---:|---:|---:|---:|"]
        lines += [f"| {row['workload']} | {row['runtime']} | {row['ms']:.4g} | {row['ms_spread']:.2f} | {row['slowdown']:.2f} | "
                  f"{row['quiet_spread']:.2f} | {row['ratio']:.2f} | {row['quiet_ratio']:.2f} |" for row in busy]
    if "sweep" in about:
        lines += ["", "## By length", "", "attn, one layer 512 wide with 8 heads, 2048 inside, float32. Time "
                  "without attention and memory grow linearly with the tokens, time of attention with their square.", "",
                  "| tokens | ms | ms without attention, per 1,000 tokens | ms of attention, per 1,000,000 pairs | MB |",
                  "|---:|---:|---:|---:|---:|"]
        lines += [f"| {row['tokens']:,} | {row['ms']:.4g} | {1e3 * (row['ms'] - row['attention_ms']) / row['tokens']:.2f} | "
                  f"{1e6 * row['attention_ms'] / row['tokens'] ** 2:.2f} | {row['peak_bytes'] / 1e6:.0f} |"
                  for row in about["sweep"]]
    lines += ["", "## All of them", "", "Milliseconds of a pass: the least, the median of the rounds' medians, and the "
              "distance of the tenth and the ninetieth of a hundred passes, by that median.", "",
              "| workload | dtype | threads | runtime | least | ms | spread | passes | attn's ratio | error |",
              "|---|---|---:|---|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        where = f"| {row['workload']} | {row['dtype']} | {row['threads']} | {row['runtime']} | "
        if "ms" in row:
            lines.append(where + f"{row['ms_min']:.4g} | {row['ms']:.4g} | {row['ms_spread']:.2f} | {row['passes']} | "
                         f"{row['ratio']:.2f} | {row['error']:.0e} |")
        else:
            lines.append(where + f"{row['why_not']} | | | | | |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attn", default=str(ROOT / "build/attn"))
    parser.add_argument("--loaded", default=str(ROOT / "build/attn-loaded"), help="attn through its library")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--only", default=",".join(WORKLOADS))
    parser.add_argument("--runtimes", default=",".join(RUNTIMES))
    parser.add_argument("--dtypes", default="float32,bfloat16,int8")
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--retries", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--cold", default="tiny,seed_b1,base_b1_s128", help="workloads of the cold start; '' for none")
    parser.add_argument("--busy", default="tiny,seed_b1", help="workloads measured while another process takes a core by turns")
    parser.add_argument("--sweep", action=argparse.BooleanOptionalAction, default=True, help="lengths up to 8192")
    parser.add_argument("--isa", help="limit all to avx2 or avx512, where the CPU has more")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--keras-python", default=sys.executable)
    options = parser.parse_args()
    options.runtimes = options.runtimes.split(",")
    environment = dict(os.environ)
    if options.isa:
        limit = {"avx2": "AVX2", "avx512": "AVX512_CORE_BF16"}[options.isa]
        environment.update(ATTN_ISA=options.isa, ONEDNN_MAX_CPU_ISA=limit, DNNL_MAX_CPU_ISA=limit)
    options.output.mkdir(parents=True, exist_ok=True)
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    about = {"schema": "attn.cpu-peers/1", "command": os.environ.get("PEERS_COMMAND") or shlex.join(sys.argv),
             "machine": f"{cpu}, {os.cpu_count()} cores, {platform.system()} {platform.release()}", "isa": options.isa,
             "attn": command(options.attn, "--version").split()[-1], "versions": versions(options)}
    rows = []

    def keep(more):
        rows.extend(more)
        (options.output / "results.json").write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
        (options.output / "results.md").write_text(markdown(about, rows))

    for name in filter(None, options.only.split(",")):
        for dtype in options.dtypes.split(","):
            for threads in map(int, options.threads.split(",")):
                keep(measure(options, name, dtype, threads, environment))
    for name in filter(None, options.cold.split(",")):
        keep(measure_cold(options, name, os.cpu_count(), environment))
    for name in filter(None, options.busy.split(",")):
        keep(measure_busy(options, name, os.cpu_count(), environment))
    if options.sweep:
        about["sweep"] = sweep(options, os.cpu_count(), environment)
        keep([])


if __name__ == "__main__":
    main()
