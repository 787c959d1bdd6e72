"""Checks which files are opened while hostile files are read: tests/hostile/strace."""
import subprocess

from program import ROOT

SKIPPED = 77


def check(attn, _, __, ___):
    done = subprocess.run([ROOT / "tests/hostile/strace", attn.path], capture_output=True, text=True, check=False)
    *lines, last = done.stdout.splitlines() or [done.stderr[-400:]]
    return last, [] if done.returncode in (0, SKIPPED) else lines or [last]
