"""Layers of KerasHub, and the one that moved from it to Keras."""
import keras_hub
from keras import layers as L

from . import Unfit, family

H = keras_hub.layers


def sequence(d):
    x = d.pick(rank=3)
    d.width(x)
    return x


def block_arguments(d):
    return {**d.options(dropout=[0.0, 0.1], activation=lambda: d.activation(whole=False) or "relu", layer_norm_epsilon=[1e-5, 1e-3], normalize_first=[True, False]),
            **{k: v for k, v in d.variables("kernel", "bias").items() if k.endswith("initializer")}, **d.common()}


def padding(d, x):
    return d.input((x.shape[1],), d.one(["bool", "bool", "int32"]), 2)


@family("hub", 2)
def hub_encoder(d):
    x = sequence(d)
    heads = d.one([n for n in (1, 2, 3) if n <= x.shape[-1]])
    layer = H.TransformerEncoder(d.size(1, 8), heads, **block_arguments(d))
    call = {}
    if d.chance(0.3) and x.shape[0] is None:
        call["padding_mask"] = padding(d, x)
    if d.chance(0.2) and x.shape[0] is None:
        call["attention_mask"] = d.input((x.shape[1], x.shape[1]), d.one(["bool", "int32"]), 2)
    if d.chance(0.2):
        call["return_attention_scores"] = True
    d.apply(layer, x, **call)


@family("hub", 2)
def hub_decoder(d):
    x = sequence(d)
    heads = d.one([n for n in (1, 2, 3) if n <= x.shape[-1]])
    layer = H.TransformerDecoder(d.size(1, 8), heads, **block_arguments(d))
    call = d.options(use_causal_mask=[True, False])
    if d.chance(0.5):
        call["encoder_sequence"] = d.pick(rank=3, where=lambda y: y.shape[0] == x.shape[0] and y.shape[-1] == x.shape[-1], fresh=0.3,
                                          make=lambda: d.input((d.time(), x.shape[-1])))
        if d.chance(0.3) and x.shape[0] is None:
            call["encoder_padding_mask"] = padding(d, call["encoder_sequence"])
    if d.chance(0.3) and x.shape[0] is None:
        call["decoder_padding_mask"] = padding(d, x)
    if d.chance(0.2) and x.shape[0] is None:
        call["decoder_attention_mask"] = d.input((x.shape[1], x.shape[1]), d.one(["bool", "int32"]), 2)
    d.apply(layer, x, **call)


def places(d, x, bound):
    """The source of the positions of x."""
    if d.chance(0.25):
        return {"start_index": d.integer(0, 3)}
    if d.chance(0.25) and x.shape[0] is None and x.shape[1] is not None:
        return {"positions": d.input((x.shape[1],), "int32", bound)}
    return {}


@family("hub", 2)
def hub_positions(d):
    x = d.pick(rank=(3, 3, 4))
    d.width(x)
    kind = d.one(["sine", "learned", "rotary", "rotary", "alibi"])
    if kind == "sine":
        d.apply(H.SinePositionEncoding(**d.options(max_wavelength=[100, 10000]), **d.common()), x, **places(d, x, 12))
    elif kind == "learned":
        length = (x.shape[-2] or d.steps) + 4
        extra = {"initializer": d.initializer()} if d.chance(0.4) else {}
        d.apply(H.PositionEmbedding(length, **extra, **d.common()), x, **places(d, x, length))
    elif kind == "alibi":
        scores = d.pick(rank=4, where=lambda y: None not in y.shape[1:], make=lambda: d.input((d.size(1, 5), d.size(1, 4), d.size(1, 4))))
        d.apply(H.AlibiBias(**d.options(alibi_bias_max=[4, 8]), **d.common()), scores)
    else:
        even = lambda y: y.shape[-1] is not None and y.shape[-1] % 2 == 0
        x = d.pick(rank=(3, 3, 4), where=even, make=lambda: d.input((d.time(), *([d.size(1, 3)] if d.chance(0.4) else []), 2 * d.size(1, 3))))
        d.apply(H.RotaryEmbedding(**d.options(max_wavelength=[100, 10000], scaling_factor=[0.5, 2.0]), **d.common()), x, **places(d, x, 12))


@family("hub", 1.5)
def hub_tokens(d):
    ids, bound = d.tokens()
    length = (ids.shape[1] or d.steps) + 4
    extra = {"embeddings_initializer": d.initializer()} if d.chance(0.4) else {}
    layer = H.TokenAndPositionEmbedding(bound + d.integer(0, 2), length, d.size(1, 6), **extra,
                                        **d.options(tie_weights=[True, False], mask_zero=[True, False]), **d.common(policy=0.03))
    d.apply(layer, ids, **places(d, ids, length))


@family("hub", 1.5)
def reversible(d):
    """Embeds tokens, and later computes logits from hidden states with the same or another matrix."""
    ids, bound = d.tokens()
    width = d.size(2, 6)
    extra = {"embeddings_initializer": d.initializer()} if d.chance(0.4) else {}
    layer = L.ReversibleEmbedding(bound, width, **extra, **d.options(tie_weights=[True, False], mask_zero=[True, False], reverse_dtype=["float32"], logit_soft_cap=[3.0]),
                                  **d.common(policy=0.03))
    x = d.apply(layer, ids)
    if d.chance(0.7):
        hidden = x if d.chance(0.5) else L.LayerNormalization()(x)
        d.add(layer(hidden, reverse=True))


@family("hub", 1)
def masked_language_head(d):
    x = sequence(d)
    if x.shape[0] is not None:
        raise Unfit
    vocabulary = d.size(2, 6)
    places = d.input((d.size(1, 3),), "int32", x.shape[1] or d.steps)
    layer = H.MaskedLMHead(vocabulary_size=vocabulary, **d.options(intermediate_activation=["relu", "gelu"], activation=["softmax"], layer_norm_epsilon=[1e-3]), **d.common())
    d.apply(layer, x, places)


@family("hub", 1)
def cached_attention(d):
    query = sequence(d)
    value = query if d.chance(0.6) else d.pick(rank=3, where=lambda y: y.shape[0] == query.shape[0] and y.shape[-1] is not None, make=lambda: d.input((d.time(), d.size(1, 4))))
    kwargs = {**d.options(use_bias=[True, False], dropout=[0.1]), **d.variables("kernel", "bias"), **d.common()}
    call = {}
    if d.chance(0.3) and query.shape[0] is None:
        call["attention_mask"] = d.input((query.shape[1], value.shape[1]), d.one(["bool", "int32"]), 2)
    if d.chance(0.2):
        call["return_attention_scores"] = True
    d.apply(H.CachedMultiHeadAttention(d.size(1, 3), d.size(1, 4), **kwargs), query, value, **call)
