#!/usr/bin/env python3
"""Checks every #include under src/ and include/ against the table of modules in CMakeLists.txt, and finds cycles.

A module's public headers are in src/<module>/include/attn/<module>; installed ones are in include/attn. Modules nested in
another module's folder share headers with each other, spelled relative to that folder ("config/fields.h"), as USES allows.
A public header of the outer module belongs to the nested module that has the .cpp of its name; without a .cpp, or with
several, it belongs to all.

A header and the .cpp of its name are a unit. Units must not include each other in a cycle.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC, INSTALLED = ROOT / "src", ROOT / "include/attn"
# The headers of a third-party target, by the beginning of their #include.
THIRD_PARTY = {"nlohmann_json": "nlohmann/", "CLI11": "CLI/", "spdlog": "spdlog/", "DNNL": ("oneapi/", "dnnl"), "ZLIB": "zlib.h"}

# Tests compile the kernels too, with headers that stand in for CUDA's.
EMULATED = ROOT / "tests/cuda_emulated"

uses, targets = {}, {}
for call in re.findall(r"^attn_module\((.*?)\)", (ROOT / "CMakeLists.txt").read_text(), re.M | re.S):
    module, *words = call.split()
    uses[module], targets[module] = {module}, set()
    into = None
    for word in words:
        if word == "PLUGIN":
            continue
        if word in ("USES", "THIRD_PARTY"):
            into = uses[module] if word == "USES" else targets[module]
        else:
            into.add(word.split("::")[0])

files = sorted(file for top in (SRC, INSTALLED) for file in top.rglob("*") if file.suffix in (".h", ".cpp", ".cu"))
sources = [file for file in files if file.suffix != ".h"]


def around(module):
    return str(pathlib.PurePosixPath(module).parent)


def module_of(path):
    """The innermost module whose folder holds the path (relative to src/, include/attn/ or attn/), or None."""
    if str(path) in ("attn.h", "attn_c.h"):
        return "library"  # the interfaces for other programs
    parents = [str(parent) for parent in pathlib.PurePosixPath(path).parents]
    return next((parent for parent in parents if parent in uses), None)


def is_public(file):
    return file.is_relative_to(INSTALLED) or "/include/attn/" in str(file)


def homes(file):
    """The sources of a public header: those of its name in the module, otherwise those in nested modules."""
    top = INSTALLED if file.is_relative_to(INSTALLED) else pathlib.Path(str(file).split("/attn/")[0]) / "attn"
    module = module_of(file.relative_to(top))
    own = SRC / module / file.relative_to(top if module == "library" else top / module).with_suffix(".cpp")
    if own.exists():
        return [own]
    return [s for s in sources if s.stem == file.stem and s.is_relative_to(SRC / module)
            and module_of(s.relative_to(SRC)) != module]


def owner(file):
    """The module of a file; None for a public header that all nested modules share."""
    if not is_public(file):
        return module_of(file.relative_to(SRC))
    found = homes(file)
    if len(found) == 1:
        return module_of(found[0].relative_to(SRC))
    top = INSTALLED if file.is_relative_to(INSTALLED) else pathlib.Path(str(file).split("/attn/")[0]) / "attn"
    module = module_of(file.relative_to(top))
    return None if any(around(other) == module for other in uses) else module


def unit(file):
    """The unit of a header and its source: a path without its suffix."""
    found = homes(file) if is_public(file) else []
    base = (found[0] if len(found) == 1 else file).relative_to(ROOT).with_suffix("")
    return str(base).removeprefix("src/")


def resolve(file, header, quoted):
    """The file that an #include refers to, if it is one of attn's."""
    if header.startswith("attn/"):
        other = module_of(header.removeprefix("attn/"))
        folders = [ROOT / "include"] + [SRC / part / "include" for part in (other or ".", around(other or "."))]
    elif quoted:
        module = module_of(file.relative_to(SRC)) if file.is_relative_to(SRC) else "."
        folders = [file.parent, SRC / module, SRC / around(module)]
    else:
        return None
    return next((folder / header for folder in folders if (folder / header).is_file()), None)


def includes(file):
    """Yields the line number, the header, whether it is quoted, and the file that it resolves to."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            quoted = match[1] == '"'
            yield number, match[2], quoted, resolve(file, match[2], quoted)


included = {file: list(includes(file)) for file in files}


def modules_behind(header, seen=None):
    """The modules that a public header needs: its own, or if it is shared, those of its includes."""
    if owner(header) is not None:
        return {owner(header)}
    seen = {header} if seen is None else seen
    out = set()
    for _, _, _, other in included[header]:
        if other is not None and other not in seen:
            seen.add(other)
            out |= modules_behind(other, seen)
    return out


def problem_of(module, file, header, quoted, target):
    if header.startswith("attn/"):
        other = module_of(header.removeprefix("attn/"))
        inside = other and module.startswith(other + "/")
        if other not in uses[module] and not inside:
            return f"{module} may not use {other}"
        if target is None:
            return f"{other} has no public header {header}"
        if inside:
            for needed in sorted(modules_behind(target)):
                if needed not in uses[module] and (needed == other or needed.startswith(other + "/")):
                    return f"{module} may not use {needed}, to which {header} belongs"
    elif quoted and target is None and not (EMULATED / header).is_file():
        return f"{header} is not a header of {module}"
    elif target is not None and owner(target) not in uses[module]:
        return f"{module} may not use {owner(target)}"
    for library, begins in THIRD_PARTY.items():
        if header.startswith(begins) and library not in targets[module]:
            return f"{library} is not among the libraries of {module}"
    return None


def find_loops(graph):
    """Yields the shortest cycle of each strongly connected group of units, and the size of the group."""
    reach = {}
    for start in graph:
        seen, stack = set(), [start]
        while stack:
            for other in graph.get(stack.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        reach[start] = seen
    done = set()
    for start in sorted(graph):
        if start in done or start not in reach[start]:
            continue
        group = {other for other in reach[start] if start in reach[other]}
        done |= group
        ways = [[at] for at in sorted(group)]
        while not any(way[0] in graph[way[-1]] for way in ways):
            ways = [way + [other] for way in ways for other in sorted(graph[way[-1]] & group) if other not in way]
        way = next(way for way in ways if way[0] in graph[way[-1]])
        yield way + way[:1], len(group)


wrong = 0
graph = {}
for file in files:
    where = file.relative_to(ROOT)
    module = module_of(file.relative_to(SRC if file.is_relative_to(SRC) else INSTALLED))
    if module is None:
        print(f"{where}: belongs to no module in CMakeLists.txt")
        wrong += 1
        continue
    module = owner(file) or module
    reads = graph.setdefault(unit(file), set())
    for number, header, quoted, target in included[file]:
        problem = problem_of(module, file, header, quoted, target)
        if problem:
            print(f"{where}:{number}: {problem}")
            wrong += 1
        if target is not None and unit(target) != unit(file):
            reads.add(unit(target))
for way, count in find_loops(graph):
    print(f"{way[0]}: include cycle: {' -> '.join(way)}" + (f" (and more, among {count})" if count >= len(way) else ""))
    wrong += 1
sys.exit(1 if wrong else 0)
