"""Nodes of keras.ops, and Python's operators on symbolic tensors."""
import numpy as np
from keras import ops as K

from . import Unfit, family
from .shapes import factors, partner


def known(x):
    return None not in x.shape[1:]


def some_tensor(d, dtype="number", rank=None):
    return d.pick(rank=rank or (2, 3, 3, 4), dtype=dtype)


# ---- of one tensor
ANY_FLOAT = """absolute negative sign square sin cos tanh sinh arctan arcsinh sinc erf floor ceil trunc isfinite isnan isinf
  relu relu6 sigmoid silu selu softplus softsign hard_sigmoid hard_silu hard_tanh log_sigmoid tanh_shrink sparse_plus
  sparse_sigmoid gelu elu celu soft_shrink hard_shrink squareplus leaky_relu mish exp expm1 deg2rad rad2deg exp2 fabs conjugate real
  isneginf isposinf nan_to_num copy stop_gradient zeros_like ones_like empty_like cbrt positive imag isreal signbit angle tan
  cosh""".split()
POSITIVE = "log log1p log2 log10 sqrt rsqrt reciprocal".split()  # arguments |x| + 0.5
BOUNDED = "arcsin arccos arctanh".split()  # arguments tanh(x)


@family("ops", 4)
def of_one(d):
    name = d.one(ANY_FLOAT)
    x = some_tensor(d, d.one(["float", "float", "number"]))
    if name == "gelu":
        d.add(K.gelu(x, **d.options(approximate=[True, False])))
    elif name in ("elu", "celu"):
        d.add(getattr(K, name)(x, **d.options(alpha=lambda: d.number(0.3, 2))))
    elif name in ("soft_shrink", "hard_shrink"):
        d.add(getattr(K, name)(x, **d.options(threshold=lambda: d.number(0.1, 1))))
    elif name == "leaky_relu":
        d.add(K.leaky_relu(x, **d.options(negative_slope=lambda: d.number(0.1, 0.5))))
    elif name == "squareplus":
        d.add(K.squareplus(x, **d.options(b=lambda: d.integer(1, 5))))
    elif name == "positive":
        d.add(-x if d.chance(0.5) else abs(x))
    else:
        function = getattr(K, name, None)
        if function is None:
            raise Unfit
        d.add(function(x))


@family("ops")
def of_one_in_its_domain(d):
    x = some_tensor(d, "float")
    if d.chance(0.6):
        d.add(getattr(K, d.one(POSITIVE))(K.abs(x) + 0.5))
    elif d.chance(0.7):
        d.add(getattr(K, d.one(BOUNDED))(K.tanh(x) * 0.9))
    else:
        d.add(K.arccosh(K.abs(x) + 1.5))


@family("ops")
def with_numbers(d):
    x = some_tensor(d, "number")
    d.add(d.one([
        lambda: K.clip(x, d.number(-2, 0), d.number(0, 2)), lambda: K.round(x, **d.options(decimals=[0, 1, 2])),
        lambda: K.threshold(x, d.number(-1, 1), d.number(-1, 1)), lambda: K.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0),
        lambda: K.cast(x, d.one(["float32", "int32", "bool", "float16", "int64", "bfloat16"])), lambda: K.cast(K.abs(x), "uint8"), lambda: K.full_like(x, d.number(-1, 1)),
        lambda: K.saturate_cast(x, d.one(["float16", "int8", "uint8"])), lambda: K.convert_to_tensor(x), lambda: K.array(x, dtype="float32"),
        lambda: K.zeros_like(x, dtype="int32"), lambda: K.glu(x, axis=d.axis(len(x.shape), 1))])())


# ---- of two
ARITHMETIC = "add subtract multiply maximum minimum fmax fmin arctan2 hypot logaddexp logaddexp2 heaviside".split()
COMPARISONS = "equal not_equal less less_equal greater greater_equal isclose".split()


def operand(d, x):
    """The other operand: a tensor, a Python number or an array."""
    kind = d.one(["tensor", "tensor", "tensor", "number", "number", "array", "other"])
    if kind == "tensor":
        return partner(d, x)
    if kind == "other":  # another dtype
        shape = x.shape[1:]
        return d.input(shape, d.one(["int32", "float32", "float16", "bool", "uint8", "int64"]), 4) if x.shape[0] is None else d.number(-2, 2)
    if kind == "number":
        return d.one([d.number(-2, 2), d.integer(-3, 3) or 1])
    shape = [n if d.chance(0.6) else 1 for n in x.shape[d.integer(1, len(x.shape)):]]
    if None in shape:
        raise Unfit
    array = d.rng.normal(size=shape).astype("float32")
    return array if "float" in x.dtype else (array * 5).astype(d.one(["int32", "float32"]))


@family("ops", 3)
def of_two(d):
    x = some_tensor(d, d.one(["float", "float", "number", "int"]))
    y = operand(d, x)
    if d.chance(0.3):
        x, y = y, x
        if isinstance(x, np.ndarray):
            x, y = y, x
    name = d.one(ARITHMETIC)
    use_operator = d.chance(0.5)
    symbolic = {"add": lambda: x + y, "subtract": lambda: x - y, "multiply": lambda: x * y}
    d.add(symbolic[name]() if use_operator and name in symbolic else getattr(K, name)(x, y))


@family("ops", 2)
def division_and_powers(d):
    x = some_tensor(d, d.one(["float", "number"]))
    tame = lambda y: K.abs(y) + d.number(0.5, 1.5)
    y = operand(d, x)
    safe = y if isinstance(y, (int, float)) else tame(y)
    d.add(d.one([lambda: x / safe, lambda: K.divide(x, safe), lambda: K.true_divide(x, safe), lambda: K.divide_no_nan(x, y), lambda: x // safe,
                 lambda: K.floor_divide(x, safe), lambda: x % safe, lambda: K.mod(x, safe), lambda: K.fmod(x, safe),
                 lambda: K.power(tame(x), y), lambda: tame(x) ** y, lambda: x ** 2, lambda: 1.0 / tame(x), lambda: 2 ** x,
                 lambda: d.number(1, 3) - x, lambda: x ** 3])())


@family("ops", 1.5)
def comparison(d):
    x = some_tensor(d, "number")
    y = operand(d, x)
    name = d.one(COMPARISONS)
    symbolic = {"less": lambda: x < y, "greater": lambda: x > y, "less_equal": lambda: x <= y, "greater_equal": lambda: x >= y}
    d.add(symbolic[name]() if d.chance(0.3) and name in symbolic and not isinstance(y, np.ndarray) else getattr(K, name)(x, y))


@family("ops")
def logic(d):
    x = d.pick(dtype="bool", make=lambda: K.greater(some_tensor(d, "number"), 0))
    y = d.one([lambda: partner(d, x), lambda: d.like(x)])()
    d.add(d.one([lambda: K.logical_and(x, y), lambda: K.logical_or(x, y), lambda: K.logical_xor(x, y), lambda: K.logical_not(x),
                 lambda: x & y, lambda: x | y, lambda: ~x, lambda: K.any(x, axis=-1), lambda: K.all(x, axis=1)])())


@family("ops", 1.5)
def choice(d):
    x = some_tensor(d, "float")
    condition = d.one([lambda: K.greater(x, d.number(-0.5, 0.5)), lambda: d.input(x.shape[1:], "bool") if x.shape[0] is None else K.less(x, 0),
                       lambda: d.pick(dtype="bool", where=lambda y: tuple(y.shape) == tuple(x.shape), make=lambda: K.less(x, 0.1))])()
    y = operand(d, x)
    if d.chance(0.25):
        d.add(K.select([condition, K.less(x, -0.5)], [x, y], default=d.number(-1, 1)))
    else:
        d.add(K.where(condition, x, y) if d.chance(0.6) else K.where(condition, y, x))


# ---- reductions
REDUCTIONS = "sum mean max min prod var std any all amax amin count_nonzero nansum nanmean ptp logsumexp median nanmax nanmin nanprod nanvar nanstd".split()


@family("ops", 3)
def reduction(d):
    x = some_tensor(d, d.one(["float", "float", "number", "any"]), (2, 3, 3, 4, 5))
    rank = len(x.shape)
    axis = d.one([d.axis(rank, 1), -1, tuple(d.axes(rank, 1)), d.axis(rank, 0), None])
    if isinstance(axis, tuple) and d.chance(0.5):
        axis = list(axis)
    name = d.one(REDUCTIONS)
    kwargs = {"axis": axis}
    if name != "count_nonzero":
        kwargs.update(d.options(keepdims=[True, False]))
    if name in ("max", "min") and d.chance(0.1):
        kwargs["initial"] = 0.5
    function = getattr(K, name, None)
    if function is None:
        raise Unfit
    d.add(function(x, **kwargs))


@family("ops")
def of_an_axis(d):
    x = some_tensor(d, d.one(["float", "number"]), (2, 3, 3, 4))
    rank = len(x.shape)
    axis = d.one([d.axis(rank, 1), d.axis(rank, 1), -1, None])
    wide = K.cast(x, "float32") if "float" not in x.dtype else x
    weights = d.rng.uniform(0.2, 1, [x.shape[axis]]).astype("float32") if axis is not None and x.shape[axis] else None
    d.add(d.one([lambda: K.argmax(x, axis=axis, **d.options(keepdims=[True, False])), lambda: K.argmin(x, axis=axis, **d.options(keepdims=[True, False])),
                 lambda: K.cumsum(x, axis=axis), lambda: K.cumprod(x, axis=axis), lambda: K.nancumsum(x / x, axis=axis), lambda: K.nancumprod(x, axis=axis), lambda: K.average(x, axis=axis, weights=weights),
                 lambda: K.norm(wide, axis=axis, ord=d.one([None, 1, 2, 3, 0]), **d.options(keepdims=[True, False])) if axis is not None else K.norm(wide),
                 lambda: K.diff(x, axis=-1 if axis is None else axis), lambda: K.sort(x, axis=-1 if axis is None else axis),
                 lambda: K.argsort(x, axis=-1 if axis is None else axis), lambda: K.top_k(x, d.integer(1, x.shape[-1] or 1)),
                 lambda: d.one([K.quantile, lambda x, q, **kw: K.percentile(x, 100 * q, **kw)])(wide, d.number(0, 1), axis=axis, **d.options(method=["linear", "lower", "higher", "midpoint"], keepdims=[True])),
                 lambda: K.median(x, axis=axis), lambda: K.sort(x, axis=None), lambda: K.diff(x, n=2)])())


@family("ops")
def normalizing(d):
    x = some_tensor(d, "float", (2, 3, 3, 4))
    rank = len(x.shape)
    axis = d.one([-1, d.axis(rank, 1), tuple(d.axes(rank, 1))])
    one = axis if isinstance(axis, int) else -1
    size = x.shape[one]

    def vector():
        if size is None:
            raise Unfit
        return K.convert_to_tensor(d.rng.normal(size=[size]).astype("float32"))
    d.add(d.one([
        lambda: K.softmax(x, axis=axis), lambda: K.log_softmax(x, axis=axis), lambda: K.sparsemax(x, axis=-1),
        lambda: K.normalize(x, axis=one, order=d.one([1, 2, 3])), lambda: K.moments(x, axes=axis if d.chance(0.7) else list(d.axes(rank, 1)), **d.options(keepdims=[True, False])),
        lambda: K.layer_normalization(x, **({"gamma": vector(), "beta": vector()} if d.chance(0.5) else {}), axis=one, **d.options(epsilon=[1e-3])),
        lambda: K.rms_normalization(x, **({"scale": vector()} if d.chance(0.5) and one % rank == rank - 1 else {}), axis=one),
        lambda: K.batch_normalization(x, vector(), K.abs(vector()) + 0.5, one, offset=vector() if d.chance(0.5) else None, scale=vector() if d.chance(0.5) else None)])())


# ---- layout
@family("ops", 2)
def layout(d):
    x = some_tensor(d, "any", (2, 3, 3, 4, 5))
    rank = len(x.shape)
    inner = d.axis(rank, 1)

    def reshaped():
        sample = x.shape[1:]
        if None in sample:
            return K.reshape(x, (-1, *[n for n in sample if n is not None]) if d.chance(0.5) else (-1,))
        target = factors(d, int(np.prod(sample)), d.integer(1, 4))
        return K.reshape(x, (-1, *target) if d.chance(0.8) else (-1,))

    def broadcast_to():
        if x.shape[0] is None:
            raise Unfit
        return K.broadcast_to(x, (2, *x.shape))
    d.add(d.one([
        reshaped, reshaped, lambda: K.ravel(x), lambda: K.expand_dims(x, d.one([d.integer(-rank - 1, rank), (1, -1)])), broadcast_to,
        lambda: K.squeeze(K.expand_dims(x, 1), **d.options(axis=[1])), lambda: K.transpose(x, **({"axes": [0, *d.some(range(1, rank), rank - 1)]} if d.chance(0.8) else {})),
        lambda: K.swapaxes(x, inner, d.axis(rank, 1)), lambda: K.moveaxis(x, inner, d.axis(rank, 1)), lambda: K.moveaxis(x, [1, -1], [-1, 1]),
        lambda: K.flip(x, axis=d.one([inner, (1,), None])), lambda: K.flipud(x), lambda: K.fliplr(x), lambda: K.rot90(x, k=d.integer(0, 1), axes=(rank - 2, rank - 1)),
        lambda: K.roll(x, d.integer(-3, 3), axis=inner), lambda: K.roll(x, (1, 2), axis=(0, 1)), lambda: K.roll(x, 2),
        lambda: K.repeat(x, d.integer(1, 3), axis=inner), lambda: K.repeat(x, 2),
        lambda: K.repeat(x, [d.integer(0, 3) for _ in range(x.shape[inner])], axis=inner) if x.shape[inner] else K.repeat(x, 2, axis=0),
        lambda: K.tile(x, [1, *[d.integer(1, 2) for _ in range(rank - 1)]]), lambda: K.tile(x, 2),
        lambda: K.pad(x, [(0, 0)] + [(d.integer(0, 2), d.integer(0, 2)) for _ in range(rank - 1)], mode=d.one(["constant", "constant", "symmetric", "reflect"])),
        lambda: K.pad(x, ((0, 0), *[(1, 0)] * (rank - 1)), constant_values=2), lambda: K.tril(x, k=d.integer(-1, 1)), lambda: K.triu(x, k=d.integer(-1, 1)),
        lambda: K.diagonal(x, offset=d.integer(-1, 1), axis1=rank - 2, axis2=rank - 1), lambda: K.trace(x, offset=d.integer(-1, 1), axis1=0, axis2=1),
        lambda: K.rearrange(x, "b t (n h) -> b n t h", n=1) if rank == 3 else K.rearrange(x, "b t -> t b"), lambda: K.diag(x), lambda: K.ndim(x), lambda: K.size(x),
        lambda: K.diagflat(x)])())


@family("ops", 3)
def subscript(d):
    x = some_tensor(d, "any", (2, 3, 3, 4, 5))
    key = []
    for axis, n in enumerate(x.shape):
        size = n or 1
        kind = d.one(["all", "all", "slice", "slice", "index"] if axis else ["all", "all", "all", "slice", "index"])
        if kind == "all":
            key.append(slice(None))
        elif kind == "index":
            key.append(d.one([0, -1, d.integer(-size, size - 1)]))
        else:
            bound = lambda: d.one([None, d.integer(-size - 1, size + 1)])
            key.append(slice(bound(), bound(), d.one([None, None, None, 1, 2, -1, -2])))
    if d.chance(0.3):
        cut = d.integer(0, len(key))
        back = d.integer(cut, len(key))
        key = key[:cut] + [Ellipsis] + key[back:]
    elif d.chance(0.5):
        key = key[:d.integer(1, len(key))]
    if d.chance(0.3):
        key.insert(d.integer(0, len(key)), None)
    d.add(x[tuple(key)] if len(key) > 1 or d.chance(0.5) else x[key[0]])


@family("ops", 1.5)
def taking(d):
    x = some_tensor(d, "any", (2, 3, 3, 4))
    rank = len(x.shape)
    axis = d.axis(rank, 1)
    size = x.shape[axis]
    if size is None:
        raise Unfit
    indices = lambda *shape: d.rng.integers(-size, size, shape).astype(d.one(["int32", "int64"]))

    def along():
        shape = [1 if n is None else n for n in x.shape]
        shape[axis] = d.integer(1, 3)
        if x.shape[0] is None or None in x.shape:
            shape = [1] * rank
            shape[axis] = d.integer(1, 3)
        return K.take_along_axis(x, indices(*shape), axis=axis)

    def window():
        if not known(x):
            raise Unfit
        starts = [0] + [d.integer(0, n - 1) for n in x.shape[1:]]
        return K.slice(x, starts, [-1 if x.shape[0] is None else x.shape[0]] + [d.one([-1, d.integer(1, n - s)]) for n, s in zip(x.shape[1:], starts[1:])])

    def by_tensor():
        bound = d.integer(1, size)
        ids = d.input((d.integer(1, 3),), "int32", bound)
        return K.take(x, ids, axis=axis)
    d.add(d.one([lambda: K.take(x, indices(d.integer(1, 3)), axis=axis), lambda: K.take(x, indices(2, 2), axis=axis), lambda: K.take(x, d.integer(0, size - 1), axis=axis),
                 lambda: K.take(x, indices(2).tolist(), axis=axis), along, window, by_tensor,
                 lambda: K.take_along_axis(x, K.expand_dims(K.argmax(x, axis=axis), axis), axis=axis),
                 lambda: K.slice_update(x, [0] * rank, K.zeros_like(x[:, :1])), lambda: K.isin(x, [0.0, 1.0])])())


# ---- joining and splitting
@family("ops", 1.5)
def joining(d):
    x = some_tensor(d, "any", (2, 3, 4))
    rank = len(x.shape)
    others = [d.like(x) for _ in range(d.integer(1, 2))]
    tensors = [x] + others
    axis = d.axis(rank, 1)
    d.add(d.one([lambda: K.concatenate(tensors, axis=axis), lambda: K.concatenate(tensors), lambda: K.stack(tensors, axis=d.integer(-rank, rank)),
                 lambda: K.hstack(tensors), lambda: K.vstack(tensors), lambda: K.append(x, others[0], axis=axis), lambda: K.concatenate([x, K.cast(others[0], "float32")], axis=-1),
                 lambda: K.dstack(tensors), lambda: K.append(x, others[0])])())


@family("ops", 1)
def splitting(d):
    x = some_tensor(d, "any", (2, 3, 4))
    rank = len(x.shape)
    axis = d.axis(rank, 1)
    size = x.shape[axis]
    if size is None:
        raise Unfit
    parts = d.one([n for n in range(1, size + 1) if size % n == 0])
    d.add(*d.one([lambda: K.split(x, parts, axis=axis), lambda: K.split(x, sorted(d.some(range(1, size + 1), 1, 3)), axis=axis), lambda: K.array_split(x, d.integer(1, 3), axis=axis),
                  lambda: K.unstack(x, axis=axis), lambda: K.hsplit(x, x.shape[1] or 1), lambda: K.meshgrid(K.ravel(x), K.ravel(x))])())


# ---- products
EQUATIONS = {2: ["ab->ba", "ab->a", "ab,cb->ac", "ab,ab->a", "...b,cb->...c", "ab,cd->abcd", "ij,jk"],
             3: ["abc->acb", "abc,adc->abd", "abc,abd->acd", "abc,dc->abd", "abc,abc->ab", "abc->a", "...ab->...ba", "abc,bd->acd", "a...c,a...c->a..."],
             4: ["abcd,abed->abce", "abcd,aecd->acbe", "abcd->adbc", "...cd,...ed->...ce", "aecd,abcd->acbe", "acbe,aecd->abcd", "abcd->bd"]}


@family("ops", 2)
def product(d):
    x = some_tensor(d, d.one(["float", "float", "number"]), (2, 3, 3, 4))
    rank = len(x.shape)
    width = d.width(x)
    matrix = lambda *shape: d.rng.normal(size=shape).astype("float32")

    def matmul():
        if d.chance(0.5) and rank > 2:
            return K.matmul(x, K.swapaxes(d.like(x), -1, -2))
        y = matrix(width, d.integer(1, 4))
        return x @ y if d.chance(0.5) else K.matmul(x, y)

    def einsum():
        equation = d.one(EQUATIONS[rank])
        count = equation.split("->")[0].count(",") + 1
        terms = equation.split("->")[0].split(",")
        tensors = [x]
        for term in terms[1:]:
            if len(term.replace("...", "")) == 2 and "cb" in term or term in ("dc", "bd", "jk", "cd") and rank < 4:
                sizes = dict(zip(terms[0].replace("...", ""), x.shape[-len(terms[0].replace("...", "")):] if terms[0].startswith("...") else x.shape))
                shape = [sizes.get(letter, 2) or 1 for letter in term]
                tensors.append(matrix(*shape))
            else:
                tensors.append(d.like(x))
        assert len(tensors) == count
        return K.einsum(equation, *tensors)
    d.add(d.one([matmul, matmul, einsum, einsum, lambda: K.dot(x, matrix(width, 2)), lambda: K.tensordot(x, matrix(width, 3), axes=1),
                 lambda: K.tensordot(x, matrix(2, width), axes=[[-1], [1]]), lambda: K.inner(x, matrix(3, width)), lambda: K.outer(x, matrix(3)), lambda: K.vdot(x, d.like(x)),
                 lambda: K.kron(x, d.rng.normal(size=[2] * rank).astype("float32"))])())


@family("ops")
def classes(d):
    ids, bound = d.tokens()
    d.add(d.one([lambda: K.one_hot(ids, bound, **d.options(axis=[-1, 1])), lambda: K.multi_hot(ids, bound), lambda: K.one_hot(ids, bound, dtype="int32"), lambda: K.not_equal(ids, 0),
                 lambda: K.cast(ids, "float32") * 0.5, lambda: ids + 1, lambda: K.arange(ids.shape[1]) + ids if ids.shape[1] else ids * 2,
                 lambda: K.take(d.rng.normal(size=(bound, 3)).astype("float32"), ids, axis=0)])())


@family("ops")
def fused_attention(d):
    length, source, heads, size = d.time(), d.time(), d.integer(1, 4), d.integer(1, 4)
    shared = d.one([n for n in range(1, heads + 1) if heads % n == 0])
    query = d.pick(rank=4, where=lambda x: None not in x.shape[2:], make=lambda: d.input((length, heads, size)))
    if tuple(query.shape[1:]) == (length, heads, size) and query.shape[0] is None:
        key, value = d.input((source, shared, size)), d.input((source, shared, size))
    else:
        key, value, source, length = d.like(query), d.like(query), query.shape[1], query.shape[1]
    kwargs = d.options(scale=lambda: d.number(0.3, 1), is_causal=[True, False])
    if d.chance(0.3) and query.shape[0] is None:
        kwargs["mask"] = d.input((1, query.shape[1], key.shape[1]), "bool")
    if d.chance(0.2) and query.shape[0] is None:
        kwargs["bias"] = d.input((1, query.shape[1], key.shape[1]))
    d.add(K.dot_product_attention(query, key, value, **kwargs))


@family("ops", 0.7)
def windows(d):
    x = d.pick(rank=(3, 4), where=known)
    rank, channels = len(x.shape), x.shape[-1]
    spatial = rank - 2
    kernel = lambda *last: d.rng.normal(size=([d.integer(1, 2) for _ in range(spatial)] + list(last))).astype("float32")
    pad = d.options(padding=["same", "valid"])
    d.add(d.one([lambda: K.conv(x, kernel(channels, 2), **pad), lambda: K.depthwise_conv(x, kernel(channels, 2), **pad),
                 lambda: K.separable_conv(x, kernel(channels, 1), d.rng.normal(size=[1] * spatial + [channels, 3]).astype("float32"), **pad),
                 lambda: K.max_pool(x, 2, **pad), lambda: K.average_pool(x, d.integer(1, 2), strides=1, **pad),
                 lambda: K.image.extract_patches(x, d.integer(1, 2)) if rank == 4 else K.max_pool(x, 1),
                 lambda: K.image.extract_patches(x, d.integer(1, 2), strides=d.integer(1, 2), **d.options(padding=["same", "valid"], dilation_rate=[1])),
                 lambda: K.image.resize(x, (d.integer(1, 6), d.integer(1, 6)), **d.options(interpolation=["nearest", "bilinear", "bicubic", "lanczos3"])),
                 lambda: K.nn.space_to_depth(K.image.resize(x, (2, 4)), 2) if d.chance(0.5) else K.nn.depth_to_space(K.concatenate([x] * 4), 2)])())
