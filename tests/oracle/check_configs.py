"""Checks that real Keras loads the output of `attn get-config` and prints the same summary.

usage: check_configs.py ATTN MODEL...      (needs: pip install keras tensorflow-cpu keras-hub)

For every MODEL: attn's JSON is loaded by keras.models.model_from_json. The summary of that model at several line lengths
must equal the output of `attn summary`, byte for byte, and its own JSON must equal attn's. Exits with 1 on a difference.
"""
import json
import os
import subprocess
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import keras_hub  # noqa: F401  registers its layers

LINE_LENGTHS = (76, 100, 120, 160)


def attn(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def summary(model, line_length, **options):
    lines = []
    os.environ["COLUMNS"] = str(max(80, line_length))
    model.summary(line_length=line_length, print_fn=lambda s, line_break=True: lines.append(s), **options)
    return "\n".join(lines)


def check(program, path):
    text = attn(program, "get-config", path)
    model = keras.models.model_from_json(text)
    problems = []
    if json.loads(model.to_json()) != json.loads(text):
        problems.append("Keras writes another JSON")
    for line_length in LINE_LENGTHS:
        if summary(model, line_length) != attn(program, "summary", "--line-length", str(line_length), path):
            problems.append(f"the summaries differ at {line_length} columns")
    wide = attn(program, "summary", "--line-length", "120", "--expand-nested", "--show-trainable", path)
    if summary(model, 120, expand_nested=True, show_trainable=True) != wide:
        problems.append("the expanded summaries differ")
    if model.count_params() != json.loads(attn(program, "summary", "--json", path))["total_params"]:
        problems.append("the parameter counts differ")
    return problems


if __name__ == "__main__":
    failed = 0
    for path in sys.argv[2:]:
        keras.backend.clear_session()
        problems = check(sys.argv[1], path)
        failed += bool(problems)
        print(f"{path}: {'; '.join(problems) or 'equal'}", flush=True)
    sys.exit(1 if failed else 0)
