#!/usr/bin/env python3
"""Converts a model with custom classes to one of built-in layers and operations, with the same weights and results.

    attn flatten-script > flatten.py
    python flatten.py model.keras flat.keras --import my_layers
    attn run flat.keras

MODEL is a .keras or .h5 file, and --import names the Python files or modules that define its classes. The file of a
subclassed model does not contain the dtypes of its inputs, so it needs --inputs FILE.npz with arrays for a call. In a
program:

    from flatten import flatten
    flatten(model, "flat.keras")                         # a functional model, or a task of KerasHub
    flatten(model, "flat.keras", inputs={"x": tokens})   # a subclassed one

The script calls each layer that attn does not support with symbolic tensors, and records the layers and keras.ops that
it calls in its place. A variable of such a layer becomes an Embedding that is read at 0, 1, 2, …. Unknown sizes are
traced as prime numbers; wherever such a prime appears in the result, the size becomes unknown again. Then both models
run on random numbers, and their outputs are compared.
"""
import argparse
import contextlib
import importlib
import inspect
import math
import os
import re
import sys
from itertools import filterfalse

import keras
import numpy as np
from keras import ops, tree

KNOWN_LAYERS = frozenset("""%LAYERS%""".split())
KNOWN_OPERATIONS = frozenset("""%OPERATIONS%""".split())
MOST_IN_CONFIG = 1024  # maximum size of a constant in the config; a larger one becomes an Embedding
TOLERANCE = 1e-5  # relative to the largest output


class CannotFlatten(Exception):
    pass


def is_keras(thing):
    return (getattr(thing, "__module__", None) or "").startswith(("keras.", "keras_hub."))


def is_known(operation):
    """Returns whether attn supports this class. KerasHub uses some names twice, so its classes include the module."""
    kind = type(operation)
    module, name = kind.__module__, kind.__name__
    if not isinstance(operation, keras.Layer):
        return module.startswith("keras.") and name in KNOWN_OPERATIONS
    return (name if module.startswith("keras.") else f"{module}.{name}") in KNOWN_LAYERS


def is_known_function(function):
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    return module.startswith("keras.") or (module.startswith("keras_hub.") and name == "gelu_approximate")


def has_custom_activation(layer):
    """Returns whether the layer or one of its inner layers calls a function that attn does not support."""
    return any(
        inspect.isfunction(value) and "activation" in name and not is_known_function(value)
        for one in layer._flatten_layers()
        for name, value in vars(one).items()
    )


def ends_in_activation(layer):
    """Returns whether the activation is the layer's last step, so that it can be moved out of the layer."""
    names = {kind.__name__ for kind in type(layer).__mro__}
    return bool(names & {"Dense", "EinsumDense", "BaseConv", "BaseConvTranspose", "BaseDepthwiseConv", "BaseSeparableConv"})


def is_plain(layer):
    """Returns whether attn supports the layer and all layers inside it."""
    if not is_known(layer):
        return False
    if isinstance(layer, keras.Model) and type(layer).__module__.startswith("keras."):
        return all(is_plain(member) for member in layer.layers)
    if has_custom_activation(layer) and not ends_in_activation(layer):
        return False
    in_hub = type(layer).__module__.startswith("keras_hub.")  # attn supports its classes together with their inner layers
    return all(is_keras(type(one)) if in_hub else is_known(one) for one in layer._flatten_layers(include_self=False))


def can_be_made_again(layer):
    """Returns whether its config can create it. Some constructors of KerasHub do not accept their own configs."""
    try:
        config = layer.get_config()
        if type(layer).__module__.startswith("keras_hub."):
            type(layer).from_config(config)
    except Exception:
        return False
    return True


def with_sizes(out, layer, x):
    """Sets the sizes in an EinsumDense's output that come from its input; Keras sets them to None."""
    if not isinstance(layer, keras.layers.EinsumDense) or None not in out.shape:
        return out
    read, kernel, made = re.split(",|->", layer.equation.replace(" ", ""))
    sizes = dict(zip(reversed(read.replace("...", "")), reversed(x.shape)))
    sizes.update(zip(kernel, layer.kernel.shape))
    made = made.replace("...", "").rjust(len(out.shape), "?")
    out._shape = tuple(sizes.get(letter) if size is None else size for letter, size in zip(made, out.shape))
    return out


def is_symbolic(value):
    return isinstance(value, keras.KerasTensor)


def any_symbolic(*structures):
    return any(is_symbolic(leaf) for leaf in tree.flatten(structures))


def is_array(value):
    return isinstance(value, np.ndarray) or (not is_symbolic(value) and ops.is_tensor(value))


def is_text(x):
    return keras.backend.standardize_dtype(x.dtype) == "string"


def mask_of(tensor):
    return getattr(tensor, "_keras_mask", None)


def with_replaced(value, is_replaced, replace):
    """Returns the structure with the selected leaves replaced; the same object if no leaf is selected."""
    if is_replaced(value):
        return replace(value)
    if isinstance(value, dict):
        items = {key: with_replaced(item, is_replaced, replace) for key, item in value.items()}
        return items if any(items[key] is not value[key] for key in items) else value
    if isinstance(value, (list, tuple)):
        items = [with_replaced(item, is_replaced, replace) for item in value]
        if all(item is old for item, old in zip(items, value)):
            return value
        return items if isinstance(value, list) else type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def operations_behind(tensors):
    """Returns the operations that compute the tensors, without duplicates, in reverse order of their calls."""
    found, seen, waiting = {}, set(), list(tensors)
    while waiting:
        operation, node, _ = waiting.pop()._keras_history
        if operation is None or (id(operation), node) in seen:
            continue
        seen.add((id(operation), node))
        found[id(operation)] = operation
        waiting.extend(operation._inbound_nodes[node].input_tensors)
    return list(found.values())


def lower_case(subscripts):
    """Replaces capital letters: Keras infers symbolic shapes only for lower-case subscripts."""
    free = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in subscripts]
    for letter in sorted(set(filter(str.isupper, subscripts))):
        subscripts = subscripts.replace(letter, free.pop(0))
    return subscripts.replace(" ", "")


def fresh_prime(model, above):
    """Returns a prime that divides no size of the model: a multiple of it can only come from the size it represents."""
    sizes = {size for weight in model.weights for size in weight.shape}
    sizes |= {value for layer in model._flatten_layers() for value in vars(layer).values() if isinstance(value, int)}
    number = above
    is_prime = lambda n: all(n % i for i in range(2, int(n**0.5) + 1))
    while not is_prime(number) or any(size % number == 0 for size in sizes if size):
        number += 1
    return number


class Recorder:
    """Calls a model with symbolic tensors, and replaces each layer that attn does not support by the calls it makes."""

    def __init__(self, inputs):
        self.of_input = next((x for x in inputs if not is_text(x)), inputs[0])  # a numeric tensor that depends on the input
        self.scope = []  # names of the opened layers around the current call
        self.inside_plain = False
        self.opened = {}  # class name -> number of opened layers
        self.names = {}  # id(layer) -> its name in the flat model
        self.again = {}  # id(layer) -> whether it can be created again
        self.renamed = []  # (layer, its original name)
        self.linear = set()  # ids of layers whose activation was moved out
        self.variables = {}  # id(variable) -> its tensor
        self.remade_masks = {}  # id(tensor) -> tensor; only an opened layer gave these tensors their masks
        self.training = [False]  # the `training` argument of each open layer
        self.failed = None  # "block (Block)", the innermost layer that could not be called
        self.index = None

    @contextlib.contextmanager
    def recording(self):
        plain_call, plain_convert, plain_einsum = keras.Layer.__call__, ops.convert_to_tensor, ops.einsum
        recorder = self

        def call(layer, *args, **kwargs):
            return recorder.call(plain_call, layer, args, kwargs)

        def convert_to_tensor(x, dtype=None, **kwargs):
            if any_symbolic(x):
                x = ops.stack(list(x)) if isinstance(x, (list, tuple)) else x
                return x if dtype is None else ops.cast(x, dtype)
            return plain_convert(x, dtype, **kwargs)

        def einsum(subscripts, *operands, **kwargs):
            return plain_einsum(lower_case(subscripts), *operands, **kwargs)

        def get_item(tensor, key):  # Keras takes None, … and slices only in a tuple
            return plain_get_item(tensor, (key,) if key is None or key is Ellipsis or isinstance(key, slice) else key)

        def operator(name, plain):
            def apply(variable, other):
                if is_symbolic(other) and not recorder.inside_plain:
                    return getattr(recorder.variable(variable), name)(other)
                return plain(variable, other)

            return apply

        # symbolic_variables() replaces attributes. Variables that a layer gets in another way, such as self.weights, are
        # replaced by these operators.
        variables = next(kind for kind in keras.Variable.__mro__ if "__add__" in vars(kind))
        operators = {f"__{side}{name}__" for side in ("", "r") for name in
                     ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")}
        operators = {name: vars(variables)[name] for name in operators if name in vars(variables)}
        plain_get_item = keras.KerasTensor.__getitem__
        keras.Layer.__call__, ops.convert_to_tensor, ops.einsum = call, convert_to_tensor, einsum
        keras.KerasTensor.__getitem__ = get_item
        for name, plain in operators.items():
            setattr(variables, name, operator(name, plain))
        try:
            yield
        finally:
            for name, plain in operators.items():
                setattr(variables, name, plain)
            keras.Layer.__call__, ops.convert_to_tensor, ops.einsum = plain_call, plain_convert, plain_einsum
            keras.KerasTensor.__getitem__ = plain_get_item

    def call(self, plain_call, layer, args, kwargs):
        if self.inside_plain:
            return plain_call(layer, *args, **kwargs)
        if id(layer) not in self.again:
            self.inside_plain = True  # creating a model calls its layers
            self.again[id(layer)] = is_plain(layer) and can_be_made_again(layer)
            self.inside_plain = False
        if not self.again[id(layer)]:
            return self.open(layer, args, kwargs)
        # Some layers do not accept an explicit None in a symbolic call.
        training = self.training[-1] if kwargs.get("training") is None else kwargs["training"]
        kwargs = {name: value for name, value in kwargs.items() if value is not None and name != "training"}
        if training:
            kwargs["training"] = True
        if not any_symbolic(args, kwargs):
            if not layer.weights:
                return plain_call(layer, *args, **kwargs)
            args = (tree.map_structure(self.symbolic, args[0]), *args[1:])  # keeps its weights as weights, not constants
        self.inside_plain = True
        remade = any(id(tensor) in self.remade_masks for tensor in tree.flatten((args, kwargs)))
        given = tree.flatten((args, kwargs))
        args, kwargs = self.with_masks(layer, (args, kwargs))
        remade = remade and given == tree.flatten((args, kwargs))
        self.rename(layer)
        activation = getattr(layer, "activation", None)
        custom = inspect.isfunction(activation) and not is_known_function(activation)
        try:
            if custom:
                layer.activation = keras.activations.linear
                self.linear.add(id(layer))
            outputs = plain_call(layer, *args, **kwargs)
            outputs = with_sizes(outputs, layer, args[0] if args else None)
        finally:
            self.inside_plain = False
            if custom:
                layer.activation = activation
        self.note(outputs)
        if isinstance(layer, keras.layers.MultiHeadAttention):  # this layer removes the masks of its inputs
            for tensor in filter(is_symbolic, given + tree.flatten((args, kwargs))):
                keras.src.backend.set_keras_mask(tensor, None)
        if remade:
            self.remade_masks.update((id(tensor), tensor) for tensor in tree.flatten(outputs) if mask_of(tensor) is not None)
        return activation(outputs) if custom else outputs

    def note(self, outputs):
        """If all inputs are strings, takes the first numeric output as the numbers that depend on the input."""
        for x in filter(is_symbolic, tree.flatten(outputs)):
            if is_text(self.of_input) and not is_text(x) and x.shape and x.shape[0] == self.of_input.shape[0]:
                self.of_input = x

    def rename(self, layer, name=None):
        """Renames a layer until the end: layers of two blocks may share a name, but layers of one model may not."""
        if id(layer) not in self.names:
            self.names[id(layer)] = "_".join([*self.scope, name or layer.name])
            self.renamed.append((layer, layer.name))
            layer.name = f"recorded_{len(self.renamed)}"

    def function(self, inputs, outputs):
        """Returns the recorded graph. Renames its operations, because new ones could get the same names."""
        symbolic = [x for x in tree.flatten(outputs) if is_symbolic(x)]
        for operation in operations_behind([*symbolic, *tree.flatten(inputs)]):
            self.rename(operation)
        return keras.Function(inputs, outputs)

    def give_names_back(self):
        for layer, name in self.renamed:
            layer.name = name

    def with_masks(self, layer, structure):
        """Attaches masks of opened layers again for a layer that uses masks, by an Identity that is called with mask=…."""
        looks = any("mask" in name for name in inspect.signature(layer.call).parameters)
        if not (looks or type(layer).compute_mask is not keras.Layer.compute_mask):
            return structure
        return tree.map_structure(lambda x: self.masked(x) if id(x) in self.remade_masks else x, structure)

    def masked(self, tensor):
        mask = mask_of(tensor)
        if mask is None:
            return tensor
        inner = keras.Input(batch_shape=tensor.shape, dtype=tensor.dtype)
        model = keras.Model(inner, keras.layers.Identity(dtype=tensor.dtype)(inner))
        self.rename(model, "masked")
        out = model(tensor, mask=mask)
        keras.src.backend.set_keras_mask(out, mask)
        return out

    def open(self, layer, args, kwargs):
        """Calls layer.call as Layer.__call__ does: casts the inputs, fills in masks, and passes them on."""
        name = type(layer).__name__
        self.opened[name] = self.opened.get(name, 0) + 1
        if isinstance(layer, (keras.layers.RNN, keras.layers.Bidirectional)):
            raise CannotFlatten(f"{layer.name} ({name}): a recurrent layer with a custom cell or activation has no "
                                "counterpart among built-in layers")
        if layer._convert_input_args:
            args, kwargs = tree.map_structure(lambda x: self.cast(x, layer), (args, kwargs))
        signature = inspect.signature(layer.call)
        training = kwargs.pop("training", None)
        arguments = signature.bind_partial(*args, **kwargs).arguments
        training = arguments.get("training") if training is None else training
        training = self.training[-1] if training is None else training
        if "training" in signature.parameters:
            arguments["training"] = training
        tensors = {n: v for n, v in arguments.items() if any(is_symbolic(x) or is_array(x) for x in tree.flatten(v))}
        for tensor, value in tensors.items():
            mask = "mask" if len(tensors) == 1 else tensor + "_mask"
            if mask in signature.parameters and arguments.get(mask) is None:
                arguments[mask] = tree.map_structure(mask_of, value)
        first = next(iter(arguments.values()), None)
        previous = arguments.get("mask")
        previous = tree.map_structure(mask_of, first) if previous is None else previous
        bound = inspect.BoundArguments(signature, {n: arguments[n] for n in signature.parameters if n in arguments})
        self.scope.append(layer.name)
        self.training.append(training)
        try:
            with self.symbolic_variables(layer):
                if isinstance(layer, keras.layers.TimeDistributed) and arguments.get("mask") is None:
                    outputs = self.over_time(layer.layer, first)
                else:
                    outputs = layer.call(*bound.args, **bound.kwargs)
        except Exception:
            self.failed = self.failed or f"{'/'.join(self.scope)} ({name})"
            raise
        finally:
            self.training.pop()
            self.scope.pop()
        if layer.supports_masking and all(is_symbolic(x) for x in tree.flatten(outputs)):
            bare = [x for x in tree.flatten(outputs) if mask_of(x) is None]
            layer._set_mask_metadata(first, outputs, previous)
            self.remade_masks.update((id(x), x) for x in bare if mask_of(x) is not None)
        return outputs

    def cast(self, x, layer):
        """Casts an input as the layer's dtype policy requires."""
        if not (is_symbolic(x) and layer.autocast and "float" in str(x.dtype) and x.dtype != layer.compute_dtype):
            return x
        out = ops.cast(x, layer.compute_dtype)
        if mask_of(x) is not None:
            keras.src.backend.set_keras_mask(out, mask_of(x))
            self.remade_masks[id(out)] = out
        return out

    def over_time(self, layer, x):
        """Calls a layer as TimeDistributed does: the steps become rows of a larger batch."""
        out = layer(ops.reshape(x, (-1, *x.shape[2:])))
        return ops.reshape(out, (-1, x.shape[1], *out.shape[1:]))

    @contextlib.contextmanager
    def symbolic_variables(self, layer):
        """Replaces the layer's attributes that are variables by tensors of the graph during a call."""
        hidden = ("_trainable_variables", "_non_trainable_variables", "_layers", "_losses", "_metrics",
                  "_seed_generators")
        kept = {}
        is_variable = lambda value: isinstance(value, keras.Variable)
        for name, value in list(vars(layer).items()):
            if name in hidden:
                continue
            symbolic = with_replaced(value, is_variable, lambda leaf: self.variable(leaf, layer))
            if symbolic is not value:
                kept[name] = value
                object.__setattr__(layer, name, symbolic)
        try:
            yield
        finally:
            for name, value in kept.items():
                object.__setattr__(layer, name, value)

    def variable(self, variable, layer=None):
        if "float" not in str(variable.dtype):
            return ops.convert_to_tensor(variable)
        if id(variable) not in self.variables:
            name = "_".join([*self.scope, variable.name])
            tensor = self.table(keras.ops.convert_to_numpy(variable), name, variable.trainable, variable.dtype)
            self.variables[id(variable)] = (tensor, variable)
        tensor = self.variables[id(variable)][0]
        casts = layer is not None and layer.autocast and tensor.dtype != layer.compute_dtype
        return ops.cast(tensor, layer.compute_dtype) if casts else tensor

    def table(self, value, name, trainable, dtype="float32"):
        """Returns the output of an Embedding with these numbers, read from its first row to its last."""
        columns = value.shape[-1] if value.ndim > 1 or value.size > 0 and value.ndim else 1
        rows = value.size // columns
        embedding = keras.layers.Embedding(rows, columns, name=name, trainable=trainable, dtype=dtype)
        self.names[id(embedding)] = name
        self.renamed.append((embedding, name))
        before, self.inside_plain = self.inside_plain, True
        out = embedding(self.symbolic(np.arange(rows, dtype="int32")))
        self.inside_plain = before
        embedding.set_weights([np.asarray(value, "float32").reshape(rows, columns)])
        return out if value.shape == (rows, columns) else ops.reshape(out, value.shape)

    def symbolic(self, constant):
        """Converts a constant to a tensor of the graph, by adding it to a 0 that depends on the input."""
        if self.index is None:
            if is_text(self.of_input):
                raise CannotFlatten("its inputs are strings, and it uses a constant before a layer has converted them to "
                                    "numbers")
            self.index = ops.max(ops.zeros_like(self.of_input, dtype="int32"))
        constant = ops.convert_to_numpy(constant) if not isinstance(constant, np.ndarray) else constant
        if constant.dtype == np.int64:
            constant = constant.astype("int32")
        zero = self.index if constant.dtype == np.int32 else ops.cast(self.index, constant.dtype.name)
        return ops.logical_or(zero, constant) if constant.dtype == bool else ops.add(zero, constant)


