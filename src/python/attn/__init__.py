"""Opens, summarizes and runs Keras attention models without Keras.

    import attn
    model = attn.Model("model.keras")
    print(model.summary())
    y = model.predict(x)          # NumPy or DLPack arrays
    maps = model.scores(x)        # the scores of each attention layer
"""
import base64
import html

from . import _attn
from ._attn import Error, Layer

__all__ = ["Error", "Layer", "Model", "Text"]
__version__ = _attn.__version__

# Above this number of parameters a notebook does not show attention maps automatically, since they need a run.
MOST_PARAMS_SHOWN = 20_000_000


class Text(str):
    """A str whose repr is its text, for interactive sessions."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def _picture(svg):
    data = base64.b64encode(svg.encode()).decode()
    return f'<img style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


class Model(_attn.Model):
    __doc__ = _attn.Model.__doc__

    def summary(self, line_length=None):
        """Return the text that keras.Model.summary(line_length=…) prints; without a length no name is truncated."""
        return Text(self._summary(line_length))

    def __repr__(self):
        params = sum(layer.params for layer in self.layers)
        return f"<attn.Model {self.name}: {len(self.layers)} layers, {params:,} parameters>"

    def attention_maps(self, x=None):
        """Return the attention maps of the first batch entry as SVG; x defaults to random numbers."""
        return self._attention_maps(x)

    def _repr_html_(self):
        parts = [f"<pre>{html.escape(self.summary(100))}</pre>"]
        parts.append(f"<details><summary>Layers and connections</summary>{_picture(self.plot())}</details>")
        if sum(layer.params for layer in self.layers) <= MOST_PARAMS_SHOWN:
            try:
                maps = self.attention_maps()
            except Error as error:
                maps, note = "", str(error)
                parts.append(f"<p>{html.escape(note)}</p>")
            if maps:
                parts.append(f"<details><summary>Attention for random inputs</summary>{_picture(maps)}</details>")
        return "\n".join(parts)
