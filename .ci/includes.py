#!/usr/bin/env python3
"""Holds every #include under src/ and include/ against the table of rooms in CMakeLists.txt.

A room's public headers lie in src/<room>/include/attn/<room>; those that are installed lie in include/attn.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The headers that a third-party target brings, by how their #include begins.
THIRD_PARTY = {"nlohmann_json": "nlohmann/", "CLI11": "CLI/", "spdlog": "spdlog/", "DNNL": ("oneapi/", "dnnl"), "ZLIB": "zlib.h"}

# Kernels are compiled for the tests too, over headers that stand in for CUDA's.
EMULATED = ROOT / "tests/cuda_emulated"

uses, targets = {}, {}
for call in re.findall(r"^attn_room\((.*?)\)", (ROOT / "CMakeLists.txt").read_text(), re.M | re.S):
    room, *words = call.split()
    uses[room], targets[room] = {room}, set()
    into = None
    for word in words:
        if word == "PLUGIN":
            continue
        if word in ("USES", "THIRD_PARTY"):
            into = uses[room] if word == "USES" else targets[room]
        else:
            into.add(word.split("::")[0])


def room_of(path):
    """The innermost room whose folder holds the path (relative to src/, include/attn/ or attn/), or None."""
    if str(path) == "attn.h":
        return "library"  # the door for other programs
    parents = [str(parent) for parent in pathlib.PurePosixPath(path).parents]
    return next((parent for parent in parents if parent in uses), None)


def public_folders(room):
    """Where the public headers of a room lie: a nested room stands behind the headers of the room around it."""
    return [ROOT / "src" / part / "include" for part in (room, str(pathlib.PurePosixPath(room).parent))]


wrong = 0
for top in (ROOT / "src", ROOT / "include/attn"):
    for file in sorted(top.rglob("*")):
        if file.suffix not in (".h", ".cpp", ".cu"):
            continue
        where = file.relative_to(ROOT)
        room = room_of(file.relative_to(top))
        if room is None:
            print(f"{where}: in no room of CMakeLists.txt")
            wrong += 1
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
            if not match:
                continue
            header = match[1]
            problem = None
            if header.startswith("attn/"):
                other = room_of(header.removeprefix("attn/"))
                # A nested room may include its parent's headers: the seam that it stands behind.
                if other not in uses[room] and not (other and room.startswith(other + "/")):
                    problem = f"{room} may not use {other}"
                elif not any((top / header).is_file() for top in (ROOT / "include", *public_folders(other))):
                    problem = f"{other} has no public header {header}"
            elif '"' in line and not any((base / header).is_file() for base in (file.parent, ROOT / "src" / room, EMULATED)):
                problem = f"{header} is no header of {room}"
            for target, begins in THIRD_PARTY.items():
                if header.startswith(begins) and target not in targets[room]:
                    problem = f"{target} is not among the libraries of {room}"
            if problem:
                print(f"{where}:{number}: {problem}")
                wrong += 1
sys.exit(1 if wrong else 0)
