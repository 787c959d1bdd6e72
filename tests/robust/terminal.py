"""Models whose every string contains control sequences, through every command: none of them reaches a terminal or a
pipe."""
import io
import json
import os
import pty
import re
import shutil
import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor

from program import ROOT, SECONDS, Folder
from scenario import npy

HOSTILE = "\x1b]0;owned\x07\x1b[31m\x9b31m\x7f\x85\x08"
OWN = re.compile(rb"\x1b\[[0-9;]*[mK]|\r|\x08")  # attn's own colors, and how it redraws a line


def hostile(value, key=""):
    """Returns a config with hostile names and texts."""
    if isinstance(value, dict):
        return {k: hostile(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(each, key) for each in value]
    return value + HOSTILE if isinstance(value, str) and key == "name" else value


def keras_file(source, target, change):
    """Returns the archive with another config."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name == "config.json" else data)


def all_names(data):
    return json.dumps(hostile(json.loads(data))).encode()


def optimizer_names(data):
    config = json.loads(data)
    compiled = config.get("compile_config") or {}
    if isinstance(compiled.get("optimizer"), dict):
        compiled["optimizer"]["config"]["name"] = HOSTILE
    return json.dumps(config).encode()


def make(folder):
    """Writes the models and returns the command lines."""
    data = ROOT / "tests/data"
    model = {"class_name": "Sequential", "config": {"name": "model" + HOSTILE, "layers": [
        {"class_name": "InputLayer", "config": {"name": "in" + HOSTILE, "batch_shape": [None, 4, 8], "dtype": "float32"}},
        {"class_name": "Dense", "config": {"name": "dense" + HOSTILE, "units": 4}}]}}
    name = "m" + HOSTILE.replace("/", "") + ".json"
    (folder / name).write_text(json.dumps(model))
    unknown = json.loads(json.dumps(model))
    unknown["config"]["layers"][1]["class_name"] = "Dense" + HOSTILE
    (folder / "unknown.json").write_text(json.dumps(unknown))
    (folder / "broken.json").write_text('{"class_name": "' + HOSTILE[-1] + '", ' + HOSTILE)
    start = next(iter(sorted(data.glob("training/**/start.keras"))))
    keras_file(start, folder / "names.keras", all_names)
    keras_file(start, folder / "optimizer.keras", optimizer_names)
    shutil.copy(start.parent / "data.npz", folder / "data.npz")
    preset = folder / "preset"
    shutil.copytree(data / "generation/gpt2/preset", preset)
    shutil.copytree(data / "embed/bert", folder / "embedder")
    vocabulary = json.loads((preset / "assets/tokenizer/vocabulary.json").read_text())
    (preset / "assets/tokenizer/vocabulary.json").write_text(json.dumps(
        {token if len(token) < 2 or token.startswith("<|") else f"\u011b]0;{i}\u0107\u00c2\u013d31m": i
         for token, i in vocabulary.items()}))
    (preset / "assets/tokenizer/merges.txt").write_text("#version: 0.2\n")
    arrays = io.BytesIO()
    with zipfile.ZipFile(arrays, "w") as archive:
        archive.writestr("a" + HOSTILE + ".npy", npy((2, 4, 8)))
    (folder / "odd.npz").write_bytes(arrays.getvalue())
    (folder / "text.txt").write_text("the" + HOSTILE + "\nmodel\n")
    models = [name, "unknown.json", "broken.json", "names.keras", "optimizer.keras", "preset", "odd.npz"]
    for each in models:
        for words in (("summary",), ("summary", "--line-length", "80"), ("summary", "--costs"), ("summary", "--json"), ("explain",),
                      ("validate",), ("get-config",), ("plan",), ("plot", "--format", "text"), ("run", "-v"),
                      ("run", "--json"), ("run", "--input", "odd.npz"), ("grad",), ("heatmap",), ("compare", each),
                      ("bench", "--iterations", "1", "--warmup", "0"), ("weights",), ("weights", "--json"), ("flatten-script",),
                      ("convert", "out.keras"), ("convert", HOSTILE + ".json"), ("init", "-o", "new.keras"),
                      ("train", "--data", "data.npz", "-o", "trained.keras", "--epochs", "1"),
                      ("train", "--data", "odd.npz", "-o", "trained.keras"),
                      ("evaluate", "--data", "data.npz", "--loss", "mse"), ("evaluate", "--data", "odd.npz"),
                      ("generate", "--ids", "1,2", "--max-new-tokens", "3"), ("score", "--ids", "1,2,3"),
                      ("tokenize", "--text", "a")):
            yield (words[0], each, *words[1:])
    for words in (("generate", "--prompt", "a", "--max-new-tokens", "6", "--sampler", "greedy"),
                  ("generate", "--prompt", "a", "--max-new-tokens", "6", "--json"),
                  ("generate", "--prompts", "text.txt", "--max-new-tokens", "6"),
                  ("generate", "--prompt", "a", "--num-beams", "2", "--all-beams", "--max-new-tokens", "4"),
                  ("tokenize", "--texts", "text.txt"), ("tokenize", "--ids", "300,301,302"),
                  ("tokenize", "--ids", "300,301,302", "--decode"), ("score", "--texts", "text.txt")):
        yield (words[0], "preset", *words[1:])
    yield ("embed", "embedder", "--texts", "text.txt")
    yield ("embed", "preset", "--texts", "text.txt")
    yield (HOSTILE,)
    yield ("run", "--" + HOSTILE)
    yield ("help", HOSTILE)


def on_terminal(attn, words, folder):
    """Returns the output of the program on a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([attn.path, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
                               env=attn.environment({"TERM": "xterm", "COLUMNS": "80", "LC_ALL": "C.UTF-8"}))
    os.close(follower)
    out = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(leader)
    process.wait(timeout=SECONDS)
    return out


def acted_on(out):
    """Returns the control sequences."""
    return re.findall(rb"[\x00-\x08\x0b-\x1f\x7f].{0,8}|\xc2[\x80-\x9f]|\x1b.{0,8}", out, re.S)


def wrong(attn, words, folder):
    shown = acted_on(OWN.sub(b"", on_terminal(attn, words, folder)))
    if shown:
        return f"{words}: on a terminal {shown[:3]}"
    result = attn.run(words, folder)
    is_text = words[0] in ("generate", "tokenize") and ("--decode" in words or "--json" not in words) and words[1:2] == ("preset",)
    told = acted_on(result.err) + ([] if is_text else acted_on(result.out))
    if told or result.code == 70:
        return f"{words}: exit {result.code}, in a pipe {told[:3]}"
    return None


def check(attn, _, jobs, short):
    with Folder() as folder:
        lines = list(make(folder))[:: 4 if short else 1]
        with ThreadPoolExecutor(jobs) as pool:
            failures = [each for each in pool.map(lambda words: wrong(attn, words, folder), lines) if each]
        return f"{len(lines)} command lines over hostile strings", failures
