"""Writes the files in its folder with h5py (pip install h5py numpy): HDF5 with external links, growing data or unexpected objects.

The files damaged_*.h5 are not written here: tests/oracle/check_mutants.py and `make fuzz TARGET=hdf5_walk` found them.
"""
import os

import h5py
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
values = np.arange(4, dtype="<f4")


def make(name, fill, **options):
    with h5py.File(os.path.join(here, name + ".h5"), "w", **options) as file:
        fill(file)


def weights(file):
    """Returns the group that Keras's reader opens."""
    return file.create_group("layers/dense/vars")


# External files and links
def external(path, size=16):
    return lambda f: weights(f).create_dataset("0", (4,), "<f4", external=[(path, 0, size)])


make("external_absolute", external("/etc/passwd"))
make("external_relative", external("../../../etc/passwd"))
make("external_home", external("~/.ssh/id_rsa"))
make("external_proc", external("/proc/self/environ"))
make("external_missing", external("nowhere"))
make("external_unlimited", lambda f: weights(f).create_dataset("0", (4,), "<f4", external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)]))
make("external_two", lambda f: weights(f).create_dataset("0", (4,), "<f4", external=[("a", 0, 8), ("/etc/passwd", 0, 8)]))


def link(kind):
    def fill(f):
        group = weights(f)
        group.create_dataset("1", data=values)
        group["0"] = kind or group["1"]
    return fill


make("soft_link", link(h5py.SoftLink("/layers/dense/vars/1")))
make("soft_link_to_itself", link(h5py.SoftLink("/layers/dense/vars/0")))
make("soft_link_up", link(h5py.SoftLink("..")))
make("soft_link_nowhere", link(h5py.SoftLink("/nothing")))
make("external_link", link(h5py.ExternalLink("other.h5", "/x")))
make("external_link_absolute", link(h5py.ExternalLink("/etc/passwd", "/")))
make("external_link_to_itself", link(h5py.ExternalLink("external_link_to_itself.h5", "/")))
make("hard_link", link(None))
make("cycle", lambda f: weights(f).__setitem__("up", f["layers"]))
make("root_in_itself", lambda f: f.__setitem__("root", f["/"]))


def virtual(path, source="/x"):
    def fill(f):
        layout = h5py.VirtualLayout((4,), "<f4")
        layout[:] = h5py.VirtualSource(path, source, (4,))
        weights(f).create_virtual_dataset("0", layout, fillvalue=7)
    return fill


make("virtual", virtual("other.h5"), libver="latest")
make("virtual_absolute", virtual("/etc/passwd"), libver="latest")
make("virtual_itself", virtual(".", "/layers/dense/vars/0"), libver="latest")


# Bombs
def declared(shape, **options):
    return lambda f: weights(f).create_dataset("0", shape, options.pop("dtype", "<f4"), **options)


make("bomb_contiguous", declared((2**40,)))
make("bomb_wide", declared((2**20, 2**20)))
make("bomb_2_61", declared((2**61,), dtype="i1"))
make("bomb_product", declared((2**31, 2**30)))
make("bomb_chunked", declared((2**40,), chunks=(1024,)))
make("bomb_chunk", declared((2**30,), chunks=(2**29,)))
make("bomb_fill", declared((2**32,), chunks=(2**20,), fillvalue=1.0))


def zeros(f):
    weights(f).create_dataset("0", data=np.zeros(50 << 20, "i1"), chunks=(1 << 20,), compression="gzip", compression_opts=9)


make("bomb_deflated", zeros)


def many(f):
    for i in range(8):
        f.create_dataset(f"d{i}", data=np.zeros(4 << 20, "i1"), chunks=(1 << 20,), compression="gzip", compression_opts=9)


make("bomb_many", many)


def deep(f):
    group = f
    for _ in range(100):
        group = group.create_group("g")


make("deep", deep)

# Types
text = h5py.string_dtype()


def typed(name, dtype, data=None, shape=(2,)):
    def fill(f):
        weights(f).create_dataset("0", shape, dtype) if data is None else weights(f).create_dataset("0", data=data, dtype=dtype)
    make("type_" + name, fill)


typed("compound", np.dtype([("a", "<f4"), ("b", "<i4")]))
typed("complex", "<c8")
typed("vlen", h5py.vlen_dtype(np.float32))
typed("vlen_of_vlen", h5py.vlen_dtype(h5py.vlen_dtype(np.float32)))
typed("strings", text, np.array(["a", "b"], object))
typed("fixed_strings", "S4")
typed("reference", h5py.ref_dtype)
typed("region", h5py.regionref_dtype)
typed("array", np.dtype(("<f4", (3,))))
typed("enumeration", h5py.enum_dtype({"a": 0, "b": 1}, basetype="i4"))
typed("opaque", h5py.opaque_dtype(np.dtype("V7")))
typed("timestamps", h5py.opaque_dtype(np.dtype("<M8[s]")))
make("type_time", lambda f: h5py.h5d.create(weights(f).id, b"0", h5py.h5t.UNIX_D32LE, h5py.h5s.create_simple((2,))))


def number_type(name, change):
    kind = h5py.h5t.IEEE_F32LE.copy() if "float" in name else h5py.h5t.STD_I32LE.copy()
    change(kind)
    make("type_" + name, lambda f: h5py.h5d.create(weights(f).id, b"0", kind, h5py.h5s.create_simple((2,))))


number_type("float_other_bias", lambda t: t.set_ebias(5))
number_type("integer_of_24_bits", lambda t: t.set_precision(24))
number_type("integer_of_3_bytes", lambda t: (t.set_precision(24), t.set_size(3)))
make("type_named", lambda f: f.__setitem__("layers/dense/vars/0", np.dtype("<f4")))
make("null_space", lambda f: weights(f).create_dataset("0", data=h5py.Empty("<f4")))
make("rank_32", declared((1,) * 32))
make("rank_9", declared((1,) * 9))

# Filters
make("filter_lzf", lambda f: weights(f).create_dataset("0", data=values, chunks=(4,), compression="lzf"))
make("filter_scaleoffset", lambda f: weights(f).create_dataset("0", data=values.astype("i4"), chunks=(4,), scaleoffset=0))


def filtered(code, name, options=()):
    def fill(f):
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_chunk((4,))
        create.set_filter(code, h5py.h5z.FLAG_OPTIONAL, options)
        h5py.h5d.create(weights(f).id, b"0", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((4,)), create)
    make("filter_" + name, fill)


filtered(305, "unknown")
filtered(32001, "blosc")
filtered(32015, "zstd")
filtered(5, "nbit")

# Names
def escapes(f):
    weights(f).create_dataset("\x1b]0;x\x07", data=values)
    f["\x9b31m"] = h5py.SoftLink("/")


make("name_escape", escapes)
make("name_no_utf8", lambda f: h5py.h5g.create(f.id, b"\xff\xfe"))
make("name_long", lambda f: f.__setitem__("n" * 60000, h5py.SoftLink("/")))


def attributes(f):
    f.attrs["model_config"] = "{" * 30000
    f.attrs["keras_version"] = "\x1b[31m"


make("model_config", attributes)
make("model_config_lambda", lambda f: f.attrs.__setitem__(
    "model_config", '{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "Lambda", "config": {"name": "l"}}]}}'))
make("model_config_number", lambda f: f.attrs.__setitem__("model_config", 1))
make("model_config_list", lambda f: f.attrs.create("model_config", ["a", "b"], dtype=text))
make("empty", lambda f: None)
