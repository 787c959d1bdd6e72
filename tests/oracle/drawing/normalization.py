"""Normalization layers."""
from keras import layers as L

from . import Unfit, family


@family("normalization", 2)
def layer_normalization(d):
    x = d.pick(rank=(2, 3, 3, 4, 5))
    rank = len(x.shape)
    axis = d.one([-1, d.axis(rank, 1), d.axes(rank, 1)])
    kwargs = {**d.options(epsilon=[1e-6, 1e-5, 0.1], center=[True, False], scale=[True, False]), **d.variables("gamma", "beta"), **d.common()}
    if d.chance(0.15):
        kwargs["rms_scaling"] = True
    d.apply(L.LayerNormalization(axis=axis, **kwargs), x)


@family("normalization")
def rms_normalization(d):
    x = d.pick(rank=(2, 3, 3, 4))
    rank = len(x.shape)
    d.apply(L.RMSNormalization(axis=d.one([-1, -1, d.axis(rank, 1), sorted(d.axes(rank, 1))]), **d.options(epsilon=[1e-6, 1e-2]), **d.common()), x)


@family("normalization")
def batch_normalization(d):
    x = d.pick(rank=(2, 3, 3, 4, 5))
    rank = len(x.shape)
    kwargs = {**d.options(momentum=[0.9], epsilon=[1e-5, 0.01], center=[True, False], scale=[True, False]),
              **d.variables("gamma", "beta"), **d.common()}
    if d.chance(0.1):
        kwargs["renorm"] = True
    d.apply(L.BatchNormalization(axis=d.one([-1, d.axis(rank, 1)]), **kwargs), x)


@family("normalization")
def group_normalization(d):
    x = d.pick(rank=(2, 3, 4, 5))
    rank = len(x.shape)
    axis = d.one([-1, -1, d.axis(rank, 1)])
    channels = x.shape[axis]
    if channels is None:
        raise Unfit
    groups = d.one([g for g in range(1, channels + 1) if channels % g == 0] + [-1])
    kwargs = {**d.options(epsilon=[1e-5, 0.01], center=[True, False], scale=[True, False]), **d.variables("gamma", "beta"), **d.common()}
    d.apply(L.GroupNormalization(groups, axis=axis, **kwargs), x)


@family("normalization")
def unit_normalization(d):
    x = d.pick(rank=(2, 3, 4))
    rank = len(x.shape)
    d.apply(L.UnitNormalization(axis=d.one([-1, d.axis(rank, 1), d.axes(rank, 1)]), **d.common()), x)


@family("normalization")
def spectral_normalization(d):
    kwargs = d.options(power_iterations=[2, 3])
    if d.chance(0.5):
        d.apply(L.SpectralNormalization(L.Dense(d.size(1, 5), **d.options(use_bias=[False], activation=d.activation)), **kwargs), d.pick(rank=(2, 3)))
    else:
        d.apply(L.SpectralNormalization(L.Conv1D(d.size(1, 4), 1), **kwargs), d.pick(rank=3))
