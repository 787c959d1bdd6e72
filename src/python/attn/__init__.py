"""Opens, runs and trains Keras attention models without Keras.

    import attn
    model = attn.Model("model.keras")
    model.summary()
    y = model.predict(x)          # NumPy or DLPack arrays
    maps = model.scores(x)        # the scores of each attention layer
    history = model.fit(x, y, epochs=3)
    lens = model.probe.lens(ids)
"""
from ._attn import Layer, Tokenizer
from ._attn import version as __version__
from ._errors import Error
from .history import History
from .model import Model
from .probe import Probe
from .svg import Svg

__all__ = ["Error", "History", "Layer", "Model", "Probe", "Svg", "Tokenizer", "__version__"]
