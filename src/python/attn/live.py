"""Objects of Keras in memory, which are read without importing Keras."""
from __future__ import annotations

import json
import os
from typing import Any, Protocol

import numpy as np


class KerasModel(Protocol):
    """The part of a keras.Model that attn reads."""

    name: Any
    weights: Any

    def to_json(self) -> str: ...


def is_keras_model(given: object) -> bool:
    """Return whether it is a keras.Model, not a path. Raises TypeError for anything else."""
    if isinstance(given, (str, os.PathLike)):
        return False
    if callable(getattr(given, "to_json", None)) and isinstance(getattr(given, "weights", None), list):
        return True
    raise TypeError(f"{type(given).__name__}: expected the path of a model, or a keras.Model")


def arrays_of(model: Any) -> tuple[list[str], list[Any]]:
    """Return the paths and the arrays of a keras.Model's weights, in its order."""
    arrays = []
    for weight in model.weights:
        array = np.asarray(weight.numpy() if hasattr(weight, "numpy") else weight)
        arrays.append(array.astype("float32") if array.dtype.name == "bfloat16" else array)
    return [weight.path for weight in model.weights], arrays


def json_of(given: Any) -> Any:
    """Return the form in Keras's compile_config of a name, a config, an object of Keras, or lists and dicts of these."""
    if isinstance(given, dict):
        return {name: json_of(value) for name, value in given.items()}
    if isinstance(given, (list, tuple)):
        return [json_of(value) for value in given]
    if given is None or isinstance(given, (str, int, float, bool)):
        return given
    if hasattr(given, "get_config"):
        return {"module": type(given).__module__, "class_name": type(given).__name__,
                "config": json.loads(json.dumps(json_of(given.get_config()))), "registered_name": None}
    if callable(given) and getattr(given, "__module__", "").startswith("keras."):
        return given.__name__  # keras.losses.mse
    if isinstance(given, np.generic):
        return given.item()
    raise TypeError(f"{given!r}: expected a name, a config as Keras writes it, or an object of Keras")
