"""Writes the files beside it with NumPy, safetensors, h5py and Keras 3.15.1 (pip install keras tensorflow-cpu h5py safetensors).

Element i of every array is i, except that bools alternate, beginning with false.
"""

import io
import os
import zipfile

import h5py
import keras
import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

here = os.path.dirname(os.path.abspath(__file__))


def path(name):
    return os.path.join(here, name)


def counting(dtype, shape):
    count = int(np.prod(shape))
    values = np.arange(count) % 2 if dtype == "bool" else np.arange(count)
    return values.astype(dtype).reshape(shape)


# NumPy
np.save(path("float32.npy"), counting("<f4", (2, 3)))
np.save(path("float64_fortran.npy"), np.asfortranarray(counting("<f8", (2, 3, 4))))
np.save(path("int32_big_endian.npy"), counting(">i4", (5,)))
np.save(path("float16_big_endian_fortran.npy"), np.asfortranarray(counting(">f2", (3, 2))))
np.save(path("scalar.npy"), np.float64(0))
np.save(path("empty.npy"), np.zeros((0, 3), "<f4"))
with open(path("version3.npy"), "wb") as file:
    np.lib.format.write_array(file, counting("<f4", (2, 3)), version=(3, 0))
np.save(path("object.npy"), np.array([None]), allow_pickle=True)
np.save(path("structured.npy"), np.zeros(2, [("a", "<f4")]))
np.save(path("complex.npy"), np.zeros(2, "<c8"))

dtypes = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"]
arrays = {dtype: counting(dtype, (2, 3)) for dtype in dtypes}
np.savez(path("stored.npz"), **arrays)
np.savez_compressed(path("deflated.npz"), **arrays)


class Unseekable(io.RawIOBase):
    """Makes zipfile write sizes after the contents."""

    def __init__(self, file):
        self.file = file

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


with open(path("streamed.npz"), "wb") as file, zipfile.ZipFile(Unseekable(file), "w") as archive:
    for name in ["a", "b"]:
        with archive.open(name + ".npy", "w", force_zip64=name == "b") as member:
            np.lib.format.write_array(member, counting("<f4", (2, 3)))

# safetensors
save_file({**arrays, "bfloat16": counting(ml_dtypes.bfloat16, (2, 3)), "empty": np.zeros((0,), "<f4")},
          path("all.safetensors"), {"written by": "safetensors"})

# Keras
model = keras.Sequential(
    [keras.Input((3,)), keras.layers.Dense(2, name="a", dtype="bfloat16"), keras.layers.Dropout(0.1),
     keras.layers.Dense(2, name="b", dtype="float16"), keras.layers.Dense(2, name="c")], name="model")
model.set_weights([counting(w.dtype, w.shape) for w in model.weights])
model.save(path("model.keras"))
model.save_weights(path("model.weights.h5"))
model.save(path("legacy.h5"))

# h5py
with h5py.File(path("types.h5"), "w") as file:
    for dtype in dtypes:
        file[dtype] = counting(dtype, (2, 3))
    file["float32_big_endian"] = counting(">f4", (2, 3))
    file["int16_big_endian"] = counting(">i2", (2, 3))
    file["scalar"] = np.float32(0)
    file["empty"] = np.zeros((0, 3), "<f4")
    file.create_dataset("never_written", (4,), "<f4")
    file.create_dataset("deflated", data=counting("<f4", (40, 30)), chunks=(7, 30), compression="gzip", shuffle=True,
                        fletcher32=True)
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    small = h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((3,)), compact)
    small.write(h5py.h5s.ALL, h5py.h5s.ALL, counting("<f4", (3,)))
    file.attrs["fixed"] = np.bytes_(b"one")
    file.attrs["fixed_list"] = np.array([b"one", b"three"])
    file.attrs["text"] = "\u00e9"
    file.attrs["number"] = 3

h5_refused = {
    "soft_link.h5": lambda f: f.__setitem__("link", h5py.SoftLink("/data")),
    "external_link.h5": lambda f: f.__setitem__("link", h5py.ExternalLink("types.h5", "/float32")),
    "hard_link.h5": lambda f: f.__setitem__("link", f["data"]),
    "cycle.h5": lambda f: f.__setitem__("group/up", f["/"]),
    "external_storage.h5": lambda f: f.create_dataset("outside", (8,), "u1", external=[("/etc/passwd", 0, 8)]),
    "strings.h5": lambda f: f.__setitem__("strings", ["a", "b"]),
    "compound.h5": lambda f: f.__setitem__("compound", np.zeros(2, [("a", "<f4")])),
    "reference.h5": lambda f: f.__setitem__("reference", f["data"].ref),
    "lzf.h5": lambda f: f.create_dataset("lzf", data=counting("<f4", (100,)), compression="lzf"),
    "bomb.h5": lambda f: f.create_dataset("bomb", (1 << 40,), "u1"),
    "chunked_bomb.h5": lambda f: f.create_dataset("bomb", (1 << 40,), "u1", chunks=(1 << 20,), compression="gzip"),
    "large_chunk.h5": lambda f: f.create_dataset("chunk", (10,), "u1", maxshape=(None,), chunks=(1 << 30,)),
    "complex.h5": lambda f: f.__setitem__("complex", np.zeros(2, "<c8")),
    "float8.h5": lambda f: f.__setitem__("float8", np.zeros(2, ml_dtypes.float8_e4m3fn)),
}
for name, add in h5_refused.items():
    with h5py.File(path("refused_" + name), "w") as file:
        file["data"] = counting("<f4", (4,))
        add(file)
with h5py.File(path("refused_virtual.h5"), "w") as file:
    layout = h5py.VirtualLayout((8,), "u1")
    layout[:] = h5py.VirtualSource("types.h5", "uint8", (8,))
    file.create_virtual_dataset("virtual", layout)
