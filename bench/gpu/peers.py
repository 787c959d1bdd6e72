#!/usr/bin/env python3
"""attn against PyTorch on one GPU, in turn: whole encoders, what skipping padding gains, and attention kernels alone.

Every row is a ratio of medians: in each round PyTorch and attn measure the same work one after the other, with CUDA
events around replays of a CUDA graph, so that drift of the clocks shows as spread and not as speed. Every row carries
the error of both against float64, the clocks and watts after each round, whether attn's error is within what issue and
docs allow ("pass"), and where there is a goal for the ratio, whether it is met. Exits with 1 where an error is too large
or attn failed; a goal that is missed is told and is no failure.

    bench/gpu/peers.py --attn build/attn -o bench/gpu/results/h200.json [--only encoders,padding,attention] [--rounds 3]

--smoke runs tiny sizes on the CPU, to try the script itself; its times mean nothing.
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

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--attn", default="build/attn")
parser.add_argument("-o", "--output", default="peers.json")
parser.add_argument("--only", default="encoders,padding,attention")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--minutes", type=float, default=16, help="begin no further row after this long")
parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
parser.add_argument("--smoke", action="store_true")
options = parser.parse_args()

torch.set_grad_enabled(False)
torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
DEVICE = "cpu" if options.smoke else "cuda"
BEGAN = time.time()
rows = []
failures = []
# Relative Frobenius norm against float64. An encoder in bfloat16 may have twice the error of PyTorch's.
LARGEST_ERROR = {("attention", "bfloat16"): 3e-3, ("attention", "float16"): 5e-4, ("attention", "float32"): 1e-5,
                 ("encoder", "float16"): 3e-3, ("encoder", "float32"): 1e-5}


def command(*words):
    """attn's JSON for a command; None, and why on stderr, where it fails."""
    done = subprocess.run([options.attn, *words], capture_output=True, text=True)
    if done.returncode != 0:
        print("attn", *words, "->", done.returncode, done.stderr.strip()[:300], file=sys.stderr)
        failures.append(f"attn {' '.join(words)}: exit {done.returncode}")
        return None
    return json.loads(done.stdout) if "--json" in words else {}


def time_left():
    return time.time() - BEGAN < 60 * options.minutes


def machine_state():
    """Clock in MHz, watts and °C, now."""
    if options.smoke:
        return None
    done = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,power.draw,temperature.gpu",
                           "--format=csv,noheader,nounits"], capture_output=True, text=True)
    return done.stdout.strip().splitlines()[:1]


def goal_of(kind, name, dtype):
    """(peer, largest ratio of times) that attn is to reach, or None."""
    if kind == "encoder" and dtype != "float32":
        return "compile+graph", 0.9
    if kind == "padding":
        return "padded", 0.75
    if kind == "attention" and dtype == "bfloat16" and (" s4096 " in name or " s16384 " in name):
        if " d128" in name:
            return "cudnn", 1 / 0.75
        if " d64" in name:
            return "cudnn", 1 / 0.8
    return None


def error_passes(kind, dtype, errors):
    if kind == "padding":
        return True  # both sides are attn's own; its tests hold them to each other
    if kind == "encoder" and dtype == "bfloat16":
        return errors["attn"] <= 2 * errors.get("eager", errors.get("compile+graph", 0))
    return errors["attn"] <= LARGEST_ERROR[kind, dtype]


def relative_error(got, exact):
    got, exact = got.double(), exact.double()
    return ((got - exact).norm() / exact.norm()).item()


class Timed:
    """A PyTorch call as a CUDA graph (or as it is), to be timed again and again."""

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
            self.replay()  # so that the first event is not there before the host has launched what is timed
            first.record()
            self.replay()
            last.record()
            last.synchronize()
            samples.append(first.elapsed_time(last))
        return statistics.median(samples)


def row_of(name, kind, dtype, peers, ours, errors, flops=None, extra=None):
    """peers and ours: milliseconds per round. The ratio of each round is attn's time over the peer's. A peer that failed
    has its reason, a text, in the place of its times."""
    reasons = {peer: times for peer, times in peers.items() if isinstance(times, str)}
    peers = {peer: times for peer, times in peers.items() if peer not in reasons}
    row = {"name": name, "kind": kind, "dtype": dtype, "rounds": options.rounds, "attn_ms": statistics.median(ours),
           "attn_ms_rounds": ours, "relative_error": errors, "peers": {}}
    if flops:
        row["attn_tflops"] = flops / row["attn_ms"] / 1e9
    for peer, times in peers.items():
        ratios = [mine / theirs for mine, theirs in zip(ours, times)]
        row["peers"][peer] = {"ms": statistics.median(times), "ms_rounds": times, "ratio": statistics.median(ratios),
                              "ratio_min": min(ratios), "ratio_max": max(ratios)}
        if flops:
            row["peers"][peer]["tflops"] = flops / row["peers"][peer]["ms"] / 1e9
    row["peers"].update({peer: {"failed": reason} for peer, reason in reasons.items()})
    row["pass"] = error_passes(kind, dtype, errors)
    if not row["pass"]:
        failures.append(f"{name} {dtype}: error {errors['attn']:.1e}")
    goal = goal_of(kind, name, dtype)
    if goal:
        ratio = row["peers"].get(goal[0], {}).get("ratio")
        row["goal"] = {"peer": goal[0], "ratio": goal[1], "met": None if ratio is None else ratio <= goal[1]}
    row.update(extra or {})
    rows.append(row)
    print(f"{name:34s} {dtype:9s} attn {row['attn_ms']:9.4f} ms"
          + (f" {row['attn_tflops']:6.1f} TF/s" if flops else "") + f" err {errors.get('attn') or float('nan'):.1e}")
    for peer, it in row["peers"].items():
        if "failed" in it:
            print(f"{'':34s} {peer:>22s} failed: {it['failed']}")
            continue
        print(f"{'':34s} {peer:>22s} {it['ms']:9.4f} ms  ratio {it['ratio']:.3f} "
              f"[{it['ratio_min']:.3f}, {it['ratio_max']:.3f}]  err {errors.get(peer) or float('nan'):.1e}", flush=True)
    save()


def save():
    about = {"schema": "attn.gpu-peers/1", "command": " ".join(sys.argv), "torch": torch.__version__,
             "python": platform.python_version(), "attn": subprocess.run([options.attn, "--version"], capture_output=True,
                                                                          text=True).stdout.strip()}
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
    """The first line of an exception."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"


class Peers:
    """The ways that PyTorch has of one computation: how each is timed and its error, or why it failed."""

    def __init__(self, exact, look=lambda output: output):
        """look: what of an output is held against exact."""
        self.exact, self.look = exact, look
        self.timed, self.errors, self.reasons = {}, {}, {}

    def add(self, name, call, graph=True):
        """One that fails, for want of memory or of a kernel for this size, is a reason in its row and takes no other along."""
        try:
            error = relative_error(self.look(call()), self.exact)
            self.timed[name] = Timed(call, graph)
            self.errors[name] = error
        except Exception as error:
            self.reasons[name] = why(error)


def exact_attention(q, k, v, causal, last):
    """In float64, for the last rows of every head."""
    scores = q[:, :, -last:].double() @ k.double().transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        hidden = torch.ones(last, k.shape[2], dtype=torch.bool, device=q.device).triu(k.shape[2] - last + 1)
        scores.masked_fill_(hidden, float("-inf"))
    return scores.softmax(-1) @ v.double()


def attention():
    if options.smoke:
        sizes = [("bfloat16", 2, 2, 64, 64)]
    else:
        sizes = [("bfloat16", b, 2048 // d, s, d) for s, b in ((4096, 4), (16384, 1), (1024, 16), (512, 32))
                 for d in (128, 64)]
        sizes += [("float16", 4, 2048 // d, 4096, d) for d in (128, 64)]
        sizes += [("bfloat16", 8, 12, 512, 64), ("bfloat16", 32, 8, 50, 64), ("bfloat16", 4, 16, 4096, 96),
                  ("bfloat16", 4, 8, 4096, 256), ("float32", 1, 16, 2048, 64)]
    for dtype, b, h, s, d in sizes:
        for causal in (False, True):
            if not time_left():
                return
            name = f"attention b{b} h{h} s{s} d{d}{' causal' if causal else ''}"
            flops = 4 * b * h * s * s * d / (2 if causal else 1)
            q, k, v = (torch.randn(b, h, s, d, device=DEVICE).to(DTYPES[dtype]) for _ in range(3))
            last = min(s, 64)
            exact = exact_attention(q, k, v, causal, last)
            peers = Peers(exact, lambda output: output[:, :, -last:])
            kinds = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
                     "efficient": SDPBackend.EFFICIENT_ATTENTION}
            if options.smoke:
                kinds = {"math": SDPBackend.MATH}
            for peer, backend in kinds.items():
                if (peer == "efficient") != (dtype == "float32") and not options.smoke:
                    continue
                with sdpa_kernel(backend):
                    peers.add(peer, lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
            words = ["bench", "--attention", "--head-dim", str(d), "--heads", str(h), "--batch", str(b), "--seq-len",
                     str(s), "--dtype", dtype, "--device", "cpu" if options.smoke else "cuda", "--json", "--min-time",
                     "0.05" if options.smoke else "0.5"] + (["--causal"] if causal else [])
            errors = peers.errors
            times, ours, share, states = {peer: [] for peer in peers.timed}, [], None, []
            for _ in range(options.rounds):
                for peer, timed in peers.timed.items():
                    times[peer].append(timed.milliseconds())
                report = command(*words)
                if report is None:
                    break
                ours.append(report["rows"][0]["ms"]["median"])
                errors["attn"] = report["rows"][0]["relative_error"]
                share = report["rows"][0].get("peak_share")
                states.append({"attn": report["rows"][0].get("gpu"), "after": machine_state()})
            if len(ours) == options.rounds:
                row_of(name, "attention", dtype, {**times, **peers.reasons}, ours, errors, flops,
                       {"peak_share": share, "state_rounds": states})


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


def encoders():
    if options.smoke:
        sizes = [("tiny b2 s8", 2, 32, 4, 64, "relu", 2, 8)]
    else:
        bert = [(f"bert-base b{b} s{s}", 12, 768, 12, 3072, "gelu", b, s) for b, s in ((1, 128), (8, 128), (32, 128), (1, 512))]
        sizes = [("seed b1 s50", 6, 512, 8, 2048, "relu", 1, 50), ("seed b32 s50", 6, 512, 8, 2048, "relu", 32, 50)] + bert
    for name, blocks, d, heads, ff, activation, batch, length in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = lambda file: os.path.join(folder, file)
            config = {"name": "encoder", "input_shape": [length, d], "num_layers": blocks, "num_heads": heads,
                      "key_dim": d // heads, "intermediate_dim": ff, "activation": activation, "dropout": 0.0,
                      "layer_norm_epsilon": 1e-6}
            with open(path("config.json"), "w") as file:
                json.dump(config, file)
            if command("init", path("config.json"), "-o", path("weights.npz"), "--seed", "1") is None:
                return
            weights = np.load(path("weights.npz"))
            x = torch.randn(batch, length, d)
            np.savez(path("input.npz"), **{"keras_tensor": x.numpy()})
            function = {"relu": F.relu, "gelu": F.gelu}[activation]
            model = Encoder([weights[key] for key in weights.files], blocks, heads, function).to(DEVICE)
            exact = model.double()(x.double().to(DEVICE)).cpu()
            flops = blocks * batch * length * (8 * d * d + 4 * d * ff) + 4 * blocks * batch * length * length * d
            for dtype in ("bfloat16", "float16", "float32"):
                if not time_left():
                    return
                cast = Encoder([weights[key] for key in weights.files], blocks, heads, function).to(DEVICE).to(DTYPES[dtype])
                inputs = x.to(DEVICE).to(DTYPES[dtype])
                peers = Peers(exact, torch.Tensor.cpu)
                errors = peers.errors
                peers.add("eager", lambda: cast(inputs), graph=False)
                peers.add("eager+graph", lambda: cast(inputs))
                if not options.smoke and not options.no_compile and dtype != "float32":
                    torch._dynamo.reset()  # Triton needs a C compiler and Python's headers, and may not have them
                    compiled = torch.compile(cast, fullgraph=True, dynamic=False)
                    peers.add("compile+graph", lambda: compiled(inputs))
                device = "cpu" if options.smoke else "cuda"
                words = [path("config.json"), "--weights", path("weights.npz"), "--device", device, "--dtype", dtype]
                if command("run", *words, "--input", path("input.npz"), "-o", path("output.npz"), "--json") is None:
                    continue
                out = np.load(path("output.npz"))
                got = out[out.files[0]]
                if got.dtype == np.uint16 or got.dtype.kind == "V":  # bfloat16, which NumPy does not know
                    got = (got.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
                errors["attn"] = relative_error(torch.from_numpy(got.astype(np.float64)), exact)
                times, ours, cold, states = {peer: [] for peer in peers.timed}, [], [], []
                for _ in range(options.rounds):
                    for peer, timed in peers.timed.items():
                        times[peer].append(timed.milliseconds())
                    report = command("bench", *words, "--batch", str(batch), "--json", "--min-time",
                                     "0.05" if options.smoke else "0.5")
                    if report is None:
                        break
                    ours.append(report["rows"][0]["ms"]["median"])
                    cold.append((report["rows"][0].get("gpu") or {}).get("cold_ms"))
                    states.append({"attn": report["rows"][0].get("gpu"), "after": machine_state()})
                if len(ours) == options.rounds:
                    row_of(name, "encoder", dtype, {**times, **peers.reasons}, ours, errors, flops,
                           {"attn_cold_ms_rounds": cold, "state_rounds": states})


def padding():
    """attn with --skip-padding over attn without, at 0.6 of the length in the mean."""
    if options.smoke:
        return
    for batch in (8, 32):
        if not time_left():
            return
        times = {"padded": [], "skipped": []}
        states = []
        for _ in range(options.rounds):
            for how, flags in (("padded", []), ("skipped", ["--skip-padding"])):
                report = command("bench", "configs/bert_base.json", "--device", "cuda", "--dtype", "bfloat16", "--batch",
                                 str(batch), "--seq-len", "128", "--mean-length", "0.6", "--min-time", "0.5", "--json",
                                 *flags)
                if report is None:
                    return
                times[how].append(report["rows"][0]["ms"]["median"])
            states.append({"attn": report["rows"][0].get("gpu"), "after": machine_state()})
        row_of(f"bert-base b{batch} s128, 0.6 of it", "padding", "bfloat16", {"padded": times["padded"]}, times["skipped"],
               {}, None, {"state_rounds": states})


def main():
    print("torch", torch.__version__, "on", DEVICE if options.smoke else torch.cuda.get_device_name())
    parts = {"encoders": encoders, "padding": padding, "attention": attention}
    for part in options.only.split(","):
        if part in parts:
            parts[part]()
    save()
    print("wrote", options.output)
    for failure in failures:
        print("failed:", failure)
    for row in rows:
        if row.get("goal") and not row["goal"]["met"]:
            print("goal not reached:", row["name"], row["dtype"], row["goal"])
    return 1 if failures else 0


sys.exit(main())
