"""attn as its caller sees it: exit code, output, and files in a folder."""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 120  # longer than any command here


def shell_code(returncode):
    """Converts an exit status like a shell: 128 + n if signal n ended the program."""
    return 128 - returncode if returncode < 0 else returncode


@dataclass
class Result:
    code: int
    out: bytes
    err: bytes
    resumed: bool = False  # whether a second run resumed from the first one's files

    def error_lines(self):
        lines = self.err.decode(errors="replace").splitlines()
        return [line for line in lines if line and not line.startswith("attn: warning: ")]


class Attn:
    """The program of one build."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.path = str(self.build / "attn")
        self.fault = str(self.build / "tests/robust/libfault.so")

    def environment(self, more=None):
        kept = {"PATH", "HOME", "LANG", "ATTN_HDF5", "LD_LIBRARY_PATH"}
        return {k: v for k, v in os.environ.items() if k in kept} | {"ATTN_THREADS": "2"} | (more or {})

    def start(self, words, folder, variables=None, stdin=subprocess.DEVNULL, **more):
        return subprocess.Popen([self.path, *words], cwd=folder, env=self.environment(variables), stdin=stdin,
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more)

    def run(self, words, folder, variables=None, **more):
        process = self.start(words, folder, variables, **more)
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return Result(-1, out or b"", (err or b"") + b"[still at work]")
        return Result(shell_code(process.returncode), out or b"", err or b"")


class Folder:
    """A folder that is removed with its owner; in memory if possible, where fsync costs nothing."""

    def __init__(self, inputs=None):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="attn-robust-", dir=place))
        if inputs:
            for each in inputs.iterdir():
                os.symlink(each, self.path / each.name)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def limited(memory, seconds):
    """Returns a function for preexec_fn, after which a program may take `memory` bytes and `seconds` of processor time."""
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


def temporaries(folder):
    return sorted(str(each) for each in pathlib.Path(folder).rglob(".*.tmp"))


def name_of_signal(code):
    return signal.Signals(code - 128).name if 128 < code < 160 else str(code)
