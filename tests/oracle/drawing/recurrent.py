"""Recurrent layers, their cells, and the layers around them."""
import keras
from keras import layers as L

from . import Unfit, family


def cell_arguments(d, kind):
    kwargs = {**d.options(use_bias=[True, False]), **d.variables("kernel", "recurrent", "bias")}
    if d.chance(0.3):
        kwargs["activation"] = d.activation(whole=False)
    if kind != "simple" and d.chance(0.3):
        kwargs["recurrent_activation"] = d.one(["sigmoid", "hard_sigmoid", "tanh", "relu", "softmax"])
    if kind == "lstm":
        kwargs.update(d.options(unit_forget_bias=[True, False]))
    if kind == "gru":
        kwargs.update(d.options(reset_after=[True, False]))
    if d.chance(0.15):
        kwargs.update(dropout=0.1, recurrent_dropout=0.2)
    return kwargs


def sequence_arguments(d):
    return d.options(return_sequences=[True, True, False], go_backwards=[True, False], zero_output_for_mask=[True, False])


def recurrent_layer(d, **more):
    kind, make = d.one([("lstm", L.LSTM), ("gru", L.GRU), ("simple", L.SimpleRNN)])
    return kind, make(d.size(1, 4), **{**cell_arguments(d, kind), **sequence_arguments(d), **more})


def sequence(d):
    x = d.pick(rank=3)
    d.width(x)
    return x


@family("recurrent", 3)
def recurrent(d):
    x = sequence(d)
    more = {}
    if d.chance(0.3):
        more["return_state"] = True
    if d.chance(0.1) and x.shape[1] is not None:
        more["unroll"] = True
    kind, layer = recurrent_layer(d, **more, **d.common())
    call = {}
    if d.chance(0.25) and x.shape[0] is None:
        state = lambda: d.input((layer.units,))
        call["initial_state"] = [state(), state()] if kind == "lstm" else d.one([lambda: state(), lambda: [state()]])()
    if d.chance(0.15) and x.shape[0] is None:
        call["mask"] = d.input((x.shape[1],), "bool")
    d.apply(layer, x, **call)


def cell(d):
    kind, make = d.one([("lstm", L.LSTMCell), ("gru", L.GRUCell), ("simple", L.SimpleRNNCell)])
    return make(d.size(1, 4), **cell_arguments(d, kind))


@family("recurrent", 1.5)
def of_cells(d):
    x = sequence(d)
    cells = d.one([lambda: cell(d), lambda: [cell(d) for _ in range(d.integer(1, 3))], lambda: L.StackedRNNCells([cell(d), cell(d)])])()
    layer = L.RNN(cells, **sequence_arguments(d), **d.options(return_state=[True, False]), **d.common())
    if d.chance(0.15):
        layer = L.Bidirectional(L.RNN(cell(d), return_sequences=d.chance(0.5)))
    d.apply(layer, x)


@family("recurrent", 2)
def bidirectional(d):
    x = sequence(d)
    same = d.options(return_sequences=[True, False], return_state=[True, False])
    kind, layer = recurrent_layer(d, go_backwards=False, **{"return_sequences": False, **same})
    kwargs = {**d.options(merge_mode=["concat", "sum", "ave", "mul", None]), **d.common()}
    if d.chance(0.3) and not same.get("return_state"):
        kwargs["backward_layer"] = recurrent_layer(d, go_backwards=True, **{"return_sequences": False, **same})[1]
    call = {}
    if d.chance(0.15) and "backward_layer" not in kwargs and x.shape[0] is None:
        count = 4 if kind == "lstm" else 2
        call["initial_state"] = [d.input((layer.units,)) for _ in range(count)]
    if d.chance(0.15) and x.shape[0] is None:
        call["mask"] = d.input((x.shape[1],), "bool")
    d.apply(L.Bidirectional(layer, **kwargs), x, **call)


@family("recurrent", 1.5)
def time_distributed(d):
    rank = d.one([3, 4, 4, 5])
    x = d.pick(rank=rank)
    d.width(x)
    inner = [lambda: L.Dense(d.size(1, 4), activation=d.activation()), lambda: L.LayerNormalization(), lambda: L.Dropout(0.3),
             lambda: L.Activation(d.activation()), lambda: L.BatchNormalization()]
    if rank >= 4:
        inner += [lambda: L.Flatten(), lambda: L.Permute(d.some(range(1, rank - 1), rank - 2)),
                  lambda: L.TimeDistributed(L.Dense(d.size(1, 4)))]
    if rank == 4:
        inner += [lambda: L.GlobalAveragePooling1D(), lambda: recurrent_layer(d)[1], lambda: L.Conv1D(d.size(1, 3), 1),
                  lambda: L.Bidirectional(L.GRU(2)), lambda: L.MaxPooling1D(1)]
    if rank == 3:
        inner += [lambda: keras.Sequential([L.Dense(3), L.Dense(2)]), lambda: L.RepeatVector(2)]
    d.apply(L.TimeDistributed(d.one(inner)(), **d.common(policy=0.02)), x)
