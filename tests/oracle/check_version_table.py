"""Checks that `attn get-config --keras-version V` writes the classes and keys that Keras V has.

usage: check_version_table.py ATTN TABLE
       (TABLE is tests/data/keras_versions/classes.json; needs jax and the last Keras of the table)

For every class that this Keras can create and attn supports, attn writes the config of Keras's object for each version of
the table. If the version does not have the class, attn must reject it; otherwise the keys must be those of that version's
get_config(). Prints a line for each difference, with its versions, and exits with 1 if there is one.
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import classes_of_keras as asked  # noqa: I001  it chooses the backend before Keras is imported
import keras
from keras.src.saving import serialization_lib

from make_version_table import minor, span


def number(version):
    return tuple(int(part) for part in version.split("."))


def lives(text, version):
    """Returns whether a span (see make_version_table.py) contains the version."""
    for run in text.split(","):
        first, _, last = run.partition("-")
        if number(first) <= number(version) and (not last or number(version) <= number(last)):
            return True
    return False


def items_in(row, field, version):
    """Returns the items of a class of the table in a version, without the marks of parameters."""
    pairs = [item.partition(" ") for item in row.get(field, [])]
    return [name.strip("*=") for name, _, text in pairs if not text or lives(text, version)]


def exists(row, version):
    return lives(f"{row['since']}-{row['last']}" if "last" in row else row["since"], version)


# # ---- input of attn
def found_in(value, class_name, module):
    """Returns the serialized object of a class inside a config."""
    if isinstance(value, dict):
        if value.get("class_name") == class_name and str(value.get("module")).startswith(module):
            return value
        value = list(value.values())
    objects = (found_in(item, class_name, module) for item in value) if isinstance(value, list) else ()
    return next(filter(None, objects), None)


def layer_cases():
    """Returns (name, JSON, position of the object in attn's output) for every layer and model."""
    for name in asked.layers():
        try:
            layer = asked.make_object(getattr(keras.layers, name), name)
            text = json.dumps(serialization_lib.serialize_keras_object(layer))
        except Exception:  # not a class of keras.layers, or cannot be created
            continue
        yield name, text, lambda written: written
    for name, model in asked.models().items():
        yield name, model.to_json(), lambda written: written


def operation_cases():
    made = {name: result for name, (_, result) in asked.made_operations().items()}
    for name, thing in asked.operation_classes().items():
        try:
            if name not in made:
                required = [text for text in asked.call_parameters(thing) if not text.endswith("=")]
                made[name] = asked.make_operation(thing)(*(asked.TENSORS[text]() for text in required))
            inputs = keras.utils.get_source_inputs(keras.tree.flatten(made[name])[0])
            model = keras.Model(inputs, made[name])
            text = model.to_json()
        except Exception:  # cannot be created or serialized
            continue
        yield name, text, lambda written, name=name: found_in(written, name, "keras.src.ops")


def member_cases(kind, argument):
    """Returns cases of objects in the `argument` of a Dense."""
    written = {name: name for name in asked.activations()} if kind == "activations" else {
        name: {"module": row["module"], "class_name": name, "registered_name": None, "config": asked.plain(row["config"])}
        for name, row in asked.objects(getattr(keras, kind)).items() if "config" in row}
    for name, value in written.items():
        layer = serialization_lib.serialize_keras_object(keras.layers.Dense(4))
        layer["config"][argument] = value
        yield name, json.dumps(layer), lambda layer: layer["config"][argument]


# # ---- comparison
def differences(rows, name, version, written):
    """Returns differences between the table's rows of a kind and an object that attn wrote for a version."""
    class_name = written if isinstance(written, str) else written["class_name"]
    row = rows.get(class_name)
    if row is None or not exists(row, version):
        return [f"{class_name} is written" + (f", which Keras has since {row['since']}" if row else "")]
    out = [] if class_name == name or not exists(rows[name], version) else [f"{class_name} is written for it"]
    if isinstance(written, str) or "config" not in row:
        return out
    keys, taken = (items_in(row, field, version) for field in ("config", "arguments"))
    if written["module"] not in items_in(row, "module", version):
        out.append(f"the module {written['module']} is written")
    for key in written["config"]:
        if key not in keys:
            out.append(f"{key} is written, which Keras " + ("takes and does not write" if key in taken else "does not know"))
    return out + [f"{key} is not written" for key in keys if key not in written["config"]]


def refusal(row, version, message):
    """Checks attn's rejection of a class for a version."""
    if not exists(row, version):
        return []
    lacking = re.search(r": its (\w+) of .* is in Keras since", message)  # a key with a value that the version lacks
    if lacking and lacking[1] not in items_in(row, "arguments", version):
        return []
    return ["it is refused" + (f" for its {lacking[1]}" if lacking else "")]


def check(program, path, case, rows, versions):
    """Returns the lines of a class, or None if attn does not support it."""
    name, text, place = case
    path.write_text(text)
    found = {}
    for version in map(minor, versions):
        command = [program, "get-config", str(path), "--keras-version", version]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            problems = differences(rows, name, version, place(json.loads(result.stdout)))
        elif "is in Keras since" in result.stderr:
            problems = refusal(rows[name], version, result.stderr)
        else:
            unknown = re.search(rf"'{name}' is (refused|not known)|unknown (initializer|activation) '{name}'", result.stderr)
            return None if unknown else [f"{name}: {result.stderr.strip()}"]
        for problem in problems:
            found.setdefault(problem, []).append(version)
    life = [minor(version) for version in versions]
    return [f"{name}: {problem} ({span(life, has) or 'in all versions'})" for problem, has in found.items()]


def main():
    program, table = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text())
    versions = table["versions"]
    if keras.__version__ != versions[-1]:
        raise SystemExit(f"the table ends with Keras {versions[-1]}, and this is {keras.__version__}")
    cases = [("layers", case) for case in layer_cases()] + [("operations", case) for case in operation_cases()]
    for kind, argument in (("initializers", "kernel_initializer"), ("regularizers", "kernel_regularizer"),
                           ("constraints", "kernel_constraint"), ("activations", "activation")):
        cases += [(kind, case) for case in member_cases(kind, argument)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [(kind, pool.submit(check, program, pathlib.Path(folder) / f"{n}.json", case, table[kind], versions))
                for n, (kind, case) in enumerate(cases)]
        results = [(kind, job.result()) for kind, job in jobs]
    for kind, lines in results:
        for line in lines or ():
            print(f"{kind}: {line}")
    known = [lines for _, lines in results if lines is not None]
    wrong = sum(bool(lines) for lines in known)
    print(f"{len(known)} classes in {len(versions)} versions, {wrong} with differences; {len(cases) - len(known)} not known to attn")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
