"""Layers that only move data, and layers that merge tensors."""
import numpy as np
from keras import layers as L

from . import Unfit, family


def factors(d, n, count):
    """Sizes whose product is n."""
    out = []
    for _ in range(count - 1):
        size = d.one([k for k in range(1, n + 1) if n % k == 0])
        out.append(size)
        n //= size
    return d.some(out + [n], count)


@family("shapes", 1.5)
def reshape(d):
    x = d.pick(rank=(2, 3, 4, 5), dtype="any")
    sample = x.shape[1:]
    if None in sample:
        target = [-1] + [n for n in sample[1:]] if d.chance(0.5) and None not in sample[1:] else [-1]
    else:
        target = factors(d, int(np.prod(sample)), d.integer(1, 4))
        if d.chance(0.5):
            target[d.integer(0, len(target) - 1)] = -1
    d.apply(L.Reshape(tuple(target), **d.common()), x)


@family("shapes")
def permute(d):
    x = d.pick(rank=(3, 4, 5), dtype="any")
    d.apply(L.Permute(tuple(d.some(range(1, len(x.shape)), len(x.shape) - 1)), **d.common()), x)


@family("shapes")
def flatten(d):
    d.apply(L.Flatten(**d.options(data_format=["channels_first", "channels_last"]), **d.common()), d.pick(rank=(2, 3, 4, 5)))


@family("shapes")
def repeat_vector(d):
    d.apply(L.RepeatVector(d.integer(1, 4), **d.common()), d.pick(rank=2))


def partner(d, x, broadcasting=True):
    """A tensor that merges elementwise with x."""
    kind = d.one(["same", "same", "one", "lower"]) if broadcasting else "same"
    if kind == "one" and len(x.shape) > 2 and x.shape[0] is None:
        shape = [n if d.chance(0.6) else 1 for n in x.shape[1:]]
        return d.input(shape, x.dtype)
    if kind == "lower" and len(x.shape) > 2 and x.shape[0] is None:
        return d.input(x.shape[d.integer(2, len(x.shape) - 1):], x.dtype)
    return d.like(x)


@family("merging", 3)
def elementwise(d):
    x = d.pick(rank=(2, 3, 3, 4), dtype="number")
    make = d.one([L.Add, L.Multiply, L.Average, L.Maximum, L.Minimum, L.Subtract])
    count = 2 if make is L.Subtract else d.one([2, 2, 2, 3])
    tensors = [x] + [partner(d, x, count == 2) for _ in range(count - 1)]
    d.apply(make(**d.common()), d.some(tensors, count))
    if "int" in x.dtype:
        d.sealed.update(id(y) for y in d.pool[-2:])  # integers stay integers, but Keras's symbolic dtype is floating


@family("merging", 2)
def concatenate(d):
    x = d.pick(rank=(2, 3, 3, 4))
    rank = len(x.shape)
    axis = d.one([-1, -1, d.axis(rank, 1)])
    tensors = [x]
    for _ in range(d.integer(0, 2)):
        shape = list(x.shape)
        shape[axis] = d.size(1, 4)
        same = [y for y in d.pool if len(y.shape) == rank and y.dtype == x.dtype
                and all(a == b for i, (a, b) in enumerate(zip(x.shape, y.shape)) if i != axis % rank)]
        tensors.append(d.one(same) if same and d.chance(0.6) else d.input(shape[1:], x.dtype) if x.shape[0] is None else x)
        d.used.add(id(tensors[-1]))
    d.apply(L.Concatenate(**({} if axis == -1 and d.chance(0.5) else {"axis": axis}), **d.common()), d.some(tensors, len(tensors)))


@family("merging")
def dot(d):
    x = d.pick(rank=(2, 3, 3, 4), where=lambda x: x.shape[0] is None)
    rank = len(x.shape)
    at = d.integer(1, rank - 1)
    size = x.shape[at]
    fits = [(y, i) for y in d.pool for i in range(1, len(y.shape)) if y.shape[i] == size and 2 <= len(y.shape) <= 4 and y.dtype == x.dtype]
    if fits and d.chance(0.7):
        y, other = d.one(fits)
    else:
        other_rank = d.integer(2, 3)
        other = d.integer(1, other_rank - 1)
        shape = [d.size(1, 4) for _ in range(other_rank)]
        shape[other] = size
        y = d.input(shape[1:])
    d.used.add(id(y))
    negative = d.chance(0.4)
    axes = (at - rank if negative else at, other - len(y.shape) if negative else other)
    if axes[0] == axes[1] and d.chance(0.5):
        axes = axes[0]
    d.apply(L.Dot(axes=axes, **d.options(normalize=[True, False]), **d.common()), [x, y])
