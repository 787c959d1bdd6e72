"""Dense layers, embeddings, activations, and layers that act only in training."""
import keras
from keras import layers as L

from . import Unfit, family


@family("core", 3)
def dense(d):
    x = d.pick(rank=(2, 3, 3, 4, 5))
    d.width(x)
    kwargs = {**d.options(use_bias=[True, False], activation=d.activation), **d.variables("kernel", "bias"), **d.common()}
    units = d.size(1, 7)
    if d.chance(0.05):
        kwargs["activation"], units = "glu", 2 * d.size(1, 4)
    if d.chance(0.05):
        kwargs["activity_regularizer"] = d.regularizer()
    y = d.apply(L.Dense(units, **kwargs), x)
    if kwargs.get("activation") == "glu":
        d.sealed.update(id(z) for z in d.pool[-2:])  # its width is half of Keras's symbolic one


@family("core", 2)
def embedding(d):
    ids, bound = d.tokens()
    kwargs = {**d.options(mask_zero=[True, True, False]), **d.variables("embeddings"), **d.common(policy=0.03)}
    d.apply(L.Embedding(bound + d.integer(0, 3), d.size(2, 6), **kwargs), ids)


@family("core")
def embedding_of_any_rank(d):
    ids = d.input([d.size(1, 4) for _ in range(d.integer(0, 3))], "int32", d.size(2, 8))
    d.apply(L.Embedding(d.bounds[id(ids)], d.size(1, 5), mask_zero=d.chance(0.5)), ids)


@family("core")
def masking(d):
    x = d.pick(rank=(3, 3, 4))
    d.apply(L.Masking(**d.options(mask_value=[0.0, 0.0, 1.0, -0.5]), **d.common()), x)


@family("core")
def activation_by_name(d):
    d.apply(L.Activation(d.activation(), **d.common()), d.pick(rank=(2, 3, 4)))


@family("core")
def activation_layer(d):
    x = d.pick(rank=(2, 3, 4))
    rank = len(x.shape)
    kind = d.one(["relu", "leaky", "prelu", "elu", "softmax"])
    if kind == "relu":
        layer = L.ReLU(**d.options(max_value=lambda: d.number(0.5, 2), negative_slope=lambda: d.number(0, 0.5), threshold=lambda: d.number(0, 0.5)), **d.common())
    elif kind == "leaky":
        layer = L.LeakyReLU(**d.options(negative_slope=lambda: d.number(0, 0.5)), **d.common())
    elif kind == "prelu":
        layer = L.PReLU(**d.options(shared_axes=lambda: d.some(range(1, rank))), **d.variables("alpha"), **d.common())
    elif kind == "elu":
        layer = L.ELU(**d.options(alpha=lambda: d.number(0.2, 1.5)), **d.common())
    else:
        layer = L.Softmax(**d.options(axis=lambda: d.one([d.axis(rank, 1), sorted(at % rank for at in d.axes(rank, 1))])), **d.common())
        if d.chance(0.4) and x.shape[0] is None:
            shape = [d.one([n, n, 1]) for n in x.shape[1:]]
            d.apply(layer, x, mask=d.input(shape, d.one(["bool", "bool", "float32", "int32"]), 2))
            return
    d.apply(layer, x)


@family("core")
def training_only(d):
    x = d.pick(rank=(2, 3, 4, 5))
    rank = len(x.shape)
    seed = d.one([None, 3])
    choices = [lambda: L.Dropout(d.number(0, 0.9), seed=seed, **d.options(noise_shape=[[d.one([None, 1]) for _ in x.shape]]), **d.common()),
               lambda: L.GaussianNoise(d.number(0, 1), seed=seed, **d.common()), lambda: L.GaussianDropout(d.number(0, 0.9), seed=seed, **d.common()),
               lambda: L.AlphaDropout(d.number(0, 0.9), seed=seed, **d.common()), lambda: L.Identity(**d.common()),
               lambda: L.ActivityRegularization(**d.options(l1=[0.1], l2=[0.2]), **d.common())]
    if rank > 2:
        spatial = {3: L.SpatialDropout1D, 4: L.SpatialDropout2D, 5: L.SpatialDropout3D}[rank]
        choices.append(lambda: spatial(d.number(0, 0.9), seed=seed, **({} if rank == 3 else d.options(data_format=["channels_first", "channels_last"]))))
    d.apply(d.one(choices)(), x)


@family("core")
def rescaling(d):
    x = d.pick(rank=(2, 3, 4), dtype="number")
    wide = [d.number(-1, 2) for _ in range(x.shape[-1] or 1)]
    d.apply(L.Rescaling(d.one([0.5, 2, 1 / 127.5, wide]), **d.options(offset=lambda: d.one([0.25, -1, wide])), **d.common()), x)


@family("core")
def normalization_layer(d):
    x = d.pick(rank=(2, 3, 4))
    rank = len(x.shape)
    axis = d.one([None, -1, d.axis(rank, 1), tuple(sorted(d.some(range(1, rank))))])
    kwargs = d.options(invert=[True, False])
    if d.chance(0.5):
        axes = () if axis is None else axis if isinstance(axis, tuple) else (axis,)
        shape = [x.shape[a] for a in axes]
        if None in shape:
            raise Unfit
        draw = lambda low: d.number(low, 2) if not shape or d.chance(0.3) else d.rng.uniform(low, 2, shape).round(3).tolist()
        kwargs["mean"] = draw(-2)
        kwargs["variance"] = d.rng.uniform(0.3, 2, shape).round(3).tolist() if isinstance(kwargs["mean"], list) else d.number(0.3, 2)
    d.apply(L.Normalization(axis=axis, **kwargs), x)


@family("core", 2)
def einsum_dense(d):
    x = d.pick(rank=(2, 3, 3, 4, 5))
    shape = list(x.shape)
    rank = len(shape)
    letters = "abcdefghijklm"
    ellipsis = d.one(["", "", "", "left", "right"])
    kept = d.integer(1, rank - 1) if ellipsis and rank > 1 else 0  # number of axes in the ellipsis
    if ellipsis == "left":
        names, sizes = letters[:rank - kept], shape[kept:]
    elif ellipsis == "right":
        kept = min(kept, rank - 2)
        names, sizes = letters[:rank - kept], shape[:rank - kept]
    else:
        names, sizes = letters[:rank], shape
    first = 0 if ellipsis == "left" else 1  # the batch is never contracted
    movable = list(zip(names, sizes))[first:]
    if not movable:
        raise Unfit
    contracted = [pair for pair in d.some(movable) if pair[1] is not None]
    if not contracted:
        raise Unfit
    new = [(letter, d.size(1, 4)) for letter in "wxyz"[:d.integer(0, 2)]]
    stay = [pair for pair in movable if pair not in contracted]
    both = [pair for pair in stay if pair[1] is not None and d.chance(0.15)]  # in input, kernel and output
    kernel = contracted + new + both
    if d.chance(0.3):
        kernel = d.some(kernel, len(kernel))
    output = stay + new
    if d.chance(0.3):
        output = d.some(output, len(output))
    if not new and not output and not ellipsis:
        raise Unfit
    head = "" if first == 0 else names[0]
    text = lambda pairs: "".join(letter for letter, _ in pairs)
    inside, outside = names, head + text(output)
    if ellipsis == "left":
        inside, outside = "..." + inside, "..." + outside
    elif ellipsis == "right":
        inside, outside = inside + "...", outside + "..."
    equation = f"{inside},{text(kernel)}->{outside}"
    output_shape = tuple(n if letter in "wxyz" or d.chance(0.5) else None if letter not in text(both) else n for letter, n in output)
    kwargs = {**d.options(activation=d.activation), **d.variables("kernel", "bias"), **d.common()}
    if d.chance(0.6) and output:
        kwargs["bias_axes"] = "".join(sorted(d.some([p[0] for p in output if p[1] is not None] or [output[0][0]])))
    if ellipsis == "left" and len(output) == 1 and d.chance(0.3):
        output_shape = output_shape[0]
    d.apply(L.EinsumDense(equation, output_shape, **kwargs), x)
