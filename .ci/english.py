#!/usr/bin/env python3
"""Counts prose that docs/english.md rules out, in comments, docstrings, messages and Markdown.

    .ci/english.py                  compares the counts with .ci/english.json: each may only fall
    .ci/english.py --list KIND      prints each finding of a kind, e.g. `comments.opening`, with its file and line
    .ci/english.py --update         writes the current counts to .ci/english.json
    .ci/english.py --files F...     prints all findings in these files only
"""
import ast
import json
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTS = ROOT / ".ci/english.json"

OPENING = re.compile(r"(Of|What|Which|Where|As|By|How)\b", re.IGNORECASE)
GLOSSARY = re.compile(
    r"\b(rooms?|likewise|alone|tells?|told|says?|said|(?:goes|go|went|going) on|held (?:to|against)|holds? \w+ (?:to|against)|"
    r"answers? to|without a word|nothing beside|(?:is|are) none of|came about|byte dots?|digit dots?|moving products?|write-outs?|"
    r"way back|shared? out|likeliest|by itself|our own bug|be it|as many as|the numbers of the optimizer)\b", re.IGNORECASE)
LONG = 35  # words in a sentence


def blocks_of_cpp(text):
    """Yields (kind, line, text) of each comment and each chain of adjacent string literals."""
    token = re.compile(
        r'//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|R"(?P<delim>[^(\s]*)\((?P<raw>.*?)\)(?P=delim)"|"(?P<str>(?:\\.|[^"\\\n])*)"|'
        r"'(?:\\.|[^'\\\n])+'|#\s*include[^\n]*", re.DOTALL)
    comment, literal, last = None, None, 0
    for match in token.finditer(text):
        between = text[last:match.start()]
        last = match.end()
        line = text.count("\n", 0, match.start()) + 1
        if match["line"] is not None:
            words = match["line"].lstrip("/").strip()
            alone = text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip() == ""
            if comment and alone and between.strip() == "" and between.count("\n") == 1 and comment[3]:
                comment = (comment[0], comment[1], f"{comment[2]} {words}", True)
                continue
            if comment:
                yield comment[:3]
            comment = ("comments", line, words, alone)
            continue
        if comment:
            yield comment[:3]
            comment = None
        if match["str"] is not None:
            words = match["str"].replace('\\"', '"').replace("\\n", " ")
            if literal and between.strip() == "":
                literal = (literal[0], literal[1], literal[2] + words)
                continue
            if literal:
                yield literal
            literal = ("messages", line, words)
    if comment:
        yield comment[:3]
    if literal:
        yield literal


def is_python(path, text):
    return path.suffix == ".py" or text.startswith("#!/usr/bin/env python")


def docstrings(text):
    """Yields the line and the text of each paragraph of the docstrings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (found := ast.get_docstring(node)):
            for paragraph in re.split(r"\n\s*\n|\n(?=\s+\S|- )", found):
                yield node.body[0].lineno, " ".join(paragraph.split())


def blocks_of_script(path, text):
    if is_python(path, text):
        for line, words in docstrings(text):
            yield "docstrings", line, words
        lines = []
        with open(path, "rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.COMMENT:
                    lines.append((token.start[0], token.start[1], token.string))
    else:
        lines = [(n, len(line) - len(line.lstrip()), line.strip())
                 for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*#(?!!)", line)]
    block = None
    for number, column, line in lines:
        words = line.lstrip("#").strip()
        if block and number == block[3] + 1 and column == block[4]:
            block = (block[0], block[1], f"{block[2]} {words}", number, column)
            continue
        if block:
            yield block[:3]
        block = ("comments", number, words, number, column)
    if block:
        yield block[:3]


def blocks_of_markdown(text):
    paragraph, start, code = [], 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("```"):
            code = not code
        indented = line.startswith("    ") and not paragraph
        row = line.startswith("|")
        item = re.match(r"\s*([-*]|\d+\.)\s+(.*)", line)
        if code or indented or row or not line.strip() or line.startswith(("#", "<!--", ">")) or item:
            if paragraph:
                yield "docs", start, " ".join(paragraph)
            paragraph = []
            if row:
                for cell in line.strip("|").split("|"):
                    yield "docs", number, cell.strip()
        if item and not code and not indented:
            paragraph, start = [item[2]], number
        elif not (code or indented or row or not line.strip() or line.startswith(("#", "<!--", ">", "```"))):
            if not paragraph:
                start = number
            paragraph.append(line.strip())


def blocks(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix in {".h", ".cpp", ".cu", ".cuh", ".in", ".c"}:
        is_test = path.is_relative_to(ROOT / "tests") or path.is_relative_to(ROOT / "bench")
        for kind, line, words in blocks_of_cpp(text):
            if kind == "comments" or (not is_test and len(words.split()) >= 3):
                yield kind, line, words
    elif path.suffix == ".md":
        yield from blocks_of_markdown(text)
    else:
        yield from blocks_of_script(path, text)


def sentences(words):
    words = re.sub(r"`[^`]*`", "x", words)
    words = re.sub(r"\]\([^)]*\)", "]", words)
    return [s for s in re.split(r"(?<=[.!?:;])\s+(?=[A-Z(`\"'\[*_x])", words) if s.strip()]


def faults(words):
    """Yields (rule, sentence) for each violation in a block of prose."""
    for sentence in sentences(words):
        bare = sentence.strip(" *_(\"'[")
        if OPENING.match(bare) and not bare.rstrip().endswith("?") and len(bare.split()) > 2:
            yield "opening", sentence
        for word in GLOSSARY.findall(bare):
            yield "glossary", f"{word}: {sentence}"
        if len(sentence.split()) > LONG:
            yield "long", sentence


def sources():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True, check=True,
                           capture_output=True).stdout.split("\n")
    for name in names:
        path = ROOT / name
        if name == "docs/english.md" or name.startswith(("tests/data/", "tests/fuzz/corpus/", "tests/fuzz/regressions/", "bench/results/")) or not path.is_file():
            continue
        if path.suffix in {".h", ".cpp", ".cu", ".cuh", ".c", ".py", ".md", ".sh", ".cmake"} or path.name in {"CMakeLists.txt", "Makefile"} \
                or name.endswith(".cpp.in") or path.suffix == "" and path.read_bytes()[:2] == b"#!":
            yield path


def main():
    arguments = sys.argv[1:]
    wanted = arguments[1] if arguments[:1] == ["--list"] else None
    files = [pathlib.Path(f).resolve() for f in arguments[1:]] if arguments[:1] == ["--files"] else list(sources())
    counts, seen = {}, {}
    for path in files:
        for kind, line, words in blocks(path):
            seen[kind] = seen.get(kind, 0) + 1
            for rule, sentence in faults(words):
                name = f"{kind}.{rule}"
                counts[name] = counts.get(name, 0) + 1
                if name == wanted or arguments[:1] == ["--files"]:
                    print(f"{path.relative_to(ROOT)}:{line}: {rule}: {sentence[:200]}")
    if arguments[:1] == ["--files"] or wanted:
        return 0
    if arguments[:1] == ["--update"]:
        COUNTS.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n")
        print(counts, seen)
        return 0
    worse = {name: (count, limit) for name, count in sorted(counts.items())
             if count > (limit := json.loads(COUNTS.read_text()).get(name, 0))}
    for name, (count, limit) in worse.items():
        print(f"english: {name}: {count} findings, {limit} before; `.ci/english.py --list {name}` shows them", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
