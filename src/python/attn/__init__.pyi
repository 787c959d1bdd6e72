from typing import Any

from . import _attn
from ._attn import Layer as Layer

__all__ = ["Error", "Layer", "Model", "Text"]
__version__: str
MOST_PARAMS_SHOWN: int

class Error(ValueError):
    """What attn refuses, in one sentence; `code` is the program's exit code."""

    code: int

class Text(str):
    """A text that shows as it is, in an interactive session too."""

class Model(_attn.Model):
    def summary(self, line_length: int | None = None) -> Text:
        """What keras.Model.summary(line_length=…) prints; without a length no name is cut."""
    def attention_maps(self, x: Any = None) -> str:
        """What each head attends to in a pass over x, as SVG, of the first of the batch; without x over random numbers."""
    def _repr_html_(self) -> str: ...
