"""Checks that attn accepts no file that the library of its format rejects.

usage: check_mutants.py VERDICTS [COUNT] [SEED]      (VERDICTS: build/fuzz/attn_verdicts; needs numpy, safetensors, h5py)

Creates COUNT (100000) files from valid ones under tests/data by flipping bits, truncating, inserting and moving bytes, and
inserting numbers at the limits of their types. Each file that attn accepts is read with NumPy, safetensors, zipfile or h5py.
Prints a line for each format and exits with 1 if one of these rejects such a file, except for KNOWN; the file is kept as mutant-*.
"""
import collections
import glob
import hashlib
import io
import multiprocessing
import os
import random
import struct
import subprocess
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EDGES = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
# Number of each kind in 100 mutants; the HDF5 library is the slowest.
SHARES = {"npy": 25, "npz": 20, "zip": 15, "safetensors": 25, "hdf5": 15}
LETTERS = {"npy": b"n", "npz": b"p", "zip": b"z", "safetensors": b"s", "hdf5": b"h"}


def seeds(pattern, most):
    files = sorted(glob.glob(os.path.join(ROOT, "tests/data", pattern), recursive=True))
    return [open(f, "rb").read() for f in files if os.path.getsize(f) <= most]


def small_safetensors():
    import numpy
    from safetensors.numpy import save

    return [save({"a": numpy.arange(3, dtype="f4")}), save({"a": numpy.zeros((2, 0), "i8"), "b": numpy.ones(4, "u1")}, {"k": "v"}),
            save({f"t{i}": numpy.full((i,), i, "f2") for i in range(1, 5)})]


def mutated(rng, data, others):
    data = bytearray(data)
    # Most structures are at the beginning of a file; those of a zip archive are at the end.
    zone = rng.choice([len(data), min(len(data), 64), min(len(data), 400), -min(len(data), 200)])

    def place(size=1):
        low, high = (0, zone) if zone > 0 else (len(data) + zone, len(data))
        return max(0, min(len(data) - size, rng.randrange(max(0, low), max(1, high))))

    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if not data:
            break
        kind = rng.randrange(9)
        if kind <= 1:
            data[place()] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[place()] = rng.randrange(256)
        elif kind == 3:
            size = rng.choice([1, 2, 4, 8])
            at = place(size)
            data[at:at + size] = struct.pack("<Q", (rng.choice(EDGES) + rng.randrange(-2, 3)) % 2**64)[:size]
        elif kind == 4:
            del data[rng.randrange(len(data)):]
        elif kind == 5:
            at, size = place(), rng.choice([1, 2, 4, 8, 16])
            del data[at:at + size]
        elif kind == 6:
            at, source = place(), rng.choice(others)
            start = rng.randrange(max(1, len(source)))
            data[at:at] = source[start:start + rng.choice([1, 4, 16, 64])]
        elif kind == 7:
            digits = [i for i, byte in enumerate(data[:600]) if 48 <= byte <= 57]
            if digits:
                data[rng.choice(digits)] = rng.choice(b"0123456789-.e, ")
        else:
            data += rng.choice([b"\0", b"x", b"\0" * 8, bytes(data[:22])])
    return bytes(data)


def read_npy(data):
    import numpy

    numpy.load(io.BytesIO(data), allow_pickle=False)


def read_npz(data):
    import numpy

    with numpy.load(io.BytesIO(data), allow_pickle=False) as arrays:
        for name in arrays.files:
            arrays[name]


def read_zip(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            archive.read(member)


def read_safetensors(data):
    import safetensors

    safetensors.deserialize(data)


def read_hdf5(data):
    import h5py

    def visit(_, thing):
        if isinstance(thing, h5py.Dataset):
            thing[()]

    with h5py.File(io.BytesIO(data), "r") as file:
        file.visititems(visit)


# Errors in an object's header that HDF5 1.10 ignores intentionally, because its earlier versions wrote such files; 1.14
# does not. They do not affect any number.
KNOWN = ("bad object header message count", "gap found in early version of file format")
READERS = {"npy": read_npy, "npz": read_npz, "zip": read_zip, "safetensors": read_safetensors, "hdf5": read_hdf5}


def refusal(job):
    """Returns the oracle's objection to the file, or None. Runs in a separate process, because h5py may crash."""
    kind, data = job
    try:
        READERS[kind](data)
    except Exception as error:  # any exception of the library
        return f"{type(error).__name__}: {error}"
    return None


def verdicts(program, kind, files):
    answer = subprocess.run([program], input=b"".join(LETTERS[kind] + struct.pack("<I", len(f)) + f for f in files),
                            stdout=subprocess.PIPE, check=True).stdout.decode()
    if len(answer) != len(files):
        raise SystemExit(f"{program} answered {len(answer)} of {len(files)}")
    return answer


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    sources = {
        "npy": seeds("io/*.npy", 4000),
        "npz": seeds("io/*.npz", 8000) + seeds("keras/dense/*/inputs.npz", 4000),
        "zip": seeds("io/*.npz", 8000) + seeds("io/*.keras", 60000),
        "safetensors": seeds("io/*.safetensors", 8000) + small_safetensors(),
        "hdf5": seeds("io/*.h5", 40000),
    }
    wrong = known = 0
    with multiprocessing.Pool(1, maxtasksperchild=2000) as pool:
        for kind, share in SHARES.items():
            total = count * share // 100
            tally = collections.Counter()
            for begin in range(0, total, 1000):
                files = [mutated(rng, rng.choice(sources[kind]), sources[kind]) for _ in range(min(1000, total - begin))]
                answers = verdicts(program, kind, files)
                tally.update(answers)
                for data, answer in zip(files, answers):
                    if answer != "A":
                        continue
                    reason = pool.apply_async(refusal, ((kind, data),)).get(60)
                    if reason is None:
                        continue
                    if kind == "hdf5" and any(each in reason for each in KNOWN):
                        known += 1
                        continue
                    wrong += 1
                    name = f"mutant-{hashlib.sha256(data).hexdigest()[:12]}.{kind}"
                    with open(name, "wb") as file:
                        file.write(data)
                    print(f"{name}: accepted, and refused with {reason}", flush=True)
            print(f"{kind:12} {total:7} mutants, {tally['A']:6} accepted, {tally['R']:6} refused", flush=True)
    print(f"{wrong} accepted that the oracle refuses, and {known} that HDF5 1.14 does and 1.10 does not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
