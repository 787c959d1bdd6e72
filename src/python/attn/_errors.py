"""The exception of attn."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:

    class Error(ValueError):
        """An error of attn as one sentence; `code` is the program's exit code."""

        code: int

else:
    from ._attn import Error

__all__ = ["Error"]
