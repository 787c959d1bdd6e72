"""The commands that are disturbed, on models small enough to run thousands of times."""
import io
import json
import os
import re
import shutil
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

MODEL = {"name": "encoder", "input_shape": [5, 8], "num_layers": 1, "num_heads": 2, "key_dim": 4,
         "intermediate_dim": 16, "units": 4, "output_activation": "softmax"}

# KerasHub's GPT-2 with 2 heads.
DECODER = {"module": "keras_hub.src.models.gpt2.gpt2_causal_lm", "class_name": "GPT2CausalLM", "config": {
    "backbone": {"module": "keras_hub.src.models.gpt2.gpt2_backbone", "class_name": "GPT2Backbone", "config": {
        "name": "gpt2_backbone", "trainable": True, "vocabulary_size": 16, "num_layers": 1, "num_heads": 2,
        "hidden_dim": 8, "intermediate_dim": 16, "dropout": 0.0, "max_sequence_length": 12},
        "registered_name": "keras_hub>GPT2Backbone"},
    "preprocessor": None, "name": "gpt2_causal_lm"}, "registered_name": "keras_hub>GPT2CausalLM"}
TOKENIZER = Path(__file__).parents[1] / "data/tokenizers/gpt2/preset"
EMBEDDER = Path(__file__).parents[1] / "data/embed/bert"
SPEECH = Path(__file__).parents[1] / "data/transcribe"


@dataclass(frozen=True)
class Scenario:
    name: str
    words: tuple
    outputs: tuple = ()   # files that it writes
    program: str = "attn"  # the program whose calls fail
    may_go: tuple = ()    # outputs that may be missing after a failure
    timed: bool = False   # whether its text contains times
    checks: bool = False  # whether it reports capabilities of the machine, which a fault changes
    code: int = 0         # exit code without a disturbance
    goes_on: tuple = ()   # command line to resume, if it reports that it can


def npy(shape):
    """Returns a .npy file with float32 ones."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (64 - (len(header) + 11) % 64) + "\n"
    count = 1
    for size in shape:
        count *= size
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<f", 1.0) * count


def npz(shapes):
    """Returns an archive of ones."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, shape in shapes.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), npy(shape))
    return data.getvalue()


def make_inputs(attn, folder):
    """Writes the files that the scenarios read."""
    (folder / "m.json").write_text(json.dumps(MODEL))
    (folder / "d.json").write_text(json.dumps(DECODER))
    shutil.copytree(TOKENIZER, folder / "preset")
    shutil.copytree(EMBEDDER, folder / "embedder")
    shutil.copytree(SPEECH / "whisper", folder / "whisper")
    shutil.copy(SPEECH / "speech.wav", folder / "speech.wav")

    def run(*words):
        result = attn.run(words, folder)
        assert result.code == 0, (words, result)

    run("get-config", "m.json", "-o", "keras.json")
    for name in ("w.npz", "w.safetensors", "w.weights.h5", "w.keras", "w.h5"):
        run("init", "m.json", "-o", name)
    with zipfile.ZipFile(folder / "t.npz", "w") as data:
        data.writestr("input_layer.npy", npy((4, 5, 8)))
        data.writestr("y.npy", npy((4, 5, 4)))
    run("run", "m.json", "-o", "y.npz")
    run("run", "m.json", "-o", "y.npy")
    run("run", "m.json", "--dump", "dump")


def scenarios():
    def of(name, *words, outputs=(), **more):
        return Scenario(name, words, tuple(outputs), **more)

    def run(name, *words, outputs=(), **more):
        return of(name, "run", *words, outputs=outputs, timed=True, **more)

    return [
        of("summary", "summary", "m.json"),
        of("summary json", "summary", "keras.json", "--json", "-o", "out.json", outputs=["out.json"]),
        of("explain", "explain", "m.json"),
        of("validate", "validate", "keras.json"),
        run("run npz", "m.json", "-o", "out.npz", outputs=["out.npz"]),
        run("run npy", "m.json", "--weights", "w.npz", "-o", "out.npy", outputs=["out.npy"]),
        run("run safetensors", "m.json", "--backend", "reference", "--weights", "w.safetensors", "--json", "-o",
            "out.safetensors", outputs=["out.safetensors"]),
        run("run h5", "m.json", "--weights", "w.weights.h5", "--expect", "y.npz"),
        run("run child", "m.json", "--weights", "w.weights.h5", program="attn-hdf5"),
        run("run stdout", "m.json", "-o", "-", "--quiet"),
        run("run scores", "m.json", "--scores", "s.npz", outputs=["s.npz"]),
        run("run dump", "m.json", "--dump", "out", outputs=["out/layers.npz", "out/manifest.json"],
            may_go=("out/manifest.json",)),
        run("run check", "w.keras", "--check-finite", "--dtype", "bfloat16"),
        of("compare", "compare", "m.json", "--expect", "dump"),
        of("grad", "grad", "m.json", timed=True),
        of("grad arrays", "grad", "m.json", "--check", "-o", "g.npz", "--svg", "g.svg", outputs=["g.npz", "g.svg"],
           timed=True),
        of("train", "train", "m.json", "--data", "t.npz", "--loss", "mse", "-o", "t.keras", "--svg", "t.svg", "--lora", "2",
           "--early-stopping", "restore_best_weights", outputs=["t.keras", "t.svg"], timed=True,
           goes_on=("train", "t.keras", "--data", "t.npz", "-o", "t.keras", "--early-stopping",
                    "restore_best_weights", "--resume")),
        of("evaluate", "evaluate", "m.json", "--data", "t.npz", "--loss", "mse", "--json", "-o", "v.json", outputs=["v.json"],
           timed=True),
        of("plan", "plan", "m.json"),
        of("plan svg", "plan", "m.json", "-o", "p.svg", outputs=["p.svg"]),
        of("plan kernels", "plan", "m.json", "--kernels", "--json", "-o", "p.json", outputs=["p.json"]),
        of("heatmap html", "heatmap", "m.json", "-o", "h.html", outputs=["h.html"]),
        of("heatmap svg", "heatmap", "m.json", "-o", "h.svg", outputs=["h.svg"]),
        of("heatmap png", "heatmap", "m.json", "-o", "h.png", outputs=["h.png"]),
        of("plot", "plot", "m.json", "-o", "p.svg", outputs=["p.svg"]),
        of("report", "report", "m.json", "-o", "r.html", outputs=["r.html"], timed=True),
        of("generate", "generate", "d.json", "--ids", "1,2,3", "--sampler", "top_k", "--seed", "1", "--max-new-tokens", "3",
           "--json", "-o", "g.json", outputs=["g.json"], timed=True),
        of("score", "score", "d.json", "--ids", "1,2,3", "--json", "-o", "s.json", outputs=["s.json"]),
        of("tokenize", "tokenize", "preset", "--text", "The model", "--json", "-o", "t.json", outputs=["t.json"]),
        of("embed", "embed", "embedder", "--text", "mars", "-o", "e.npz", outputs=["e.npz"]),
        of("transcribe", "transcribe", "whisper", "speech.wav", "--json", "-o", "w.json", outputs=["w.json"]),
        of("transcribe child", "transcribe", "whisper", "speech.wav", program="attn-audio"),
        of("bench", "bench", "m.json", "--iterations", "2", "--warmup", "1", "--json", "-o", "b.json",
           outputs=["b.json"], timed=True),
        of("get-config", "get-config", "m.json"),
        of("weights", "weights", "w.safetensors"),
        of("weights keras", "weights", "w.keras"),
        of("convert h5", "convert", "w.npz", "out.weights.h5", "--model", "m.json", outputs=["out.weights.h5"]),
        of("convert child", "convert", "w.npz", "out.weights.h5", "--model", "m.json", outputs=["out.weights.h5"],
           program="attn-hdf5"),
        of("convert keras", "convert", "w.weights.h5", "out.keras", "--model", "m.json", outputs=["out.keras"]),
        of("init npz", "init", "m.json", "-o", "out.npz", outputs=["out.npz"]),
        of("init safetensors", "init", "m.json", "-o", "out.safetensors", outputs=["out.safetensors"]),
        of("demo", "demo", "tour"),  # it replaces no file, so that its files are no outputs here
        of("probe", "probe", "ablate", "d.json", "--ids", "1,2,3", "--json", "-o", "a.json", outputs=["a.json"]),
        of("probe capture", "probe", "capture", "d.json", "--ids", "1,2,3", "--points", "z", "-o", "z.npz", outputs=["z.npz"]),
        of("devices", "devices", checks=True),
        of("doctor", "doctor", timed=True, checks=True),
        of("completion", "completion", "bash"),
        of("flatten-script", "flatten-script"),
        of("man", "man", "run"),
        of("man all", "man", "--all", "-o", "pages", outputs=["pages/attn.1", "pages/attn-run.1"]),
        of("help", "help", "run"),
        of("wrong option", "run", "--no-such", code=2),
    ]


def comparable(scenario, data):
    """Returns the part of a result that is the same in every run of a scenario: without times and measured sizes."""
    if b"date_saved" in data and data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(name, archive.read(name)) for name in archive.namelist() if name != "metadata.json"]
    if not scenario.timed or data.startswith((b"PK", b"\x93NUMPY")) or b'{"' in data[:16] and b"\0" in data[:8]:
        return data
    if scenario.words[0] == "bench" and data.startswith(b"{"):  # properties of the machine are not a result
        try:
            report = json.loads(data)
        except ValueError:
            return data
        return report.get("schema"), [sorted(row) for row in report.get("rows", [])]
    text = re.sub(rb"-?\d[\d.,]*(e[+-]?\d+)?|null", b"#", data)
    text = re.sub(rb"# *(\xc2\xb5s|us|ms|s|[kMG]B|[KMG]iB)\b", b"#", text)
    return re.sub(rb"[ \n\xe2\x94\x80-]+", b" ", text)


def outputs_of(scenario, folder):
    """Returns the outputs of a run: name to bytes, or None for a missing file."""
    found = {}
    for name in scenario.outputs:
        path = folder / name
        found[name] = path.read_bytes() if os.path.exists(path) else None
    return found
