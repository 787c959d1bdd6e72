"""Runs the program `attn`, which is in the same folder as this file."""
import os
import pathlib
import sys


def main() -> None:
    program = str(pathlib.Path(__file__).with_name("attn"))
    os.execv(program, ["attn", *sys.argv[1:]])


if __name__ == "__main__":
    main()
