"""The arguments of fit and evaluate as arrays by name."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def by_output(kind: str, given: Any, outputs: Sequence[str]) -> dict[str, Any]:
    """Name targets ("y") or weights ("sample_weight") as attn does: "y" for a single output, otherwise "y:<output>"."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in outputs]
        if unknown:
            raise ValueError(f"{kind} has '{unknown[0]}', which is no output; the outputs are {', '.join(outputs)}")
        return {kind if len(outputs) == 1 else f"{kind}:{name}": array for name, array in given.items()}
    if len(outputs) == 1:
        is_list = isinstance(given, (list, tuple)) and len(given) == 1 and hasattr(given[0], "shape")
        return {kind: given[0] if is_list else given}
    if isinstance(given, (list, tuple)):
        if len(given) != len(outputs):
            raise ValueError(f"{kind} has {len(given)} arrays, and the model has {len(outputs)} outputs")
        return {f"{kind}:{name}": array for name, array in zip(outputs, given) if array is not None}
    return {kind: given}


def targets_of(y: Any, sample_weight: Any, outputs: Sequence[str]) -> dict[str, Any]:
    """Return the arrays of targets and of weights of samples, by the names that attn has for them."""
    return {**by_output("y", y, outputs), **by_output("sample_weight", sample_weight, outputs)}


def validation_of(given: Any, outputs: Sequence[str]) -> tuple[Any, dict[str, Any]] | None:
    """Return x and the arrays of targets of validation_data: (x, y) or (x, y, sample_weight)."""
    if given is None:
        return None
    if not isinstance(given, (list, tuple)) or len(given) not in (2, 3):
        raise ValueError("validation_data: expected (x, y) or (x, y, sample_weight)")
    return given[0], targets_of(given[1], given[2] if len(given) == 3 else None, outputs)
