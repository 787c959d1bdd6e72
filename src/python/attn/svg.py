"""SVG images as strings."""
from __future__ import annotations

import base64


class Svg(str):
    """An SVG image as text; a notebook displays it as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<attn.Svg of {len(self):,} characters>"


def as_html(svg: str) -> str:
    """Return an <img> with the SVG image, which isolates its styles from the page."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
