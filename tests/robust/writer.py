"""All kinds of files that attn writes, with models large enough to be interrupted in the middle."""
import ast
import json
import zipfile
import zlib
from dataclasses import dataclass

MODEL = {"name": "encoder", "input_shape": [20, 64], "num_layers": 4, "num_heads": 4, "key_dim": 16,
         "intermediate_dim": 256, "units": 64}


@dataclass(frozen=True)
class Writer:
    name: str
    words: tuple
    outputs: tuple

    def argv(self, target):
        return tuple(word.replace("TARGET", target) for word in self.words)


def writers():
    of = Writer
    return [
        of("npy", ("run", "w.json", "-o", "TARGET/y.npy"), ("y.npy",)),
        of("npz", ("init", "w.json", "-o", "TARGET/y.npz"), ("y.npz",)),
        of("safetensors", ("init", "w.json", "-o", "TARGET/y.safetensors"), ("y.safetensors",)),
        of("weights.h5", ("init", "w.json", "-o", "TARGET/y.weights.h5"), ("y.weights.h5",)),
        of("keras", ("init", "w.json", "-o", "TARGET/y.keras"), ("y.keras",)),
        of("json", ("summary", "w.json", "--json", "-o", "TARGET/y.json"), ("y.json",)),
        of("html", ("report", "w.json", "-o", "TARGET/y.html"), ("y.html",)),
        of("svg", ("heatmap", "w.json", "-o", "TARGET/y.svg"), ("y.svg",)),
        of("png", ("heatmap", "w.json", "-o", "TARGET/y.png"), ("y.png",)),
        of("man pages", ("man", "--all", "-o", "TARGET"), ("attn.1", "attn-run.1", "attn-help.1")),
        of("dump", ("run", "w.json", "--dump", "TARGET"), ("layers.npz", "manifest.json")),
    ]


def make_model(folder):
    (folder / "w.json").write_text(json.dumps(MODEL))


def is_whole(path):
    """Returns whether a program other than attn can read the whole file."""
    data = path.read_bytes()
    name = path.name
    if name.endswith((".npz", ".keras")):
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    if name.endswith(".npy"):
        size = int.from_bytes(data[8:10], "little")
        header = ast.literal_eval(data[10:10 + size].decode())
        elements = 1
        for dim in header["shape"]:
            elements *= dim
        return len(data) == 10 + size + elements * int(header["descr"][2:])
    if name.endswith(".safetensors"):
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
        return len(data) == 8 + size + max(t["data_offsets"][1] for k, t in header.items() if k != "__metadata__")
    if name.endswith(".h5"):  # superblock 0, 2 or 3: the end of the file recorded in it
        at = 40 if data[8] == 0 else 28
        return data.startswith(b"\x89HDF\r\n\x1a\n") and int.from_bytes(data[at:at + 8], "little") == len(data)
    if name.endswith(".json"):
        return json.loads(data) is not None
    if name.endswith(".png"):
        end = b"IEND" + zlib.crc32(b"IEND").to_bytes(4, "big")
        return data.startswith(b"\x89PNG") and data.endswith(end)
    ends = {"html": b"</html>\n", "svg": b"</svg>\n"}
    return data.endswith(ends.get(name.rsplit(".", 1)[1], b"\n")) and len(data) > 100
