#!/usr/bin/env python3
"""Compares attn with transformers, CTranslate2, llama.cpp, OpenVINO, ONNX Runtime GenAI and KerasHub on decoders on this
CPU.

usage: decoders.py --attn ATTN -o FOLDER [--only W,…] [--runtimes R,…] [--dtypes …] [--rounds N]
       (bench/cpu/run --decoders makes the environment and calls it)

All runtimes use the same random weights, from one Hugging Face folder. In every round each runtime in turn prefills one prompt
and runs a number of decode steps, once; the result is the ratio of attn's tokens per second to the runtime's in the same round.
Times are those of the model: of a prompt until its logits are known, and of decode steps after the first token; `first` is from
process start to the first token, with files in the runtime's own format. In int8 and int4 each runtime quantizes by its own
means: attn and KerasHub like model.quantize, llama.cpp by Q8_0 and Q4_0, CTranslate2 by int8, OpenVINO by NNCF. The greedy tokens
of a runtime are checked with transformers in float32: each must be the most probable one, within the rounding of the dtype;
otherwise the runtime has no row. Writes decoders.json and decoders.md to FOLDER.
"""
import argparse
import json
import os
import pathlib
import shlex
import statistics
import sys
import tempfile
import time

import numpy as np
from safetensors.numpy import save_file

from peers import HERE, ROOT
from processes import Worker, command, timed_command

# If memory does not hold all of them, the first ones are measured.
RUNTIMES = ["llama.cpp", "ctranslate2", "openvino", "onnxruntime-genai", "transformers", "transformers-compiled", "keras-hub"]
MODELS = {
    "gpt2_base": {"kind": "gpt2", "vocabulary": 50257, "width": 768, "layers": 12, "heads": 12, "inner": 3072,
                  "positions": 1024},
    "llama_1b": {"kind": "llama", "vocabulary": 32000, "width": 2048, "layers": 16, "heads": 32, "key_heads": 8,
                 "inner": 8192, "positions": 2048},
    "gpt2_tiny": {"kind": "gpt2", "vocabulary": 512, "width": 64, "layers": 2, "heads": 4, "inner": 256, "positions": 1024},
    "llama_tiny": {"kind": "llama", "vocabulary": 512, "width": 64, "layers": 2, "heads": 4, "key_heads": 2, "inner": 96,
                   "positions": 1024},
}
TESTS = [{"test": "first", "tokens": 1, "depth": 0, "batch": 1}, {"test": "pp", "tokens": 32, "depth": 0, "batch": 1},
         {"test": "pp", "tokens": 512, "depth": 0, "batch": 1}, {"test": "tg", "tokens": 64, "depth": 32, "batch": 1},
         {"test": "tg", "tokens": 64, "depth": 32, "batch": 8}]
# Allowed deviation relative to the largest logit: how far each chosen token may be below the most probable one, or the
# mean over tokens for weights with few bits. A random token is about 1 below.
CLOSE = {"float32": 1e-4, "bfloat16": 3e-2, "int8": 3e-2, "int4": 2.5e-1}


def test_name(test):
    if test["test"] == "first":
        return "first"
    return f"{test['test']}{test['tokens']}" + (f"@d{test['depth']}" if test["depth"] else "")


def drawn(random, *shape, scale):
    return (scale * random.standard_normal(shape, np.float32)).astype(np.float32)


def gpt2(model):
    """Writes config.json and weights. Scales are chosen so that the next token depends on the earlier ones."""
    random = np.random.default_rng(7)
    width, inner = model["width"], model["inner"]
    weights = {"wte.weight": drawn(random, model["vocabulary"], width, scale=0.05),
               "wpe.weight": drawn(random, model["positions"], width, scale=0.05),
               "ln_f.weight": 1 + drawn(random, width, scale=0.1), "ln_f.bias": drawn(random, width, scale=0.1)}
    for i in range(model["layers"]):
        for norm in ("ln_1", "ln_2"):
            weights[f"h.{i}.{norm}.weight"] = 1 + drawn(random, width, scale=0.1)
            weights[f"h.{i}.{norm}.bias"] = drawn(random, width, scale=0.1)
        for part, rows, columns in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                    ("mlp.c_fc", width, inner), ("mlp.c_proj", inner, width)):
            weights[f"h.{i}.{part}.weight"] = drawn(random, rows, columns, scale=rows**-0.5)
            weights[f"h.{i}.{part}.bias"] = drawn(random, columns, scale=0.02)
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": model["vocabulary"],
              "n_positions": model["positions"], "n_embd": width, "n_layer": model["layers"], "n_head": model["heads"],
              "n_inner": inner, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "bos_token_id": 0,
              "eos_token_id": 0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return config, {f"transformer.{name}": array for name, array in weights.items()}


def llama(model):
    random = np.random.default_rng(7)
    width, inner, size = model["width"], model["inner"], model["width"] // model["heads"]
    weights = {"model.embed_tokens.weight": drawn(random, model["vocabulary"], width, scale=0.05),
               "lm_head.weight": drawn(random, model["vocabulary"], width, scale=0.05),
               "model.norm.weight": 1 + drawn(random, width, scale=0.1)}
    for i in range(model["layers"]):
        at = f"model.layers.{i}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{at}{norm}.weight"] = 1 + drawn(random, width, scale=0.1)
        for part, rows, columns in (("self_attn.q_proj", width, width), ("self_attn.o_proj", width, width),
                                    ("self_attn.k_proj", width, model["key_heads"] * size),
                                    ("self_attn.v_proj", width, model["key_heads"] * size),
                                    ("mlp.gate_proj", width, inner), ("mlp.up_proj", width, inner),
                                    ("mlp.down_proj", inner, width)):
            weights[f"{at}{part}.weight"] = drawn(random, columns, rows, scale=rows**-0.5)
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": model["vocabulary"],
              "max_position_embeddings": model["positions"], "hidden_size": width, "intermediate_size": inner,
              "num_hidden_layers": model["layers"], "num_attention_heads": model["heads"],
              "num_key_value_heads": model["key_heads"], "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
              "hidden_act": "silu", "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 0}
    return config, weights


def prepare(name, folder):
    """Writes a Hugging Face folder whose tokens are called t0, t1, …"""
    model = MODELS[name]
    config, weights = {"gpt2": gpt2, "llama": llama}[model["kind"]](model)
    hf = folder / "hf"
    hf.mkdir()
    (hf / "config.json").write_text(json.dumps(config))
    save_file(weights, hf / "model.safetensors", metadata={"format": "pt"})
    vocabulary = {f"t{i}": i for i in range(model["vocabulary"])}
    (hf / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "t0"}}))
    (hf / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "t0", "eos_token": "t0", "unk_token": "t0"}))
    prompt = np.random.default_rng(3).integers(0, model["vocabulary"], (1, 16)).tolist()
    (folder / "about.json").write_text(json.dumps({"vocabulary": model["vocabulary"], "prompt": prompt,
                                                   "new_tokens": 24}))
    return prompt


def first_token(words):
    start = time.perf_counter()
    _, others = timed_command(*words)
    return 1 / (time.perf_counter() - start), others


class Peer(Worker):
    """A worker process. `why` is the reason why it stopped."""

    why = None

    def __init__(self, python, runtime, dtype, folder, threads):
        self.words = [python, HERE / "decoder_worker.py", runtime, dtype, folder, threads]
        super().__init__(runtime, self.words, log=open(folder / f"{runtime}.log", "w"))

    def turn(self, test):
        """Returns tokens per second, and the share of the machine that other processes used meanwhile."""
        if test["test"] == "first":
            return first_token([*self.words, "first"])
        answer, others = self.ask(json.dumps(test))
        if "ms" not in answer:
            self.why = answer.get("why", "the process died")
            return float("nan"), others
        return 1e3 * test["batch"] * test["tokens"] / answer["ms"], others


class Attn:
    """Starts attn for each turn, which prefills one prompt first to warm up like the others."""

    name, why = "attn", None

    def __init__(self, attn, dtype, folder, threads, prompt):
        self.attn, self.folder = attn, folder
        self.options = ["--threads", threads, *(["--dtype", dtype] if dtype != "float32" else [])]
        self.peak = 0
        self.words = [attn, "generate", folder / "hf", "--ids", ",".join(map(str, prompt[0])), "--sampler", "greedy",
                      "--stop-ids", "none", "--json", "--quiet", *self.options, "--max-new-tokens"]
        out = command(*self.words, 24)
        self.info = {"ready": True, "ids": [json.loads(out)["results"][0]["token_ids"][len(prompt[0]):]]}

    def turn(self, test):
        if test["test"] == "first":
            return first_token([*self.words, 1])
        out, others = timed_command(self.attn, "bench", self.folder / "hf", f"--{test['test']}", test["tokens"], "--depth",
                                    test["depth"], "--batch-size", test["batch"], "--iterations", 1, "--warmup", 1,
                                    "--verify", "never", "--json", "--quiet", *self.options)
        row = json.loads(out)["rows"][0]
        self.peak = max(self.peak, row["peak_bytes"])
        return row["tokens_per_second"], others

    def end(self):
        return self.peak


def wrong_ids(reference, prompt, ids, dtype):
    """Returns how a runtime's tokens differ from the reference's; nothing if they agree."""
    answer, _ = reference.ask(json.dumps({"test": "gaps", "prompt": prompt[0], "ids": ids[0]}))
    gap = (statistics.mean if dtype in ("int8", "int4") else max)(answer["gaps"])
    return f"its tokens are {gap:.2g} of the largest logit below the most probable" if gap > CLOSE[dtype] else None


def no_room(folder):
    """Returns the reason why another runtime does not fit into memory; None if it fits. During conversion, a runtime needs
    twice the size of the stored weights."""
    needed = 2 * (folder / "hf/model.safetensors").stat().st_size
    free = next(1024 * int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemAvailable"))
    return f"it may need {needed / 1e9:.1f} GB, but only {free / 1e9:.1f} GB are free" if needed > free else None


def make_peers(options, name, dtype, threads, folder):
    prompt = prepare(name, folder)
    reference = Peer(sys.executable, "transformers", "float32", folder, threads)
    if why := reference.info.get("why"):
        raise SystemExit(f"{name}: no reference: {why}")
    peers, rows = [], []
    for runtime in ["attn", *options.runtimes]:
        if why := no_room(folder):
            rows.append({"runtime": runtime, "why_not": why})
            print(f"{name} {dtype}: {runtime}: not measured: {why}", flush=True)
            continue
        python = options.keras_python if runtime == "keras-hub" else sys.executable
        peer = Attn(options.attn, dtype, folder, threads, prompt) if runtime == "attn" else Peer(
            python, runtime, dtype, folder, threads)
        why = peer.info.get("why") or wrong_ids(reference, prompt, peer.info["ids"], dtype)
        if why and runtime == "attn":
            raise SystemExit(f"{name} {dtype}: attn: {why}")
        if why:
            why = why.replace(f"{folder}/", "")
            print(f"{name} {dtype}: {runtime}: not measured: {why}", flush=True)
            rows.append({"runtime": runtime, "why_not": why})
            peer.process.kill()
            continue
        peers.append(peer)
    reference.end()
    return peers, rows


def measure(options, name, dtype, threads):
    with tempfile.TemporaryDirectory(prefix="attn-decoders-", dir=options.scratch) as where:
        peers, rows = make_peers(options, name, dtype, threads, pathlib.Path(where))
        tests = [test for test in TESTS if test_name(test) in options.tests.split(",") or options.tests == "all"]
        rates = {(peer.name, i): [] for peer in peers for i in range(len(tests))}
        noisy = dict.fromkeys(rates, 0)
        for round_number in range(options.rounds + 1):
            for i, test in enumerate(tests):
                for peer in [peer for peer in peers if not peer.why]:
                    best = None
                    for _ in range(1 + options.retries):
                        time.sleep(0.2)  # until the previous runtime's threads sleep
                        turn = peer.turn(test)
                        if best is None or turn[1] < best[1]:
                            best = turn
                        if turn[1] <= 0.1 or round_number == 0 or peer.why:
                            break
                    if round_number > 0:  # the first round warms up
                        rates[peer.name, i].append(best[0])
                        noisy[peer.name, i] += best[1] > 0.1
        for peer in [peer for peer in peers if peer.why]:
            print(f"{name} {dtype}: {peer.name}: not measured: {peer.why}", flush=True)
            rows.append({"runtime": peer.name, "why_not": peer.why})
            peers.remove(peer)
        peaks = {peer.name: peer.end() for peer in peers}
        for i, test in enumerate(tests):
            for peer in peers:
                ratios = [a / b for a, b in zip(rates["attn", i], rates[peer.name, i])]
                rows.append({"runtime": peer.name, "test": test_name(test), "batch": test["batch"],
                             "tokens_per_second": statistics.median(rates[peer.name, i]), "passes": options.rounds,
                             "least": min(rates[peer.name, i]), "most": max(rates[peer.name, i]),
                             "ratio": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios),
                             "noisy_windows": noisy[peer.name, i], "peak_bytes": peaks[peer.name]})
                row = rows[-1]
                print(f"{name} {dtype} {row['test']} batch {row['batch']}: {peer.name} "
                      f"{row['tokens_per_second']:.4g} tokens/s ({row['least']:.4g} to {row['most']:.4g}), "
                      f"ratio {row['ratio']:.2f} ({row['ratio_min']:.2f} to {row['ratio_max']:.2f}), "
                      f"{row['noisy_windows']} of {row['passes']} passes beside others", flush=True)
    for row in rows:
        row.update(model=name, dtype=dtype, threads=threads)
    return rows


def markdown(about, rows):
    lines = ["# attn beside other runtimes: decoders", "", about["machine"], "", f"attn {about['attn']}, "
             + ", ".join(f"{name} {version}" for name, version in about["versions"].items()), "",
             f"`{about['command']}`", "", "Tokens per second are the median of the passes, and the least and most of them; ratios are attn's over the "
             "runtime's in the same round. `noisy`: passes in which other processes had more than a tenth of the machine.", "",
             "| model | dtype | test | batch | runtime | tokens/s | | attn's ratio | | noisy | MB |",
             "|---|---|---|---:|---|---:|---|---:|---|---:|---:|"]
    for row in rows:
        where = f"| {row['model']} | {row['dtype']} | "
        if "ratio" in row:
            peak = f"{row['peak_bytes'] / 1e6:,.0f}" if row["peak_bytes"] else ""
            lines.append(where + f"{row['test']} | {row['batch']} | {row['runtime']} | {row['tokens_per_second']:.4g} | "
                         f"{row['least']:.4g}–{row['most']:.4g} | **{row['ratio']:.2f}** | "
                         f"{row['ratio_min']:.2f}–{row['ratio_max']:.2f} | {row['noisy_windows']} of {row['passes']} | {peak} |")
        else:
            lines.append(where + f"| | {row['runtime']} | {row['why_not']} | | | | | |")
    return "\n".join(lines) + "\n"


def versions(python):
    code = ("import importlib.metadata as m, json\n"
            "names = ['transformers', 'torch', 'ctranslate2', 'llama_cpp_python', 'openvino', 'optimum-intel', "
            "'onnxruntime-genai', 'keras-hub']\n"
            "print(json.dumps({n: m.version(n) for n in names if any(True for _ in m.distributions(name=n))}))")
    return json.loads(command(python, "-c", code))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attn", default=str(ROOT / "build/attn"))
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="gpt2_base,llama_1b", help=", ".join(MODELS))
    parser.add_argument("--runtimes", default=",".join(RUNTIMES))
    parser.add_argument("--dtypes", default="float32,bfloat16,int8,int4")
    parser.add_argument("--tests", default="all", help="first, pp32, pp512, tg64@d32")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--retries", type=int, default=2)
    parser.add_argument("--scratch", help="a folder for models, of some 15 GB")
    parser.add_argument("--keras-python", default=sys.executable)
    options = parser.parse_args()
    options.runtimes = list(filter(None, options.runtimes.split(",")))
    options.output.mkdir(parents=True, exist_ok=True)
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    about = {"schema": "attn.decoder-peers/1", "command": os.environ.get("PEERS_COMMAND") or shlex.join(sys.argv),
             "machine": f"{cpu}, {os.cpu_count()} cores", "attn": command(options.attn, "--version").split()[-1],
             "versions": {**versions(options.keras_python), **versions(sys.executable)}}
    rows = []
    for name in options.only.split(","):
        for dtype in options.dtypes.split(","):
            rows += measure(options, name, dtype, options.threads)
            (options.output / "decoders.json").write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
            (options.output / "decoders.md").write_text(markdown(about, rows))


if __name__ == "__main__":
    main()
