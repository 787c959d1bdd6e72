"""Attention layers and blocks made of them."""
import keras
from keras import layers as L

from . import Unfit, family


def bool_like(d, dtypes=("bool", "bool", "bool", "int32", "float32")):
    return d.one(dtypes)


def attention_mask(d, query, value, heads, plain):
    """A mask of rank 2, 3 or 4 that broadcasts to the scores."""
    t, s = query.shape[1], value.shape[1]
    rank = d.one([2, 3, 3] if plain else [2, 3, 3, 4])
    dtype = bool_like(d)
    if rank == 2:
        if t is None or s is None:
            raise Unfit
        return d.input(dtype=dtype, bound=2, batch_shape=(t, s))
    if rank == 3:
        return d.input((d.one([t, t, 1]), s), dtype, 2)
    return d.input((d.one([1, heads]), d.one([t, 1]), s), dtype, 2)


def sources(d, rank=3):
    """Returns query, value and optionally key."""
    query = d.pick(rank=rank)
    d.width(query)
    if d.chance(0.5):
        value = query
    else:
        shape = query.shape
        fits = lambda x: x.shape[0] == shape[0] and x.shape[-1] is not None and all(
            a == b for a, b in zip(x.shape[2:-1], shape[2:-1]))
        value = d.pick(rank=rank, where=fits, fresh=0.4, make=lambda: d.input((d.time(), *shape[2:-1], d.size(1, 5))))
    key = None
    if d.chance(0.2):
        key = d.pick(rank=rank, where=lambda x: tuple(x.shape[:-1]) == tuple(value.shape[:-1]) and x.shape[-1] is not None,
                     make=lambda: d.input((*value.shape[1:-1], d.size(1, 5))))
    return query, value, key


def head_arguments(d):
    kwargs = {**d.variables("kernel", "bias"), **d.common()}
    if d.chance(0.2):
        kwargs["use_bias"] = False
    if d.chance(0.2):
        kwargs["use_gate"] = True
    if d.chance(0.3):
        kwargs["dropout"] = d.number(0.05, 0.5)
    if d.chance(0.15):
        kwargs["sliding_window"] = d.size(1, 4)
    if d.chance(0.1):
        kwargs["seed"] = d.integer(0, 99)
    return kwargs


def head_call(d, query, value, key, heads, gqa=False):
    kwargs = {}
    if key is not None:
        kwargs["key"] = key
    if d.chance(0.25):
        kwargs["use_causal_mask"] = True
    if d.chance(0.25):
        kwargs["return_attention_scores"] = True
    for name, x in (("query_mask", query), ("value_mask", value), ("key_mask", key)):
        # An unknown length equals that of an input.
        if d.chance(0.08) and x is not None and query.shape[0] is None and (x.shape[1] is not None or d.is_input(x)):
            kwargs[name] = d.input((x.shape[1],), "bool")
    if d.chance(0.3):
        # Keras aligns a mask of steps (B, 1, S) with the heads of a mask (B, N, T, S).
        steps = any(name.endswith("_mask") for name in kwargs if name != "use_causal_mask")
        steps = steps or any(getattr(x, "_keras_mask", None) is not None for x in (query, value, key))
        kwargs["attention_mask"] = attention_mask(d, query, value, 1 if steps else heads, steps)
    if d.chance(0.1):
        kwargs["training"] = False
    return kwargs


@family("attention", 4)
def multi_head_attention(d):
    query, value, key = sources(d)
    heads = d.size(1, 4)
    kwargs = head_arguments(d)
    if d.chance(0.25):
        kwargs["value_dim"] = d.size(1, 5)
    if d.chance(0.2):
        kwargs["output_shape"] = d.one([d.size(1, 6), (d.size(1, 3), d.size(1, 4)), (2, 1, d.size(1, 3))])
    if "dropout" not in kwargs and d.chance(0.05):
        kwargs["flash_attention"] = False
    layer = L.MultiHeadAttention(heads, d.size(1, 5), **kwargs)
    call = head_call(d, query, value, key, heads)
    if d.chance(0.2):
        d.apply(layer, query=query, value=value, **call)
    elif key is not None and d.chance(0.5):
        d.apply(layer, query, value, call.pop("key"), **call)
    else:
        d.apply(layer, query, value, **call)


@family("attention", 1.5)
def multi_head_attention_over_axes(d):
    rank = d.one([4, 4, 5])
    query, value, key = sources(d, rank)
    kwargs = head_arguments(d)
    axes = sorted(d.some(range(1, rank - 1)))
    if len(axes) > 1:
        kwargs.pop("sliding_window", None)
    if len(axes) < rank - 2 or d.chance(0.5):
        kwargs["attention_axes"] = d.one([tuple(axes), axes, tuple(a - rank for a in axes)])
        if len(axes) == 1 and d.chance(0.3):
            kwargs["attention_axes"] = axes[0]
    if any(query.shape[a] != value.shape[a] for a in range(1, rank - 1) if a not in axes):
        value, key = query, None
    if d.chance(0.25):
        kwargs["value_dim"] = d.size(1, 5)
    if d.chance(0.2):
        kwargs["output_shape"] = d.one([d.size(1, 6), (d.size(1, 3), d.size(1, 4))])
    heads = d.size(1, 3)
    layer = L.MultiHeadAttention(heads, d.size(1, 4), **kwargs)
    call = {} if key is None else {"key": key}
    if len(axes) == 1 and d.chance(0.2):
        call["use_causal_mask"] = True
    if d.chance(0.25):
        call["return_attention_scores"] = True
    if d.chance(0.3):
        lengths, others = [query.shape[a] for a in axes] + [value.shape[a] for a in axes], [query.shape[a] for a in range(1, rank - 1) if a not in axes]
        call["attention_mask"] = d.input((*others, *d.one([[], [1], [heads]]), *lengths), bool_like(d), 2)
    d.apply(layer, query, value, **call)


@family("attention", 1.5)
def grouped_query_attention(d):
    query, value, key = sources(d)
    shared = d.size(1, 3)
    heads = shared * d.size(1, 3)
    layer = L.GroupQueryAttention(d.size(1, 4), heads, shared, **head_arguments(d))
    d.apply(layer, query, value, **head_call(d, query, value, key, heads))


@family("attention", 2)
def dot_attention(d):
    query = d.pick(rank=(3, 3, 3, 2))
    width = d.width(query)
    if len(query.shape) == 2:
        inputs = [query, d.like(query)]
    elif d.chance(0.5):
        inputs = [query, query]
    else:
        value = d.pick(rank=3, where=lambda x: x.shape[-1] == width, fresh=0.4, make=lambda: d.input((d.time(), width)))
        inputs = [query, value]
        if d.chance(0.3):
            inputs[1] = d.input((value.shape[1], d.size(1, 5)))
            inputs.append(value)
    kwargs = {**d.options(use_scale=[True, False], dropout=[0.0, 0.3]), **d.common()}
    if d.chance(0.4):
        layer = L.AdditiveAttention(**kwargs)
    else:
        layer = L.Attention(**kwargs, **d.options(score_mode=["dot", "concat"]))
    call = {}
    if d.chance(0.25):
        call["use_causal_mask"] = True
    if d.chance(0.3):
        call["return_attention_scores"] = True
    if d.chance(0.25) and len(query.shape) == 3 and query.shape[0] is None:
        mask = lambda x: d.input((x.shape[1],), "bool") if d.chance(0.7) else None
        call["mask"] = [mask(inputs[0]), mask(inputs[1])]
        if call["mask"] == [None, None]:
            del call["mask"]
    y = d.apply(layer, inputs, **call)
    if len(query.shape) == 2:
        d.seal(y)  # a causal mask adds an axis that Keras's symbolic shape lacks


@family("attention", 2)
def transformer_block(d):
    """An encoder block written with operators or layers, with pre- or post-normalization."""
    x = d.pick(rank=3)
    width = d.width(x)
    add = d.one([lambda a, b: a + b, lambda a, b: L.Add()([a, b])])
    norm = d.one([lambda: L.LayerNormalization(epsilon=1e-6), lambda: L.LayerNormalization(), lambda: L.RMSNormalization(),
                  lambda: L.LayerNormalization(center=False)])
    rate = d.one([0, 0.1])
    first = d.chance(0.5)
    causal = {"use_causal_mask": True} if d.chance(0.3) else {}
    for _ in range(d.integer(1, 2)):
        a = norm()(x) if first else x
        a = L.MultiHeadAttention(d.size(1, 3), d.size(1, 4), dropout=rate)(a, a, **causal)
        if d.chance(0.5):
            a = L.Dropout(0.1)(a)
        x = add(x, a)
        if not first:
            x = norm()(x)
        f = norm()(x) if first else x
        f = L.Dense(d.size(1, 8), activation=d.one(["relu", "gelu", "silu"]))(f)
        f = L.Dense(width)(f)
        x = add(x, f)
        if not first:
            x = norm()(x)
    d.add(x)
    if d.chance(0.3):
        d.add(L.GlobalAveragePooling1D()(x))
