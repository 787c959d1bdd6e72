"""Reads, writes, opens and similar calls that fail, are incomplete or interrupted at the N-th call."""
import errno

from scenario import scenarios
from sweep import Fault, Sweep

FILE_ERRORS = (3, 4, 5)  # 5: error of reading a device
FAULTS = (
    Fault("read,pread", errno.EIO, 1, FILE_ERRORS),
    Fault("read,pread", errno.EINTR, 1, must_survive=True),
    Fault("read,pread", 0, 1, must_survive=True),
    Fault("read,pread", 0, 0, must_survive=True),
    Fault("write", errno.ENOSPC, 1, FILE_ERRORS),
    Fault("write", errno.EIO, 0, FILE_ERRORS),
    Fault("write", errno.EINTR, 1, must_survive=True),
    Fault("write", 0, 1, must_survive=True),
    Fault("write", 0, 0, must_survive=True),
    Fault("fsync", errno.EIO, 1, FILE_ERRORS),
    Fault("fsync", errno.EINTR, 1, must_survive=True),
    Fault("rename", errno.EIO, 1, FILE_ERRORS),
    Fault("rename", errno.ENOSPC, 1, FILE_ERRORS),
    Fault("open", errno.EMFILE, 1, FILE_ERRORS),
    Fault("open", errno.EMFILE, 0, FILE_ERRORS),
    Fault("open", errno.EINTR, 1, must_survive=True),
    Fault("close", errno.EIO, 1, FILE_ERRORS),
    Fault("close", errno.EINTR, 1, must_survive=True),
    Fault("fstat", errno.EIO, 1, FILE_ERRORS),
    Fault("mmap", errno.ENOMEM, 1, FILE_ERRORS),
    Fault("mmap", errno.EIO, 1, FILE_ERRORS),
)


def check(attn, inputs, jobs, short):
    sweep = Sweep(attn, inputs, jobs)
    for number, scenario in enumerate(scenarios()):
        # A rotating third of the faults for each scenario.
        for fault in FAULTS[number % 3 :: 3] if short else FAULTS:
            sweep.scenario(scenario, fault, 2 if short else 30)
    codes = ", ".join(f"exit {code}: {n}" for code, n in sorted(sweep.codes.items()))
    return f"{sweep.points} system calls failed ({codes})", sweep.failures
