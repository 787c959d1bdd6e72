#!/usr/bin/env python3
"""Compares attn with PyTorch on one GPU, in turn: whole encoders, the gain of skipping padding, and attention kernels.

Every row is a ratio of medians. In each round PyTorch and attn measure the same work one after the other, with CUDA events
around replays of a CUDA graph. Drift of the clocks therefore appears as spread and not as speed. Every row has the error of
both relative to float64, and the clocks and watts after each round. It also states whether attn's error is within the
documented limit ("pass"), and whether the goal for the ratio is met, if there is one. Exits with 1 if an error is too large or
attn failed; a missed goal is reported but is not a failure. The measurements and their goals are in workload.py, the verdicts
in verdict.py.

    bench/gpu/peers.py --attn build/attn -o bench/gpu/results/h200.json [--only attention,encoders] [--rounds 3]
                       [--dtypes bfloat16,…] [--first SIZES]

--list prints each step and its expected duration, and needs no GPU and no PyTorch. --smoke runs tiny sizes on the CPU, to test the
script itself; its times are meaningless.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import verdict
import workload

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--attn", default="build/attn")
parser.add_argument("--library-path", default="", help="LD_LIBRARY_PATH for attn's own commands")
parser.add_argument("-o", "--output", default="peers.json")
parser.add_argument("--only", default="attention,encoders")
parser.add_argument("--dtypes", default="bfloat16,float16,float32")
parser.add_argument("--first", type=int, help="of each kind and dtype, only so many sizes")
parser.add_argument("--rounds", type=int, default=workload.ROUNDS)
parser.add_argument("--minutes", type=float, default=16, help="begin nothing that would not be over after so many")
parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
parser.add_argument("--list", action="store_true")
parser.add_argument("--smoke", action="store_true")
options = parser.parse_args()
if options.list:
    steps = list(workload.steps(options.only.split(",")))
    for name, seconds in steps:
        print(f"  {seconds:4d} s  {name}")
    print(f"  {sum(seconds for _, seconds in steps):4d} s  all of it")
    sys.exit(0)

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
DTYPES_TAKEN = options.dtypes.split(",")

torch.set_grad_enabled(False)
torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
DEVICE = "cpu" if options.smoke else "cuda"
ATTN_DEVICE = ["--device", DEVICE]
MIN_TIME = ["--min-time", "0.05" if options.smoke else "0.5"]
BEGAN = time.time()
rows = []
failures = []


def attn(words, seconds):
    """Returns attn's output, also if it fails or hangs: the reason is then printed on stderr and listed among the failures."""
    environment = dict(os.environ)
    if options.library_path:
        environment["LD_LIBRARY_PATH"] = options.library_path
    try:
        done = subprocess.run([options.attn, *words], capture_output=True, text=True, env=environment, timeout=seconds)
        if done.returncode == 0:
            return done.stdout
        reason, printed = f"exit {done.returncode}: {done.stderr.strip()[:300]}", done.stdout
    except subprocess.TimeoutExpired as late:
        reason, printed = f"not over after {seconds} s", (late.stdout or b"").decode()
    print("attn", *words, "->", reason, file=sys.stderr)
    failures.append(f"attn {' '.join(words)}: {reason}")
    return printed


def command(*words, seconds=60):
    """Returns attn's JSON for a command; None if it fails."""
    before = len(failures)
    printed = attn(words, seconds)
    if len(failures) > before:
        return None
    return json.loads(printed) if "--json" in words else {}


def time_left(seconds):
    """Returns whether this much time is left."""
    return time.time() - BEGAN + seconds < 60 * options.minutes


def machine_state():
    """Returns the current clock in MHz, watts and °C."""
    if options.smoke:
        return None
    done = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,power.draw,temperature.gpu",
                           "--format=csv,noheader,nounits"], capture_output=True, text=True)
    return done.stdout.strip().splitlines()[:1]


def relative_error(got, exact):
    got, exact = got.double(), exact.double()
    return ((got - exact).norm() / exact.norm()).item()


class Timed:
    """A PyTorch call as a CUDA graph (or eager), for repeated timing."""

    def __init__(self, call, graph=True):
        self.replay = call
        if options.smoke:
            return
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        if graph:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                call()
            self.replay = self.graph.replay

    def milliseconds(self, seconds=0.3, least=20):
        if options.smoke:
            start = time.perf_counter()
            self.replay()
            return 1e3 * (time.perf_counter() - start)
        warm = time.time()
        while time.time() - warm < 0.2:
            self.replay()
            torch.cuda.synchronize()
        samples, start = [], time.time()
        while len(samples) < least or time.time() - start < seconds:
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            self.replay()  # so that the first event is not complete before the host has launched the timed work
            first.record()
            self.replay()
            last.record()
            last.synchronize()
            samples.append(first.elapsed_time(last))
        return statistics.median(samples)


def add_row(*measured):
    """Stores and prints the row that verdict.row_of() makes of it."""
    row = verdict.row_of(*measured)
    if verdict.failure_of(row):
        failures.append(verdict.failure_of(row))
    rows.append(row)
    for line in verdict.lines_of(row):
        print(line, flush=True)
    save()


def save():
    about = {"schema": "attn.gpu-peers/1", "command": " ".join(sys.argv), "torch": torch.__version__,
             "python": platform.python_version(), "attn": attn(["--version"], 10).strip()}
    if not options.smoke:
        about["gpu"] = torch.cuda.get_device_name()
        about["cudnn"] = torch.backends.cudnn.version()
        query = "clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit,temperature.gpu,driver_version"
        state = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv"], capture_output=True, text=True)
        about["nvidia_smi"] = state.stdout.strip().splitlines()
    folder = os.path.dirname(options.output)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(options.output, "w") as file:
        json.dump({**about, "failures": failures, "rows": rows}, file, indent=1)
        file.write("\n")


def why(error):
    """Returns the first line of an exception."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"


class Peers:
    """PyTorch's implementations of one computation: how each is timed and its error, or why it failed."""

    def __init__(self, exact, look=lambda output: output):
        """`look` selects the part of an output that is compared with `exact`."""
        self.exact, self.look = exact, look
        self.timed, self.errors, self.reasons = {}, {}, {}

    def add(self, name, call, graph=True):
        """Adds a peer. If it lacks memory or a kernel for this size, its row has the reason, and the others continue."""
        try:
            error = relative_error(self.look(call()), self.exact)
            self.timed[name] = Timed(call, graph)
            self.errors[name] = error
        except Exception as error:
            self.reasons[name] = why(error)


def exact_attention(q, k, v, causal, last):
    """Returns the float64 result for the last rows of every head."""
    scores = q[:, :, -last:].double() @ k.double().transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        hidden = torch.ones(last, k.shape[2], dtype=torch.bool, device=q.device).triu(k.shape[2] - last + 1)
        scores.masked_fill_(hidden, float("-inf"))
    return scores.softmax(-1) @ v.double()


class AttentionTurns:
    """One size in one dtype: PyTorch's implementations, and the times of both sides so far."""

    def __init__(self, size, dtype):
        self.size, self.dtype = size, dtype
        q, k, v = (torch.randn(size.b, size.h, size.s, size.d, device=DEVICE).to(DTYPES[dtype]) for _ in range(3))
        last = min(size.s, 64)
        self.peers = Peers(exact_attention(q, k, v, size.causal, last), lambda output: output[:, :, -last:])
        kinds = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
        if dtype == "float32":
            kinds = {"efficient": SDPBackend.EFFICIENT_ATTENTION}
        if options.smoke:
            kinds = {"math": SDPBackend.MATH}
        for peer, backend in kinds.items():
            with sdpa_kernel(backend):
                self.peers.add(peer, lambda: F.scaled_dot_product_attention(q, k, v, is_causal=size.causal))
        self.times, self.ours, self.states, self.share = {peer: [] for peer in self.peers.timed}, [], [], None

    def take(self, row):
        """Adds a row of attn's report, and then measures PyTorch."""
        self.ours.append(row["ms"]["median"])
        self.peers.errors["attn"] = row["relative_error"]
        self.share = row.get("peak_share", self.share)
        for peer, timed in self.peers.timed.items():
            self.times[peer].append(timed.milliseconds())
        self.states.append({"attn": row.get("gpu"), "after": machine_state()})

    def tell(self):
        if self.ours:
            add_row(self.size.name, "attention", self.dtype, {**self.times, **self.peers.reasons}, self.ours,
                    self.peers.errors, self.size.flops, {"peak_share": self.share, "state_rounds": self.states})


def attention():
    """A round of a dtype is one process of attn over all sizes, then PyTorch over the same. The first round of a dtype
    begins with the speed of a single large product."""
    for dtype, sizes in workload.attention(options.smoke).items():
        if dtype not in DTYPES_TAKEN:
            continue
        sizes = sizes[:options.first]
        round_seconds = workload.seconds_of("attention", len(sizes)) + workload.seconds_of("attention peers", len(sizes))
        if not time_left(round_seconds):
            continue
        turns = {size.row: AttentionTurns(size, dtype) for size in sizes}
        for turn in range(options.rounds):
            if turn > 0 and not time_left(round_seconds):
                break
            words = ["bench", "--attention", "--size", ",".join(size.size for size in sizes), "--dtype", dtype,
                     "--format", "jsonl", *ATTN_DEVICE, *MIN_TIME] + (["--no-peak"] if turn > 0 else [])
            for line in attn(words, workload.limit_of("attention", len(sizes))).splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue  # cut off, with the process
                if "ms" in row:
                    turns[row["model"], row["batch"], row["seq_len"]].take(row)
        for one in turns.values():
            one.tell()
        turns.clear()


class Encoder(torch.nn.Module):
    """Post-norm blocks with one packed projection, as attn's encoder config expands; weights from attn."""

    def __init__(self, weights, blocks, heads, activation):
        super().__init__()
        self.blocks, self.heads, self.activation = blocks, heads, activation
        arrays = [torch.from_numpy(np.ascontiguousarray(w)) for w in weights]
        at = 0
        for i in range(blocks):
            q, qb, k, kb, v, vb, o, ob, g1, b1, w1, c1, w2, c2, g2, b2 = arrays[at:at + 16]
            at += 16
            d = q.shape[0]
            flat = lambda w: w.reshape(d, -1).T
            parts = {"wqkv": torch.cat([flat(q), flat(k), flat(v)]), "bqkv": torch.cat([x.reshape(-1) for x in (qb, kb, vb)]),
                     "wo": o.reshape(-1, d).T, "bo": ob, "w1": w1.T, "c1": c1, "w2": w2.T, "c2": c2, "g1": g1, "b1": b1,
                     "g2": g2, "b2": b2}
            for name, value in parts.items():
                self.register_buffer(f"{name}_{i}", value.contiguous())

    def forward(self, x):
        b, s, d = x.shape
        for i in range(self.blocks):
            p = lambda name: getattr(self, f"{name}_{i}")
            qkv = F.linear(x, p("wqkv"), p("bqkv")).view(b, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            o = F.scaled_dot_product_attention(*qkv).transpose(1, 2).reshape(b, s, -1)
            x = F.layer_norm(x + F.linear(o, p("wo"), p("bo")), (d,), p("g1"), p("b1"), 1e-6)
            y = F.linear(self.activation(F.linear(x, p("w1"), p("c1"))), p("w2"), p("c2"))
            x = F.layer_norm(x + y, (d,), p("g2"), p("b2"), 1e-6)
        return x


def encoder_row(encoder, dtype):
    """Returns None if attn failed or the time is over."""
    with tempfile.TemporaryDirectory() as folder:
        path = lambda file: os.path.join(folder, file)
        config = {"name": "encoder", "input_shape": [encoder.length, encoder.d], "num_layers": encoder.blocks,
                  "num_heads": encoder.heads, "key_dim": encoder.d // encoder.heads, "intermediate_dim": encoder.ff,
                  "activation": encoder.activation, "dropout": 0.0, "layer_norm_epsilon": 1e-6}
        with open(path("config.json"), "w") as file:
            json.dump(config, file)
        if command("init", path("config.json"), "-o", path("weights.npz"), "--seed", "1") is None:
            return
        weights = np.load(path("weights.npz"))
        arrays = [weights[key] for key in weights.files]
        x = torch.randn(encoder.batch, encoder.length, encoder.d)
        np.savez(path("input.npz"), **{"keras_tensor": x.numpy()})
        function = {"relu": F.relu, "gelu": F.gelu}[encoder.activation]
        make = lambda: Encoder(arrays, encoder.blocks, encoder.heads, function).to(DEVICE)
        exact = make().double()(x.double().to(DEVICE)).cpu()
        cast, inputs = make().to(DTYPES[dtype]), x.to(DEVICE).to(DTYPES[dtype])
        peers = Peers(exact, torch.Tensor.cpu)
        peers.add("eager", lambda: cast(inputs), graph=False)
        peers.add("eager+graph", lambda: cast(inputs))
        if not options.smoke and not options.no_compile and dtype != "float32":
            torch._dynamo.reset()  # Triton needs a C compiler and Python's headers, and may not have them
            compiled = torch.compile(cast, fullgraph=True, dynamic=False)
            peers.add("compile+graph", lambda: compiled(inputs))
        words = [path("config.json"), "--weights", path("weights.npz"), *ATTN_DEVICE, "--dtype", dtype]
        if command("run", *words, "--input", path("input.npz"), "-o", path("output.npz"), "--json") is None:
            return
        out = np.load(path("output.npz"))
        got = out[out.files[0]]
        if got.dtype == np.uint16 or got.dtype.kind == "V":  # bfloat16, which NumPy does not know
            got = (got.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        peers.errors["attn"] = relative_error(torch.from_numpy(got.astype(np.float64)), exact)
        times, ours, cold, states = {peer: [] for peer in peers.timed}, [], [], []
        for _ in range(options.rounds):
            for peer, timed in peers.timed.items():
                times[peer].append(timed.milliseconds())
            report = command("bench", *words, "--batch-size", str(encoder.batch), "--json", *MIN_TIME)
            if report is None:
                return
            ours.append(report["rows"][0]["ms"]["median"])
            cold.append((report["rows"][0].get("gpu") or {}).get("cold_ms"))
            states.append({"attn": report["rows"][0].get("gpu"), "after": machine_state()})
        add_row(encoder.name, "encoder", dtype, {**times, **peers.reasons}, ours, peers.errors, encoder.flops,
                {"attn_cold_ms_rounds": cold, "state_rounds": states})


def padding_row(batch):
    """Measures attn with --skip-padding against attn without, at 0.6 of the length on average."""
    times = {"padded": [], "skipped": []}
    states = []
    for _ in range(options.rounds):
        for how, flags in (("padded", []), ("skipped", ["--skip-padding"])):
            report = command("bench", "configs/bert_base.json", *ATTN_DEVICE, "--dtype", "bfloat16", "--batch-size",
                             str(batch), "--seq-len", "128", "--mean-length", "0.6", "--json", *MIN_TIME, *flags)
            if report is None:
                return
            times[how].append(report["rows"][0]["ms"]["median"])
        states.append({"attn": report["rows"][0].get("gpu"), "after": machine_state()})
    add_row(f"bert-base b{batch} s128, 0.6 of it", "padding", "bfloat16", {"padded": times["padded"]}, times["skipped"],
            {}, None, {"state_rounds": states})


def encoders():
    """Runs bfloat16 for every model, then the gain of skipping padding, float16, and float32 last."""
    for what in ("bfloat16", "padding", "float16", "float32"):
        if what == "padding":
            for batch in () if options.smoke or options.first else workload.PADDED_BATCHES:
                if time_left(workload.seconds_of("padding")):
                    padding_row(batch)
            continue
        for encoder in workload.encoders(options.smoke)[:options.first] if what in DTYPES_TAKEN else ():
            if time_left(workload.seconds_of("encoder")):
                encoder_row(encoder, what)


def main():
    print("torch", torch.__version__, "on", DEVICE if options.smoke else torch.cuda.get_device_name())
    parts = {"attention": attention, "encoders": encoders}
    for part in options.only.split(","):
        parts[part]()
    save()
    print("wrote", options.output)
    for failure in failures:
        print("failed:", failure)
    for row in verdict.missed_goals(rows):
        print("goal not reached:", row["name"], row["dtype"], row["goal"])
    return 1 if failures else 0


sys.exit(main())
