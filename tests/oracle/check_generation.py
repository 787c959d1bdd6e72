"""Scores `attn` on a folder of results of KerasHub.

    python tests/oracle/check_generation.py ATTN [FOLDER] [--only NAME]

Each subfolder of FOLDER (tests/data/generation) is a case. It has preset/, and may have hf/, task.keras, task_summary.txt,
tokens.json, hf_tokens.json, outputs.json and backbone.npz; a missing tokens.json is taken from tests/data/tokenizers. All
checks use the command line, on both backends of the CPU:

- tables, byte for byte
- token ids of texts in both workflows
- the tokens of every sampler and seed, from prompts as texts and as ids, and beams with their log-probabilities
- logits, with the tolerances of tests/generation

One run of twenty may differ in a token, because its random number is within the rounding of a step of the distribution.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BACKENDS = ["reference", "onednn"]
KINDS = {"GreedySampler": "greedy", "RandomSampler": "random", "TopKSampler": "top_k", "TopPSampler": "top_p",
         "BeamSampler": "beam", "ContrastiveSampler": "contrastive"}
DRAWN = ("random", "top_k", "top_p")
score = collections.defaultdict(lambda: [0, 0])


class Failed(Exception):
    pass


def attn(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip())
    return done.stdout


def count(kind, where, good, why=""):
    score[kind][0] += bool(good)
    score[kind][1] += 1
    if not good:
        print(f"{where}: {kind}: {str(why)[:600]}", flush=True)


def read(path):
    return json.loads(path.read_text())


def cut(rows, masks):
    return [row[:sum(mask)] for row, mask in zip(rows, masks)]


def without_counts(text):
    """Removes the numbers that Keras appends to names of layers because the process created others before."""
    for counted, plain in (("multiply_1 (Multiply)", "multiply (Multiply)  "), ("multiply_1[0][0], ", "multiply[0][0],   "),
                           ("get_item_2 (GetItem)", "get_item (GetItem)  "), ("get_item_3 (GetItem)", "get_item_1 (GetItem)"),
                           ("get_item_2[0][0], ", "get_item[0][0],   "), ("get_item_2[0][0] ", "get_item[0][0]   "),
                           ("get_item_3[0][0],", "get_item_1[0][0],")):
        text = text.replace(counted, plain)
    return text


def check_summary(program, case):
    expected = without_counts((case / "task_summary.txt").read_text()).rstrip("\n")
    found = attn(program, "summary", "--line-length", 80, case / "preset").rstrip("\n")
    count("task_summary.txt", case.name, found == expected, "another table")


def check_ids(program, model, rows, kind, key, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump([row["text"] for row in rows], file)
        file.flush()
        found = json.loads(attn(program, "tokenize", model, "--texts", file.name, "--json", *options))["results"]
    for row, got in zip(rows, found):
        decoded = row.get("decoded_tf" if key == "ids_tf" else "decoded")  # stored separately only if it differs
        # Hugging Face's decoded texts exclude the added special tokens.
        good = got["ids"] == row[key] and (decoded is None or "--add-special" in options or got["decoded"] == decoded)
        count(kind, model, good, f"{row['text']!r}: {row[key]} {decoded!r}, and found {got['ids']} {got['decoded']!r}")


def check_tokens(program, case, tokens):
    rows = read(tokens)["rows"]
    check_ids(program, case / "preset", rows, "tokens", "ids")
    check_ids(program, case / "preset", [row for row in rows if "ids_tf" in row], "tokens of TensorFlow's form", "ids_tf",
              "--workflow", "tf")
    if (case / "hf_tokens.json").exists():
        rows = read(case / "hf_tokens.json")["rows"]
        check_ids(program, case / "hf", rows, "tokens of tokenizer.json", "ids_plain", "--workflow", "hf")
        check_ids(program, case / "hf", rows, "tokens of tokenizer.json", "ids", "--workflow", "hf", "--add-special")


def sampler_words(sampler):
    config = sampler["config"]
    words = ["--sampler", KINDS[sampler["class_name"]], "--temperature", config.get("temperature", 1.0)]
    for key, option in (("k", "--top-k"), ("p", "--top-p"), ("num_beams", "--num-beams"), ("alpha", "--penalty-alpha"),
                        ("seed", "--seed")):
        if config.get(key) is not None:
            words += [option, config[key]]
    return words + (["--all-beams"] if "num_beams" in config else [])


def joined(ids):
    return ",".join(map(str, ids))


def text_words(run):
    """Returns the prompts as texts; nothing if the command line cannot express them."""
    prompts = run["prompts"]
    if "encoder_token_ids" in run["input"] and run["name"] == "greedy_prompt_too_long":
        return None  # it was cut to an encoder_sequence_length, which KerasHub does not save for Bart
    if isinstance(prompts, dict):
        texts, starts = prompts["encoder_text"], prompts["decoder_text"]
        return [word for pair in zip(texts, starts) for word in ("--prompt", pair[0], "--decoder-prompt", pair[1])]
    return [word for text in prompts for word in ("--prompt", text)]


def id_words(run):
    given = run["input"]
    if "encoder_token_ids" not in given:
        return [w for ids in cut(given["token_ids"], given["padding_mask"]) for w in ("--ids", joined(ids))]
    words = [w for ids in cut(given["encoder_token_ids"], given["encoder_padding_mask"]) for w in ("--ids", joined(ids))]
    return words + [w for ids in cut(given["decoder_token_ids"], given["decoder_padding_mask"]) for w in ("--decoder-ids", joined(ids))]


def compare_run(run, results, half, logits, tolerance, texts):
    """Returns the difference, or nothing. Compares ids, and texts if they come from KerasHub. Half precision may select
    the other one of two almost equally probable tokens."""
    for i, (got, ids, length) in enumerate(zip(results, run["token_ids"], run["lengths"])):
        expected = ids[:length]
        if half and got["token_ids"] != expected:
            place = next((t for t, (a, b) in enumerate(zip(got["token_ids"], expected)) if a != b), None)
            if place is None:
                return f"row {i}: {got['token_ids']} in place of {expected}"
            step = logits[i][place - got["prompt_tokens"]]
            gap = step[got["token_ids"][place]] - step[expected[place]]
            if gap > 2 * tolerance:
                return f"row {i}: token {place} is off by {gap} of {2 * tolerance}"
            continue
        if got["token_ids"] != expected:
            return f"row {i}: {got['token_ids']} in place of {expected}"
        if texts and got.get("text", run["text"][i]) != run["text"][i]:  # for ids there is no text
            return f"row {i}: {got['text']!r} in place of {run['text'][i]!r}"
        if "beams" in run:
            wanted = sorted(run["beam_log_probs"][i], reverse=True)
            found = [beam["log_prob"] for beam in got["beams"]]
            if not np.allclose(found, wanted, rtol=1e-4, atol=1e-5):
                return f"row {i}: log-probabilities {found} in place of {wanted}"
    return ""


def check_runs(program, case, model, kind, place, half, tolerance):
    runs = read(case / "outputs.json")["runs"]
    for run in runs:
        stop = run["stop_token_ids"]
        words = [*sampler_words(run["sampler"]), "--max-length", run["max_length"], "--stop-ids",
                 joined(stop) if isinstance(stop, list) else stop or "none", "--compat", "keras-hub", "--json", "--quiet",
                 *(["--strip-prompt"] if run["strip_prompt"] else []), "--logits", place / "logits.npz"]
        beams = "beams" in run
        for backend in BACKENDS:
            for form, given in (("texts", text_words(run)), ("ids", id_words(run))):
                if given is None:
                    continue
                where = f"{case.name} {model.name} {run['name']} {backend} {form}"
                try:
                    results = json.loads(attn(program, "generate", model, *given, *(words[:-2] if beams else words), "--backend",
                                              backend))["results"]
                    logits = None if beams else next(iter(np.load(place / "logits.npz").values()))
                    why = compare_run(run, results, half, logits, tolerance, model.name != "hf")
                except Failed as failed:
                    why = failed
                drawn = KINDS[run["sampler"]["class_name"]] in DRAWN
                count(f"{kind}, {'drawn' if drawn else KINDS[run['sampler']['class_name']]}", where, not why, why)


def tolerance_of(case, meta, name, expected, keras):
    """Returns the tolerance of tests/generation: 4 times Keras's own error in float32, twice its error in half
    precision."""
    largest = float(np.abs(expected).max())
    if "quantize" in meta["traits"]:
        return (1 / 127 if meta["traits"]["quantize"] == "int8" else 2e-5) * largest
    if keras is None:
        return max(1e-6 * largest, 4 * meta["float32_error"].get(name, 0.0))
    return max(1e-6 * largest, 2 * float(np.abs(keras[name] - expected).max()))


def check_logits(program, case, place, arrays, tolerance):
    np.savez(place / "in.npz", **{name[3:]: array for name, array in arrays.items() if name.startswith("in_")})
    expected = arrays["task_output" if "task_output" in arrays else "logits"]
    for model in ("preset", "hf", "task.keras"):
        if not (case / model).exists():
            continue
        for backend in BACKENDS:
            where = f"{case.name} {model} {backend}"
            try:
                attn(program, "run", case / model, "--input", place / "in.npz", "-o", place / "out.npz", "--quiet", "--backend", backend,
                     "--compat", "keras-hub")
                found = next(iter(np.load(place / "out.npz").values())).astype("float64")
                error = float(np.abs(found - expected).max()) if found.shape == expected.shape else float("inf")
                count("logits", where, error <= tolerance, f"off by {error:.3g} of {tolerance:.3g}")
            except Failed as failed:
                count("logits", where, False, failed)


def check(program, case, place):
    meta = read(case / "meta.json")
    check_summary(program, case)
    tokens = case / "tokens.json"
    tokens = tokens if tokens.exists() else ROOT / "tests/data/tokenizers" / case.name / "tokens.json"
    if tokens.exists():
        check_tokens(program, case, tokens)
    arrays = dict(np.load(case / "backbone.npz"))
    keras = case / "backbone_keras.npz"
    name = "task_output" if "task_output" in arrays else "logits"
    half = keras.exists() and "quantize" not in meta["traits"]
    tolerance = tolerance_of(case, meta, name, arrays[name], dict(np.load(keras)) if half else None)
    check_logits(program, case, place, arrays, tolerance)
    if not (case / "outputs.json").exists():
        return
    check_runs(program, case, case / "preset", "tokens of a preset", place, half, tolerance)
    for model in ("hf", "task.keras"):
        if (case / model).exists():
            check_runs(program, case, case / model, f"tokens of {model}", place, half, tolerance)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attn")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "tests/data/generation")
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    options = parser.parse_args()
    for case in sorted(options.folder.iterdir()):
        if options.only in case.name and (case / "preset").exists():
            with tempfile.TemporaryDirectory() as place:
                check(options.attn, case, pathlib.Path(place))
    for kind, (good, total) in sorted(score.items()):
        print(f"{kind:40} {good} of {total}")
    wrong = [kind for kind, (good, total) in score.items() if 20 * (total - good) > (total if kind.endswith("drawn") else 0)]
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
