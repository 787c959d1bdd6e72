#include "commands/scripts/keras_script.h"

namespace attn::cli {

std::string_view keras_script() {
  return R"PY(#!/usr/bin/env python3
"""Runs a Keras 3 model and writes what every layer gives, for `attn compare MODEL --expect OUT.npz`.

    attn compare --print-keras-script > keras_layers.py
    python keras_layers.py model.keras layers.npz
    attn compare model.keras --expect layers.npz

MODEL is a .keras or .h5 file, or JSON (model.to_json()) with --weights. The inputs are random, or those of --inputs
FILE.npz, and are written too, under the names of the input layers.
"""
import argparse
import importlib
import os
import sys

import keras
import numpy as np


def load(path, weights):
    if path.endswith(".json"):
        with open(path, encoding="utf-8") as file:
            model = keras.models.model_from_json(file.read())
        if model.weights and not weights:
            sys.exit(f"{path} holds no weights: give --weights FILE (`attn init MODEL -o FILE.weights.h5` makes one)")
    else:
        model = keras.saving.load_model(path, compile=False)
    if weights:
        model.load_weights(weights)
    return model


def is_looked_up(tensor):
    nodes = tensor._keras_history.operation._outbound_nodes
    return any(isinstance(node.operation, keras.layers.Embedding) for node in nodes)


def make_inputs(model, given, batch, length, seed):
    random = np.random.default_rng(seed)
    tensors = {tensor._keras_history.operation.name: tensor for tensor in model.inputs}
    shapes = {
        name: [size or (batch if axis == 0 else length) for axis, size in enumerate(tensor.shape)]
        for name, tensor in tensors.items()
    }
    # An index is one of a token or of a position: it stays within all tables and all lengths.
    tables = [layer.input_dim for layer in model._flatten_layers() if isinstance(layer, keras.layers.Embedding)]
    limit = min([10, *tables, *(size for shape in shapes.values() for size in shape[1:2])])
    arrays = {}
    for name, tensor in tensors.items():
        dtype = keras.backend.standardize_dtype(tensor.dtype)
        if name in given:
            arrays[name] = given[name]
        elif dtype == "string":
            sys.exit(f"the input {name} takes strings: give an array of them in --inputs FILE.npz")
        elif "float" in dtype and not is_looked_up(tensor):
            arrays[name] = random.standard_normal(shapes[name]).astype("float32")
        elif dtype == "bool" or "mask" in name:
            arrays[name] = np.ones(shapes[name], dtype)
        else:
            arrays[name] = random.integers(0, limit, shapes[name]).astype(dtype)
    return arrays


def as_tensor(array):
    """Strings, which NumPy's arrays of Keras's models cannot be, as TensorFlow's."""
    if array.dtype.kind not in "US":
        return array
    import tensorflow

    return tensorflow.constant(array)


def record(model, inputs):
    """What each call of a layer or operation gives, by path; "[call][output]" after the first of each."""
    arrays, path, calls = {}, [], {}
    plain_call = keras.Operation.__call__

    def recorded_call(self, *args, **kwargs):
        path.append(self.name)
        name = "/".join(path[1:])  # without the model's own
        call = calls[name] = calls.get(name, -1) + 1
        try:
            outputs = plain_call(self, *args, **kwargs)
        finally:
            path.pop()
        for index, output in enumerate(keras.tree.flatten(outputs) if name else []):
            if not keras.ops.is_tensor(output):
                continue
            if keras.backend.standardize_dtype(output.dtype) == "bfloat16":
                output = keras.ops.cast(output, "float32")  # NumPy has no bfloat16
            key = name if call == index == 0 else f"{name}[{call}][{index}]"
            try:
                arrays[key] = keras.ops.convert_to_numpy(output)
            except Exception:  # inside a traced function there are no numbers
                pass
        return outputs

    chain = isinstance(model, keras.Sequential)
    structure = model.inputs[0] if chain else model.input
    keras.Operation.__call__ = recorded_call
    try:
        model(keras.tree.pack_sequence_as(structure, [as_tensor(array) for array in inputs.values()]), training=False)
    finally:
        keras.Operation.__call__ = plain_call
    return arrays


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--weights", help=".weights.h5 or .keras")
    parser.add_argument("--inputs", help=".npz of arrays named as the input layers")
    parser.add_argument("--batch-size", dest="batch", type=int, default=1, help="batch size, if left open (default 1)")
    parser.add_argument("--seq-len", dest="length", type=int, default=128, help="sequence length, if left open (default 128)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--import", dest="modules", action="append", default=[], metavar="MODULE",
                        help="a module or .py file that registers the model's classes, such as keras_hub")
    options = parser.parse_args()
    for module in options.modules:
        folder, name = os.path.split(module)
        sys.path.insert(0, folder or ".")
        importlib.import_module(name.removesuffix(".py") if folder or name.endswith(".py") else module)
    model = load(options.model, options.weights)
    given = dict(np.load(options.inputs)) if options.inputs else {}
    inputs = make_inputs(model, given, options.batch, options.length, options.seed)
    layers = record(model, inputs)
    np.savez(options.out, **{**inputs, **layers})
    print(f"{options.out}: {len(inputs)} inputs and {len(layers)} arrays of layers")


if __name__ == "__main__":
    main()
)PY";
}

}  // namespace attn::cli
