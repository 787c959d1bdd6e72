"""Mutates a byte or a number of valid files: attn may accept none that the library of its format rejects."""
import importlib.util
import subprocess
import sys

from program import ROOT, Folder

NEEDED = ("numpy", "safetensors", "h5py")


def check(attn, _, __, short):
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return f"not tried: {sys.executable} has no {', '.join(missing)}", []
    with Folder() as folder:  # it writes its findings there
        done = subprocess.run([sys.executable, ROOT / "tests/oracle/check_mutants.py", attn.build / "fuzz/attn_verdicts",
                               "5000" if short else "100000"], cwd=folder, capture_output=True, text=True, check=False)
    *lines, last = done.stdout.splitlines() or [f"exit {done.returncode}: {done.stderr[-400:]}"]
    failures = [line for line in lines if "refused with" in line]
    return last, (failures or [last]) if done.returncode else []
