"""Describes the classes of the installed Keras: a module of make_version_table.py and check_version_table.py, and a
program that prints it as JSON.

usage: classes_of_keras.py      (needs: pip install keras==3.N jax; KERAS_BACKEND defaults to jax)

Creates layers and operations to read their get_config(): a layer from ARGUMENTS, an operation by calling its function
in keras.ops with TENSORS and CALL_ARGUMENTS. A class that cannot be created has no "config".
"""
import inspect
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
from keras.src.layers.layer import Layer
from keras.src.ops.operation import Operation
from keras.src.saving import serialization_lib

# Values of required arguments, by argument name, otherwise by class and name.
ARGUMENTS = {
    "activation": "relu", "axes": 1, "dims": [2, 1], "equation": "abc,cd->abd", "factor": 0.5, "filters": 4, "head_dim": 4,
    "height": 8, "height_factor": 0.2, "input_dim": 8, "kernel_size": 3, "key_dim": 4, "max_number": 3, "n": 3, "num_bins": 4,
    "num_heads": 2, "num_key_value_heads": 2, "num_query_heads": 4, "output_dim": 4, "output_shape": [None, 4],
    "output_size": 2, "pool_size": 2, "rate": 0.1, "scale": 0.5, "stddev": 0.1, "target_shape": [-1, 2], "units": 4,
    "value": 1.0, "width": 8, "width_factor": 0.2,
}
ARGUMENTS_OF = {
    "CategoryEncoding": {"num_tokens": 4}, "Discretization": {"bin_boundaries": [0.0, 1.0]}, "InputLayer": {"shape": [4]},
    "RandomPosterization": {"factor": 4},
}
MEMBERS = {
    "RNN": lambda: {"cell": keras.layers.SimpleRNNCell(4)},
    "StackedRNNCells": lambda: {"cells": [keras.layers.SimpleRNNCell(4)]},
    "Bidirectional": lambda: {"layer": keras.layers.SimpleRNN(4)},
    "SpectralNormalization": lambda: {"layer": keras.layers.Dense(4)},
    "TimeDistributed": lambda: {"layer": keras.layers.Dense(4)},
    "Wrapper": lambda: {"layer": keras.layers.Dense(4)},
    "Pipeline": lambda: {"layers": [keras.layers.Dropout(0.1)]},
}


def tensor(*shape, dtype="float32"):
    return keras.Input(batch_shape=shape, dtype=dtype)


# Arguments for functions of keras.ops, by argument name, otherwise by function and name.
TENSORS = {
    "x": lambda: tensor(2, 3, 4), "x1": lambda: tensor(2, 3, 4), "x2": lambda: tensor(2, 3, 4), "a": lambda: tensor(4, 4),
    "b": lambda: tensor(4, 4), "xs": lambda: [tensor(2, 3), tensor(2, 3)], "y": lambda: tensor(2, 3, 4),
    "condition": lambda: tensor(2, 3, 4, dtype="bool"), "images": lambda: tensor(1, 8, 8, 3), "image": lambda: tensor(1, 8, 8, 3),
    "indices": lambda: tensor(2, 3, dtype="int32"), "inputs": lambda: tensor(1, 8, 8, 3), "array": lambda: tensor(2, 3, 4),
    "m": lambda: tensor(4, 4), "v": lambda: tensor(2, 3, 4), "query": lambda: tensor(1, 3, 2, 4), "key": lambda: tensor(1, 3, 2, 4),
    "value": lambda: tensor(1, 3, 2, 4), "kernel": lambda: tensor(3, 3, 3, 2), "tensor": lambda: tensor(2, 3, 4),
    "start_indices": lambda: [0, 0, 0], "q": lambda: 0.5, "axis": lambda: 0, "shape": lambda: [2, 3, 4], "dtype": lambda: "float32",
    "num_classes": lambda: 5, "newshape": lambda: [6, 4], "pad_width": lambda: 1, "repeats": lambda: 2, "shift": lambda: 1,
    "k": lambda: 2, "source": lambda: 0, "destination": lambda: 1, "axis1": lambda: 0, "axis2": lambda: 1, "x_min": lambda: 0.0,
    "x_max": lambda: 1.0, "fill_value": lambda: 1.0, "threshold": lambda: 0.0, "default_value": lambda: 0.0, "pool_size": lambda: 2,
    "indices_or_sections": lambda: 2, "size": lambda: [4, 4], "pattern": lambda: "a b c -> a c b", "mean": lambda: tensor(4),
    "variance": lambda: tensor(4), "axes": lambda: [0], "element": lambda: tensor(2, dtype="int32"), "vector": lambda: tensor(2, 3),
    "block_size": lambda: 2, "values": lambda: tensor(2, 3), "x_data": lambda: tensor(2), "updates": lambda: tensor(2, 3, 4),
    "depthwise_kernel": lambda: tensor(3, 3, 3, 1), "pointwise_kernel": lambda: tensor(1, 1, 3, 2), "test_elements": lambda: tensor(3),
    "step": lambda: 1, "start": lambda: 0, "stop": lambda: 4, "min": lambda: 0.0, "max": lambda: 1.0,
}
CALL_ARGUMENTS = {
    "affine_transform": {"transform": lambda: tensor(8)},
    "argpartition": {"kth": lambda: 1},
    "append": {"x1": lambda: tensor(2, 3), "x2": lambda: tensor(2, 3)},
    "array_split": {"x": lambda: tensor(2, 4)},
    "associative_scan": {"f": lambda: keras.ops.add, "elems": lambda: tensor(2, 3)},
    "batch_normalization": {"axis": lambda: -1},
    "binary_crossentropy": {"target": lambda: tensor(2, 3), "output": lambda: tensor(2, 3)},
    "categorical_crossentropy": {"target": lambda: tensor(2, 3), "output": lambda: tensor(2, 3)},
    "cholesky_inverse": {"x": lambda: tensor(4, 4)},
    "cholesky": {"x": lambda: tensor(4, 4)},
    "conv_transpose": {"kernel": lambda: tensor(3, 3, 2, 3)},
    "corrcoef": {"x": lambda: tensor(3, 5)},
    "correlate": {"x1": lambda: tensor(5), "x2": lambda: tensor(3)},
    "crop_images": {"top_cropping": lambda: 1, "left_cropping": lambda: 1, "target_height": lambda: 4, "target_width": lambda: 4},
    "cross": {"x1": lambda: tensor(2, 3), "x2": lambda: tensor(2, 3)},
    "depth_to_space": {"x": lambda: tensor(1, 4, 4, 4)},
    "depthwise_conv": {"kernel": lambda: tensor(3, 3, 3, 1)},
    "det": {"x": lambda: tensor(4, 4)},
    "diag": {"x": lambda: tensor(4)},
    "diagflat": {"x": lambda: tensor(4)},
    "digitize": {"bins": lambda: tensor(3)},
    "dot": {"x1": lambda: tensor(2, 4), "x2": lambda: tensor(4, 3)},
    "extract_patches": {"size": lambda: 2},
    "extract_sequences": {"sequence_length": lambda: 2, "sequence_stride": lambda: 1},
    "fft": {"x": lambda: (tensor(2, 3), tensor(2, 3))},
    "fft2": {"x": lambda: (tensor(2, 3), tensor(2, 3))},
    "fold": {"x": lambda: tensor(2, 8, 9), "output_size": lambda: 4, "kernel_size": lambda: 2},
    "full": {"fill_value": lambda: tensor()},
    "hsplit": {"x": lambda: tensor(2, 4)},
    "ifft2": {"x": lambda: (tensor(2, 3), tensor(2, 3))},
    "in_top_k": {"targets": lambda: tensor(2, dtype="int32"), "predictions": lambda: tensor(2, 5)},
    "inner": {"x1": lambda: tensor(4), "x2": lambda: tensor(4)},
    "inv": {"x": lambda: tensor(4, 4)},
    "irfft": {"x": lambda: (tensor(2, 3), tensor(2, 3))},
    "istft": {"x": lambda: (tensor(2, 3, 3), tensor(2, 3, 3)), "sequence_length": lambda: 4, "sequence_stride": lambda: 2,
              "fft_length": lambda: 4},
    "kron": {"x1": lambda: tensor(2, 2), "x2": lambda: tensor(2, 2)},
    "geomspace": {"start": lambda: tensor(3), "stop": lambda: tensor(3)},
    "layer_normalization": {"axis": lambda: -1},
    "linspace": {"start": lambda: tensor(3), "stop": lambda: tensor(3)},
    "logspace": {"start": lambda: tensor(3), "stop": lambda: tensor(3)},
    "logdet": {"x": lambda: tensor(4, 4)},
    "map_coordinates": {"inputs": lambda: tensor(4, 4), "coordinates": lambda: tensor(2, 3), "order": lambda: 1},
    "matmul": {"x2": lambda: tensor(2, 4, 3)},
    "multi_hot": {"inputs": lambda: tensor(2, 3, dtype="int32"), "num_classes": lambda: 5},
    "norm": {"x": lambda: tensor(2, 3)},
    "one_hot": {"x": lambda: tensor(2, 3, dtype="int32")},
    "pad_images": {"top_padding": lambda: 1, "left_padding": lambda: 1, "target_height": lambda: 12, "target_width": lambda: 12},
    "perspective_transform": {"start_points": lambda: tensor(1, 4, 2), "end_points": lambda: tensor(1, 4, 2)},
    "polar": {"abs_": lambda: tensor(2, 3), "angle": lambda: tensor(2, 3)},
    "psnr": {"max_val": lambda: 1.0},
    "scale_and_translate": {"output_shape": lambda: (1, 8, 8, 3), "scale": lambda: tensor(2), "translation": lambda: tensor(2),
                            "spatial_dims": lambda: (1, 2), "method": lambda: "linear"},
    "scatter": {"indices": lambda: tensor(2, 1, dtype="int32"), "values": lambda: tensor(2, 3, 4), "shape": lambda: [5, 3, 4]},
    "scatter_update": {"inputs": lambda: tensor(5, 3, 4), "indices": lambda: tensor(2, 1, dtype="int32")},
    "searchsorted": {"sorted_sequence": lambda: tensor(4), "values": lambda: tensor(3)},
    "segment_max": {"data": lambda: tensor(3, 4), "segment_ids": lambda: tensor(3, dtype="int32"), "num_segments": lambda: 3},
    "segment_min": {"data": lambda: tensor(3, 4), "segment_ids": lambda: tensor(3, dtype="int32"), "num_segments": lambda: 3},
    "segment_prod": {"data": lambda: tensor(3, 4), "segment_ids": lambda: tensor(3, dtype="int32"), "num_segments": lambda: 3},
    "segment_sum": {"data": lambda: tensor(3, 4), "segment_ids": lambda: tensor(3, dtype="int32"), "num_segments": lambda: 3},
    "select": {"condlist": lambda: [tensor(2, dtype="bool")], "choicelist": lambda: [tensor(2)]},
    "slice": {"inputs": lambda: tensor(2, 3, 4)},
    "slice_update": {"inputs": lambda: tensor(2, 3, 4)},
    "slogdet": {"x": lambda: tensor(4, 4)},
    "space_to_depth": {"x": lambda: tensor(1, 4, 4, 4)},
    "sparse_categorical_crossentropy": {"target": lambda: tensor(2, dtype="int32"), "output": lambda: tensor(2, 3)},
    "split": {"x": lambda: tensor(2, 4)},
    "squeeze": {"x": lambda: tensor(1, 3, 4)},
    "stack": {"x": lambda: [tensor(2, 3), tensor(2, 3)]},
    "stft": {"sequence_length": lambda: 2, "sequence_stride": lambda: 1, "fft_length": lambda: 2},
    "stop_gradient": {"variable": lambda: tensor(2, 3)},
    "take_along_axis": {"indices": lambda: tensor(2, 3, dtype="int32"), "x": lambda: tensor(2, 3), "axis": lambda: 1},
    "tensordot": {"x1": lambda: tensor(2, 3, 4), "x2": lambda: tensor(3, 4, 2)},
    "tile": {"repeats": lambda: [2, 1, 1]},
    "unfold": {"x": lambda: tensor(2, 3, 6, 6), "kernel_size": lambda: 2},
    "unravel_index": {"indices": lambda: tensor(3, dtype="int32"), "shape": lambda: [2, 3]},
    "vander": {"x": lambda: tensor(4)},
    "vdot": {"x1": lambda: tensor(4), "x2": lambda: tensor(4)},
    "vsplit": {"x": lambda: tensor(2, 4)},
    "where": {"x1": lambda: tensor(2, 3, 4), "x2": lambda: tensor(2, 3, 4)},
}
POSITIONAL = {
    "einsum": lambda: ["abc,cd->abd", tensor(2, 3, 4), tensor(4, 5)],
    "meshgrid": lambda: [tensor(3), tensor(4)],
}


def parameters_of(function):
    """Returns a function's parameter names without self, in order; "=" follows those with a default, "*" precedes variadic
    ones."""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*{}", inspect.Parameter.VAR_KEYWORD: "**{}"}
    out = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self":
            text = marks.get(parameter.kind, "{}").format(parameter.name)
            out.append(text + ("" if parameter.default is inspect.Parameter.empty else "="))
    return out


def written_name(thing):
    """Returns module and name in Keras's serialization of a class."""
    written = serialization_lib.serialize_with_public_class(thing)
    return written["module"], written["class_name"]


def call_parameters(thing):
    """Returns the parameters of call(); none for a class that only others call."""
    return parameters_of(thing.call) if "call" in dir(thing) else []


def described(thing, config):
    """Returns the table's row of a class; `config` is the get_config() of an object, or None."""
    module, _ = written_name(thing)
    out = {"module": module, "arguments": parameters_of(thing.__init__), "names": []}
    if issubclass(thing, Operation):  # includes layers
        out["call"] = call_parameters(thing)
    return out | ({} if config is None else {"config": config})


def make_object(thing, name):
    """Creates an object of the class that Keras serializes as `name`, with its required arguments."""
    arguments = dict(ARGUMENTS_OF.get(name, {}))
    if name in MEMBERS:
        arguments |= MEMBERS[name]()
    for text in parameters_of(thing.__init__):
        if text in ARGUMENTS and text not in arguments:
            arguments[text] = ARGUMENTS[text]
    return thing(**arguments)


def objects(module, base=object):
    """Returns the classes that a module exports, by their names in Keras's serialization."""
    classes, names = {}, {}
    for exported in dir(module):
        thing = getattr(module, exported)
        if inspect.isclass(thing) and issubclass(thing, base):
            _, name = written_name(thing)
            classes[name] = thing
            names.setdefault(name, []).append(exported)
    out = {}
    for name, thing in classes.items():
        try:
            config = make_object(thing, name).get_config()
        except Exception:  # a base class, or requires TensorFlow, a file or a function
            config = None
        out[name] = described(thing, config) | {"names": [exported for exported in names[name] if exported != name]}
    return out


# ---- layers
def models():
    """Returns a saved model of each kind."""
    inputs = keras.Input((4,), name="x")
    functional = keras.Model(inputs, keras.layers.Dense(3)(inputs))
    return {"Functional": functional, "Sequential": keras.Sequential([keras.layers.Dense(3)])}


def layers():
    out = objects(keras.layers, Layer)
    for name, model in models().items():
        out[name] = described(type(model), model.get_config())
    return out


# ---- operations
def operation_classes():
    found, open_ = {}, [Operation]
    while open_:
        for thing in open_.pop().__subclasses__():
            if not issubclass(thing, Layer):
                open_.append(thing)
                if thing.__module__.startswith("keras.src.ops."):
                    found[thing.__name__] = thing
    return found


def histories(value):
    """Returns the operations that created the tensors in a function's result."""
    if isinstance(value, keras.KerasTensor):
        return [value._keras_history.operation]
    if isinstance(value, dict):
        value = list(value.values())
    return [operation for item in value for operation in histories(item)] if isinstance(value, (list, tuple)) else []


def call_function(name, function):
    if name in POSITIONAL:
        return function(*POSITIONAL[name]())
    special = CALL_ARGUMENTS.get(name, {})
    required = [text for text in parameters_of(function) if not text.endswith("=") and not text.startswith("*")]
    arguments = {text: TENSORS[text]() for text in required if text not in special}
    return function(**arguments, **{text: make() for text, make in special.items()})


def functions():
    """Returns the functions of keras.ops by name, including subscripts."""
    out = {"get_item": lambda x: x[:, 0]}
    for module in [keras.ops] + [member for member in vars(keras.ops).values() if inspect.ismodule(member)]:
        for name in dir(module):
            if inspect.isfunction(getattr(module, name)) and not name.startswith("_"):
                out.setdefault(name, getattr(module, name))
    return out


def made_operations():
    """Returns an operation of each class that a function of keras.ops creates, with its result."""
    out = {}
    for name, function in functions().items():
        try:
            result = call_function(name, function)
        except Exception:  # CALL_ARGUMENTS do not apply
            continue
        for operation in histories(result):
            if not isinstance(operation, Layer):
                out.setdefault(type(operation).__name__, (operation, result))
    return out


def make_operation(thing):
    """Creates an operation of a class without a function."""
    required = [text for text in parameters_of(thing.__init__) if not text.endswith("=") and not text.startswith("*")]
    return thing(**{text: TENSORS[text]() for text in required})


def operations():
    classes = operation_classes()
    made = made_operations()
    out = {}
    for name, thing in classes.items():
        try:
            operation = made[name][0] if name in made else make_operation(thing)
            config = operation.get_config()
        except Exception:  # requires arguments that are not listed here, or Keras cannot serialize it
            config = None
        out[name] = described(thing, config)
    return out


# ---- activations
def activations():
    """Returns activations by the names in Keras's serialization."""
    out = {}
    for exported in dir(keras.activations):
        function = getattr(keras.activations, exported)
        if inspect.isfunction(function) and exported not in ("get", "serialize", "deserialize"):
            name = keras.activations.serialize(function)
            name = name if isinstance(name, str) else name["config"]
            out.setdefault(name, {"module": "keras.activations", "arguments": parameters_of(function), "names": []})
            out[name]["names"] += [exported] if exported != name else []
    return out


def plain(value):
    """Returns a config as JSON; values that are not plain are serialized by Keras."""
    try:
        return serialization_lib.serialize_keras_object(value)
    except Exception:
        return str(value)


def ask():
    out = {
        "layers": layers(), "operations": operations(), "initializers": objects(keras.initializers),
        "regularizers": objects(keras.regularizers), "constraints": objects(keras.constraints), "activations": activations(),
    }
    for rows in out.values():
        for row in rows.values():
            if "config" in row:
                row["config"] = {key: plain(value) for key, value in row["config"].items()}
    return {"version": keras.__version__} | out


if __name__ == "__main__":
    json.dump(ask(), sys.stdout)
