"""Models of one layer each, for every layer of Keras and every layer that KerasHub exports: a module of check_policies.py.

`MODELS` maps class names to functions. `NOT_ALONE` lists the classes without a model, with the reason.
"""
import keras
import keras_hub
from keras import layers as L

from classes_of_keras import make_object

MODELS = {}
SEQUENCE, IMAGE, VOLUME = (6, 4), (8, 8, 3), (4, 4, 4, 2)
VOCABULARY = 9
ids = ((6,), "int32")
NOT_ALONE = {name: "it is a model" for name in ("Functional", "Sequential", "InputLayer")} | \
            {name: "its inputs are strings" for name in ("StringLookup", "TextVectorization")} | \
            {name: "it is part of an RNN" for name in ("GRUCell", "LSTMCell", "SimpleRNNCell", "StackedRNNCells")}


def inputs_of(shapes):
    """Returns an input for each shape, or pair of shape and dtype. No input is called "y", the name of targets."""
    out = []
    for at, shape in enumerate(shapes):
        shape, dtype = shape if isinstance(shape[-1], str) else (shape, None)
        out.append(keras.Input(shape, dtype=dtype, name="abcd"[at]))
    return out


def one_tensor(result):
    return keras.tree.flatten(result)[0]


def model_of(make, shapes, call=None):
    """Returns a function that makes a model of a layer. A layer without weights gets a Dense before it, so that its
    gradient has an effect."""
    call = call or (lambda layer, xs: layer(xs if len(xs) > 1 else xs[0]))

    def build():
        inputs = inputs_of(shapes)
        layer = make()
        outputs = call(layer, inputs)
        if not layer.trainable_weights and any("float" in x.dtype for x in inputs):
            inputs = inputs_of(shapes)
            wide = [L.Dense(x.shape[-1], name=f"dense_{x.name}")(x) if "float" in x.dtype else x for x in inputs]
            outputs = call(make(), wide)
        return keras.Model(inputs, one_tensor(outputs))

    return build


def add(name, make, *shapes, call=None):
    MODELS[name] = model_of(make, shapes, call)


def add_all():
    shape_of = {"1D": SEQUENCE, "2D": IMAGE, "3D": VOLUME}
    for name in dir(L):
        thing = getattr(L, name)
        if isinstance(thing, type) and issubclass(thing, keras.Layer) and thing is not keras.Layer and thing.__name__ == name:
            shape = shape_of.get(name.removesuffix("Transpose")[-2:], SEQUENCE)
            if thing.__module__.startswith("keras.src.layers.preprocessing.image_preprocessing"):
                shape = IMAGE
            add(name, lambda thing=thing, name=name: make_object(thing, name), shape)


add_all()
each = lambda layer, xs: layer(*xs)
twice = lambda layer, xs: layer(xs[0], xs[0])
for name in ("Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract"):
    add(name, getattr(L, name), SEQUENCE, SEQUENCE)
for name in ("Attention", "AdditiveAttention"):
    add(name, getattr(L, name), SEQUENCE, SEQUENCE)
add("Dot", lambda: L.Dot(axes=2), SEQUENCE, SEQUENCE)
add("MultiHeadAttention", lambda: L.MultiHeadAttention(2, 4), SEQUENCE, call=twice)
add("GroupQueryAttention", lambda: L.GroupQueryAttention(4, 4, 2), SEQUENCE, call=twice)
add("Embedding", lambda: L.Embedding(VOCABULARY, 4), ids)
add("ReversibleEmbedding", lambda: L.ReversibleEmbedding(VOCABULARY, 4), ids)
add("CategoryEncoding", lambda: L.CategoryEncoding(VOCABULARY, output_mode="count"), ids)
add("IntegerLookup", lambda: L.IntegerLookup(vocabulary=[3, 7, 1]), ids)
add("Hashing", lambda: L.Hashing(5), ids)
add("HashedCrossing", lambda: L.HashedCrossing(5), ((1,), "int32"), ((1,), "int32"))
add("RepeatVector", lambda: L.RepeatVector(3), (4,))
add("Normalization", lambda: L.Normalization(mean=0.5, variance=2.0), SEQUENCE)
add("GroupNormalization", lambda: L.GroupNormalization(2), SEQUENCE)
add("MelSpectrogram", lambda: L.MelSpectrogram(64, 20, num_mel_bins=5, sampling_rate=4000), (200,))
add("STFTSpectrogram", lambda: L.STFTSpectrogram(frame_length=24), (120, 2))
add("ConvLSTM1D", lambda: L.ConvLSTM1D(2, 3), (3, 7, 2))
add("ConvLSTM2D", lambda: L.ConvLSTM2D(2, 3), (3, 6, 5, 2))
add("ConvLSTM3D", lambda: L.ConvLSTM3D(2, 2), (2, 3, 4, 3, 2))
for name, options in {"Dropout": {}, "AlphaDropout": {}, "GaussianDropout": {}, "SpatialDropout1D": {}}.items():
    add(name, lambda name=name, options=options: getattr(L, name)(0.3, seed=7, **options), SEQUENCE)
add("GaussianNoise", lambda: L.GaussianNoise(0.3, seed=7), SEQUENCE)
for name, shape in (("SpatialDropout2D", IMAGE), ("SpatialDropout3D", VOLUME)):
    add(name, lambda name=name: getattr(L, name)(0.3, seed=7), shape)
for name in ("GlobalAveragePooling", "GlobalMaxPooling"):
    for rank, shape in (("1D", SEQUENCE), ("2D", IMAGE), ("3D", VOLUME)):
        add(name + rank, getattr(L, name + rank), shape)
add("RandomCrop", lambda: L.RandomCrop(5, 6), IMAGE)
add("CenterCrop", lambda: L.CenterCrop(5, 6), IMAGE)

H = keras_hub.layers
add("AlibiBias", H.AlibiBias, (2, 6, 6))
add("CachedMultiHeadAttention", lambda: H.CachedMultiHeadAttention(2, 4), SEQUENCE, call=twice)
add("FNetEncoder", lambda: H.FNetEncoder(8), SEQUENCE)
add("MaskedLMHead", lambda: H.MaskedLMHead(VOCABULARY), SEQUENCE, ((2,), "int32"), call=each)
add("PositionEmbedding", lambda: H.PositionEmbedding(6), SEQUENCE)
add("RotaryEmbedding", H.RotaryEmbedding, (6, 2, 4))
add("SinePositionEncoding", H.SinePositionEncoding, SEQUENCE)
add("TokenAndPositionEmbedding", lambda: H.TokenAndPositionEmbedding(VOCABULARY, 6, 4), ids)
add("TransformerDecoder", lambda: H.TransformerDecoder(8, 2), SEQUENCE)
add("TransformerEncoder", lambda: H.TransformerEncoder(8, 2), SEQUENCE)
