"""Failing allocations: the N-th allocation of every command fails, on its own or with all later ones."""
import errno

from scenario import scenarios
from sweep import Fault, Sweep

MEMORY = errno.ENOMEM
ONCE, FOREVER = 1, 0


def check(attn, inputs, jobs, short):
    sweep = Sweep(attn, inputs, jobs)
    for scenario in scenarios():
        # The memory of this process does not show that of the process that reads HDF5.
        codes = (4,) if scenario.program == "attn" else (3, 4)
        for how_many, most in ((ONCE, 12 if short else 120), (FOREVER, 6 if short else 60)):
            sweep.scenario(scenario, Fault("alloc", MEMORY, how_many, codes), most)
    codes = ", ".join(f"exit {code}: {n}" for code, n in sorted(sweep.codes.items()))
    return f"{sweep.points} allocations failed ({codes})", sweep.failures
