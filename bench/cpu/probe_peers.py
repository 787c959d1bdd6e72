"""Measures `attn probe` alternately with TransformerLens, each as a whole process, on the same random GPT-2.

usage: probe_peers.py --torch-python PYTHON [--attn PROGRAM] [--rounds N] [-o FOLDER]
       (PYTHON has: torch, transformers, transformer-lens; this one needs numpy and safetensors)

The operations are the logit lens of 128 tokens, the loss without each of 144 heads for 32 tokens, and patching of the input
of 12 layers at 32 positions. Their results are compared before times are reported. CPU seconds are those of all threads:
they change less than times if other processes run.
"""
import argparse
import json
import os
import pathlib
import subprocess
import statistics
import sys
import time

import numpy as np
from safetensors.numpy import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024, "vocab_size": 50257}
SAME = 1e-4  # tolerance, relative to the largest number of a result


def make_model(folder):
    """Writes a GPT-2 of the base size with random weights, as a folder of Hugging Face."""
    r = np.random.default_rng(0)
    width = SIZES["n_embd"]
    arrays = {"wte.weight": (SIZES["vocab_size"], width), "wpe.weight": (SIZES["n_positions"], width)}
    for layer in range(SIZES["n_layer"]):
        for name, shape in (("attn.c_attn", (width, 3 * width)), ("attn.c_proj", (width, width)),
                            ("mlp.c_fc", (width, 4 * width)), ("mlp.c_proj", (4 * width, width))):
            arrays[f"h.{layer}.{name}.weight"], arrays[f"h.{layer}.{name}.bias"] = shape, shape[1:]
    weights = {name: (0.05 * r.standard_normal(shape)).astype("float32") for name, shape in arrays.items()}
    for norm in [f"h.{layer}.ln_{i}" for layer in range(SIZES["n_layer"]) for i in (1, 2)] + ["ln_f"]:
        weights[f"{norm}.weight"] = (1 + 0.1 * r.standard_normal(width)).astype("float32")
        weights[f"{norm}.bias"] = (0.1 * r.standard_normal(width)).astype("float32")
    folder.mkdir(parents=True)
    save_file({f"transformer.{name}": array for name, array in weights.items()}, folder / "model.safetensors",
              metadata={"format": "pt"})
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new",
              "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True, "torch_dtype": "float32",
              "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0, **SIZES}
    (folder / "config.json").write_text(json.dumps(config, indent=1))


def prepare(folder):
    if not (folder / "hf").exists():
        make_model(folder / "hf")
    r = np.random.default_rng(1)
    draw = lambda count: r.integers(0, SIZES["vocab_size"], count).tolist()
    about = {"lens": draw(128), "ablate": draw(32), "clean": draw(32), "token": 17, "versus": 42}
    about["corrupt"] = list(about["clean"])
    for position in (5, 11):
        about["corrupt"][position] = draw(1)[0]
    (folder / "about.json").write_text(json.dumps(about))
    return about


def attn_command(program, operation, folder, about, threads):
    ids = lambda name: ",".join(map(str, about[name]))
    words = {"lens": ["--ids", ids("lens")],
             "ablate": ["--ids", ids("ablate"), "--parts", "heads"],
             "patch": ["--clean", "#" + ids("clean"), "--corrupt", "#" + ids("corrupt"), "--token",
                       f"#{about['token']}", "--versus", f"#{about['versus']}"]}[operation]
    return [program, "probe", operation, folder / "hf", *words, "--threads", threads, "--json"]


def attn_result(operation, text):
    found = json.loads(text)
    if operation == "lens":
        count = len(found["points"])
        cells = found["cells"]
        top = [[token["log_prob"] for token in cell["top"]] for cell in cells]
        return {"top": np.array(top).reshape(count, -1, 5),
                "entropy": np.array([cell["entropy_nats"] for cell in cells]).reshape(count, -1)}
    if operation == "ablate":
        return {"change": np.array([change["loss"] for change in found["changes"]])}
    return {"value": np.array([place["value"] for place in found["results"]])}


def measured(words, output):
    """Runs a command; returns the seconds, CPU seconds and peak bytes of its process."""
    start = time.perf_counter()
    with open(output, "w") as file, open(f"{output}.err", "w") as errors:
        process = subprocess.Popen([*map(str, words)], stdout=file, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(map(str, words[:3]))}: {pathlib.Path(f'{output}.err').read_text()[-2000:]}")
    return {"seconds": time.perf_counter() - start, "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "peak_bytes": usage.ru_maxrss * 1024}


def difference(got, wanted):
    """Returns the largest difference of two results, relative to the largest number."""
    return max(float(np.abs(got[name] - wanted[name]).max() / np.abs(wanted[name]).max()) for name in wanted)


def measure(arguments, folder, operation, about):
    rows = {"attn": [], "TransformerLens": []}
    for _ in range(arguments.rounds):
        out = folder / f"{operation}.json"
        rows["attn"].append(measured(attn_command(arguments.attn, operation, folder, about, arguments.threads), out))
        result, answer = folder / f"{operation}.npz", folder / f"{operation}.out"
        rows["TransformerLens"].append(measured(
            [arguments.torch_python, ROOT / "bench/cpu/probe_worker.py", operation, folder, result, arguments.threads],
            answer))
        loaded = [line for line in answer.read_text().splitlines() if line.startswith('{"')][-1]
        rows["TransformerLens"][-1]["loaded_seconds"] = json.loads(loaded)["seconds"]
    with np.load(result) as arrays:
        apart = difference(attn_result(operation, out.read_text()), {name: arrays[name] for name in arrays.files})
    if not apart <= SAME:
        raise SystemExit(f"{operation}: the results differ by {apart:.2e} of the largest number")
    return {"operation": operation, "difference": apart, "rounds": rows}


def table(results):
    lines = ["| operation | runtime | seconds | CPU seconds | after loading | MB | attn is faster | CPU | memory |",
             "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for result in results:
        middle = lambda name, key: statistics.median(row[key] for row in result["rounds"][name])
        for name in result["rounds"]:
            ratio = lambda key: (statistics.median(b[key] / a[key] for a, b in zip(result["rounds"]["attn"],
                                                                                    result["rounds"][name])))
            loaded = f"{middle(name, 'loaded_seconds'):.2f}" if name != "attn" else "–"
            lines.append(f"| {result['operation']} | {name} | {middle(name, 'seconds'):.2f} | "
                         f"{middle(name, 'cpu_seconds'):.2f} | {loaded} | {middle(name, 'peak_bytes') / 1e6:.0f} | "
                         f"{ratio('seconds'):.1f}× | {ratio('cpu_seconds'):.1f}× | {ratio('peak_bytes'):.1f}× |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--attn", default=ROOT / "build/attn")
    parser.add_argument("--only", choices=["lens", "ablate", "patch"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("-o", "--output", default=ROOT / "build/peers/results", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = ROOT / "build/peers/probe"
    folder.mkdir(parents=True, exist_ok=True)
    about = prepare(folder)
    results = []
    for operation in ("lens", "ablate", "patch"):
        if arguments.only in (None, operation):
            results.append(measure(arguments, folder, operation, about))
            print(table(results[-1:]), file=sys.stderr)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "probe.json").write_text(json.dumps(results, indent=1) + "\n")
    (arguments.output / "probe.md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
