"""Convolutions, pooling, and layers that pad, crop and enlarge."""
from keras import layers as L

from . import Unfit, family

SIZES = (1, 1, 2, 3)


def image(d, rank, least=1):
    """Returns a tensor with `rank` spatial axes, and the position of its channels."""
    first = d.chance(0.3)
    spatial = lambda x: x.shape[2:] if first else x.shape[1:-1]
    channels = lambda x: x.shape[1] if first else x.shape[-1]
    fits = lambda x: channels(x) is not None and all(n is None or n >= least for n in spatial(x))

    def make():
        sizes = [d.integer(max(least, 2), 7 if rank == 1 else 5) for _ in range(rank)]
        if d.chance(0.15):
            sizes = [None] * rank
        depth = d.size(1, 4)
        return d.input((depth, *sizes) if first else (*sizes, depth))

    x = d.pick(rank=rank + 2, where=fits, fresh=0.3, make=make)
    return x, channels(x), ({"data_format": "channels_first"} if first else d.options(data_format=["channels_last"]))


def known_window(x, kwargs):
    """Avoids an unknown length, which a window might exceed."""
    if None in x.shape[1:]:
        kwargs["padding"] = "same"
    return kwargs


def per_axis(d, rank, values):
    return d.one([d.one(values), tuple(d.one(values) for _ in range(rank))])


def strides_or_dilation(d, rank, both=False):
    out = {}
    if d.chance(0.35):
        out["strides"] = per_axis(d, rank, (1, 2, 3))
    if d.chance(0.3) and (both or "strides" not in out):
        out["dilation_rate"] = per_axis(d, rank, (1, 2))
    return out


@family("spatial", 2)
def convolution(d):
    rank = d.one([1, 1, 2, 2, 3])
    x, channels, kwargs = image(d, rank)
    groups = d.one([g for g in range(1, channels + 1) if channels % g == 0]) if d.chance(0.25) else 1
    kwargs.update(strides_or_dilation(d, rank))
    kwargs.update(d.options(padding=["same", "valid"] + (["causal"] if rank == 1 and kwargs.get("data_format") != "channels_first" else []),
                            use_bias=[True, False], activation=d.activation))
    make = {1: L.Conv1D, 2: L.Conv2D, 3: L.Conv3D}[rank]
    d.apply(make(groups * d.size(1, 3), per_axis(d, rank, SIZES), groups=groups, **known_window(x, kwargs), **d.variables("kernel", "bias"), **d.common()), x)


@family("spatial")
def depthwise(d):
    rank = d.one([1, 2])
    x, channels, kwargs = image(d, rank)
    kwargs.update(strides_or_dilation(d, 1, both=False))
    kwargs.update(d.options(padding=["same", "valid"], use_bias=[True, False], activation=d.activation, depth_multiplier=[1, 2]))
    make = {1: L.DepthwiseConv1D, 2: L.DepthwiseConv2D}[rank]
    d.apply(make(per_axis(d, rank, SIZES), **known_window(x, kwargs), **d.variables("depthwise", "bias"), **d.common()), x)


@family("spatial")
def separable(d):
    rank = d.one([1, 2])
    x, channels, kwargs = image(d, rank)
    kwargs.update(strides_or_dilation(d, 1))
    kwargs.update(d.options(padding=["same", "valid"], use_bias=[True, False], activation=d.activation, depth_multiplier=[1, 2]))
    make = {1: L.SeparableConv1D, 2: L.SeparableConv2D}[rank]
    d.apply(make(d.size(1, 4), per_axis(d, rank, SIZES), **known_window(x, kwargs), **d.variables("depthwise", "pointwise", "bias"), **d.common()), x)


@family("spatial")
def transposed(d):
    rank = d.one([1, 2, 2, 3])
    x, channels, kwargs = image(d, rank)
    kwargs.update(strides_or_dilation(d, rank))
    kwargs.update(d.options(padding=["same", "valid"], use_bias=[True, False], activation=d.activation))
    if "strides" in kwargs and d.chance(0.3):
        kwargs["output_padding"] = d.integer(0, 2)
    make = {1: L.Conv1DTranspose, 2: L.Conv2DTranspose, 3: L.Conv3DTranspose}[rank]
    d.apply(make(d.size(1, 3), per_axis(d, rank, SIZES), **known_window(x, kwargs), **d.variables("kernel", "bias"), **d.common()), x)


@family("spatial", 1.5)
def pooling(d):
    rank = d.one([1, 2, 3])
    x, channels, kwargs = image(d, rank)
    kwargs.update(d.options(strides=lambda: per_axis(d, rank, (1, 2, 3)), padding=["same", "valid"]))
    make = d.one({1: [L.MaxPooling1D, L.AveragePooling1D], 2: [L.MaxPooling2D, L.AveragePooling2D], 3: [L.MaxPooling3D, L.AveragePooling3D]}[rank])
    d.apply(make(per_axis(d, rank, (1, 2, 3)), **known_window(x, kwargs), **d.common()), x)


@family("spatial", 0.7)
def adaptive_pooling(d):
    rank = d.one([1, 2, 3])
    x, channels, kwargs = image(d, rank)
    sizes = x.shape[2:] if kwargs.get("data_format") == "channels_first" else x.shape[1:-1]
    if None in sizes:
        raise Unfit
    # TensorFlow pools by windows of up to one cell more than a part, which must fit into the axis.
    fitting = lambda n: [m for m in range(1, n + 1) if -(-n // m) < n]
    make = d.one({1: [L.AdaptiveMaxPooling1D, L.AdaptiveAveragePooling1D], 2: [L.AdaptiveMaxPooling2D, L.AdaptiveAveragePooling2D],
                  3: [L.AdaptiveMaxPooling3D, L.AdaptiveAveragePooling3D]}[rank])
    d.apply(make(tuple(d.one(fitting(n)) for n in sizes), **kwargs, **d.common()), x)


@family("spatial", 1.5)
def global_pooling(d):
    rank = d.one([1, 1, 2, 3])
    x, channels, kwargs = image(d, rank)
    kwargs.update(d.options(keepdims=[True, False]))
    make = d.one({1: [L.GlobalMaxPooling1D, L.GlobalAveragePooling1D], 2: [L.GlobalMaxPooling2D, L.GlobalAveragePooling2D],
                  3: [L.GlobalMaxPooling3D, L.GlobalAveragePooling3D]}[rank])
    d.apply(make(**kwargs, **d.common()), x)


def margins(d, rank):
    pair = lambda: (d.integer(0, 2), d.integer(0, 2))
    if rank == 1:
        return d.one([d.integer(0, 2), pair()])
    return d.one([d.integer(0, 2), tuple(d.integer(0, 2) for _ in range(rank)), tuple(pair() for _ in range(rank))])


@family("spatial")
def zero_padding(d):
    rank = d.one([1, 2, 3])
    x, channels, kwargs = image(d, rank)
    d.apply({1: L.ZeroPadding1D, 2: L.ZeroPadding2D, 3: L.ZeroPadding3D}[rank](margins(d, rank), **kwargs, **d.common()), x)


@family("spatial")
def cropping(d):
    rank = d.one([1, 2, 3])
    x, channels, kwargs = image(d, rank, least=1)
    if rank == 1:
        if kwargs.pop("data_format", "channels_last") != "channels_last":
            raise Unfit
    d.apply({1: L.Cropping1D, 2: L.Cropping2D, 3: L.Cropping3D}[rank](margins(d, rank), **kwargs, **d.common()), x)


@family("spatial")
def up_sampling(d):
    rank = d.one([1, 2, 2, 3])
    x, channels, kwargs = image(d, rank)
    if rank == 1:
        if kwargs.pop("data_format", "channels_last") != "channels_last":
            raise Unfit
        d.apply(L.UpSampling1D(d.integer(1, 3), **d.common()), x)
        return
    if rank == 2 and d.chance(0.3):
        kwargs["interpolation"] = d.one(["nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"])
    d.apply({2: L.UpSampling2D, 3: L.UpSampling3D}[rank](per_axis(d, rank, (1, 2, 3)), **kwargs, **d.common()), x)


@family("spatial", 0.7)
def image_preprocessing(d):
    x = d.pick(rank=4, where=lambda x: None not in x.shape[1:] and x.shape[-1] in (1, 3), fresh=0.4,
               make=lambda: d.input((d.size(2, 6), d.size(2, 6), d.one([1, 3]))))
    make = d.one([lambda: L.Resizing(d.size(1, 6), d.size(1, 6), **d.options(interpolation=["bilinear", "nearest", "bicubic", "lanczos5"])),
                  lambda: L.CenterCrop(d.integer(1, x.shape[1]), d.integer(1, x.shape[2])),
                  lambda: d.one([L.RandomFlip("horizontal"), L.RandomRotation(0.1), L.RandomZoom(0.1), L.RandomTranslation(0.1, 0.2), L.RandomContrast(0.2),
                                 L.RandomBrightness(0.2), L.RandomHue(0.1), L.RandomErasing(), L.RandomGrayscale(), L.RandomShear(0.1, 0.1), L.RandAugment(),
                                 L.AugMix(), L.MixUp(), L.RandomColorJitter()])])
    d.apply(make(), x)
