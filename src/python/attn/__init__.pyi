from typing import Any

from . import _attn
from ._attn import Error as Error, Layer as Layer

__version__: str
MOST_PARAMS_SHOWN: int

class Text(str): ...

class Model(_attn.Model):
    def summary(self, line_length: int | None = None) -> Text: ...
    def attention_maps(self, x: Any = None) -> str: ...
    def _repr_html_(self) -> str: ...
