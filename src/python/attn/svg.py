"""Pictures."""
from __future__ import annotations

import base64


class Svg(str):
    """An SVG image as text, which a notebook draws."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<attn.Svg of {len(self):,} characters>"


def as_html(svg: str) -> str:
    """Return an <img> of an SVG image: in a page its styles and scripts stay its own."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
