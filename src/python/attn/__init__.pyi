from typing import Any

from . import _attn
from ._attn import Layer as Layer

__all__ = ["Error", "Layer", "Model", "Text"]
__version__: str
MOST_PARAMS_SHOWN: int

class Error(ValueError):
    """An error of attn as one sentence; `code` is the program's exit code."""

    code: int

class Text(str):
    """A str whose repr is its text, for interactive sessions."""

class Model(_attn.Model):
    def summary(self, line_length: int | None = None) -> Text:
        """Return the text that keras.Model.summary(line_length=…) prints; without a length no name is truncated."""
    def attention_maps(self, x: Any = None) -> str:
        """Return the attention maps of the first batch entry as SVG; x defaults to random numbers."""
    def _repr_html_(self) -> str: ...
