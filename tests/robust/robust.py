#!/usr/bin/env python3
"""Disturbs attn in every way that a machine can, and reports its reactions.

    robust.py BUILD [--short] [--jobs N] [CHECK…]
"""
import argparse
import os
import sys
import time

sys.dont_write_bytecode = True
import allocation
import commands
import determinism
import foreign_files
import kills
import mutants
import numbers_of_ops
import odd_files
import parallel_runs
import shards
import signals
import system_calls
import terminal
import texts
import tokenizer_mutants
import training
import training_mutants
import valgrind
from program import Attn, Folder
from scenario import make_inputs

CHECKS = {"commands": commands, "allocation": allocation, "system-calls": system_calls, "odd-files": odd_files, "kills": kills,
          "terminal": terminal, "texts": texts, "tokenizers": tokenizer_mutants, "training": training, "signals": signals,
          "parallel-runs": parallel_runs, "shards": shards, "foreign-files": foreign_files, "mutants": mutants,
          "training-mutants": training_mutants,
          "determinism": determinism, "numbers": numbers_of_ops, "valgrind": valgrind}
SHOWN = 20


def main():
    parser = argparse.ArgumentParser(description="Disturbs attn in every way that a machine can.")
    parser.add_argument("build", help="the folder with the program and tests/robust/libfault.so")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="which, else all: " + ", ".join(CHECKS))
    parser.add_argument("--short", action="store_true", help="a share of each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_intermixed_args()
    unknown = set(arguments.checks) - set(CHECKS)
    if unknown:
        parser.error(f"no such check: {', '.join(sorted(unknown))}")

    attn = Attn(arguments.build)
    wrong = 0
    with Folder() as inputs:
        make_inputs(attn, inputs)
        for name in arguments.checks or CHECKS:
            start = time.monotonic()
            told, failures = CHECKS[name].check(attn, inputs, arguments.jobs, arguments.short)
            wrong += len(failures)
            print(f"{name}: {told}; {len(failures)} failures, {time.monotonic() - start:.0f} s", flush=True)
            for failure in failures[:SHOWN]:
                print(f"    {failure}")
            if len(failures) > SHOWN:
                print(f"    and {len(failures) - SHOWN} more")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
