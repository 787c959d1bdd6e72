"""Writes tests/data/keras_versions/classes.json: the versions of Keras 3 that have each class, argument and key of a config.

usage: make_version_table.py KERAS_DIR TABLE
       (needs: pip install numpy absl-py rich namex h5py optree ml-dtypes packaging dm-tree jax==0.5.3)

Installs the last patch of each minor version into KERAS_DIR/VERSION, unless it is there, and runs classes_of_keras.py with
it. tests/data/README.md describes the table.
"""
import json
import os
import pathlib
import subprocess
import sys

VERSIONS = ("3.0.5 3.1.1 3.2.1 3.3.3 3.4.1 3.5.0 3.6.0 3.7.0 3.8.0 3.9.2 3.10.0 3.11.3 3.12.4 3.13.2 3.14.1 "
            "3.15.1").split()
KINDS = ("layers", "operations", "initializers", "regularizers", "constraints", "activations")
LISTS = ("module", "names", "arguments", "call", "config")


def minor(version):
    return ".".join(version.split(".")[:2])


def installed(folder, version):
    """Returns the folder with this Keras."""
    target = folder / version
    if not (target / "keras").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), f"keras=={version}"]
        subprocess.run(pip, check=True)
    return target


def asked(folder, version):
    """Returns the output of classes_of_keras.py with this Keras."""
    environment = os.environ | {"PYTHONPATH": str(installed(folder, version)), "KERAS_BACKEND": "jax"}
    script = pathlib.Path(__file__).with_name("classes_of_keras.py")
    text = subprocess.run([sys.executable, str(script)], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    answer = json.loads(text)
    if answer["version"] != version:
        raise SystemExit(f"asked Keras {version}, and {answer['version']} answered")
    return answer


def span(life, present):
    """Returns the versions of `life` that have something, as text: "3.4" is since 3.4, "3.0-3.3" is up to 3.3; empty if
    all have it."""
    runs = []
    for at, version in enumerate(life):
        if version in present and at > 0 and life[at - 1] in present and runs:
            runs[-1][1] = version
        elif version in present:
            runs.append([version, version])
    if runs == [[life[0], life[-1]]]:
        return ""
    return ",".join(first if last == life[-1] else f"{first}-{last}" for first, last in runs)


def merged(lists):
    """Merges lists of all versions, in the order of the newest; a removed item follows its predecessor."""
    order = []
    for items in reversed(list(lists.values())):
        for at, item in enumerate(items):
            if item not in order:
                order.insert(order.index(items[at - 1]) + 1 if at else 0, item)
    return [" ".join(filter(None, (item, span(list(lists), [v for v, items in lists.items() if item in items])))) for item in order]


def record(rows, versions):
    """Returns the row of one class, from the descriptions of each version."""
    out = {"since": next(iter(rows))}
    if (last := next(reversed(rows))) != versions[-1]:
        out["last"] = last
    for field in LISTS:
        lists = {v: [row[field]] if field == "module" else list(row[field]) for v, row in rows.items() if field in row}
        if any(lists.values()) or (field == "config" and lists):
            out[field] = merged(lists)
    return out


def table(answers):
    versions = [minor(version) for version in answers]
    out = {}
    for kind in KINDS:
        names = sorted({name for answer in answers.values() for name in answer[kind]})
        out[kind] = {name: record({minor(v): answer[kind][name] for v, answer in answers.items() if name in answer[kind]}, versions)
                     for name in names}
    return out


def text_of(versions, kinds):
    """Returns JSON with one class in each line."""
    lines = [f'"versions": {json.dumps(versions)}']
    for kind, rows in kinds.items():
        lines.append(f'"{kind}": {{\n' + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    folder, path = (pathlib.Path(argument) for argument in sys.argv[1:3])
    answers = {version: asked(folder, version) for version in VERSIONS}
    path.write_text(text_of(VERSIONS, table(answers)))


if __name__ == "__main__":
    main()
