"""Models inside models."""
import keras
from keras import layers as L

from . import Draw, Unfit, draw_step, family


@family("models", 2)
def nested_functional(d):
    """A functional model with a few steps, called on tensors of this one, occasionally twice."""
    if d.depth >= 2:
        raise Unfit
    given = [d.pick(dtype="any", fresh=0.2, where=lambda x: x.shape[0] is None and len(x.shape) > 1) for _ in range(d.one([1, 1, 2]))]
    inner = Draw(d.rng, d)
    for x in given:
        inner.input(x.shape[1:], x.dtype, d.bounds.get(id(x)))
    for _ in range(d.integer(1, 3)):
        draw_step(inner)
    if any(x.shape[0] is not None for x in inner.inputs):
        raise Unfit
    given += [d.input(x.shape[1:], x.dtype, inner.bounds.get(id(x))) for x in inner.inputs[len(given):]]
    results = [x for x in inner.pool if id(x) not in inner.used] or inner.pool[-1:]
    results = results[:3]
    kwargs = {"name": f"inner_{d.integer(0, 9999)}"} if d.chance(0.5) else {}
    kind = d.one(["list", "list", "dict"])
    inputs = inner.inputs if len(inner.inputs) > 1 or d.chance(0.3) else inner.inputs[0]
    if kind == "dict" and len(inner.inputs) > 1:
        inputs = {x.name: x for x in inner.inputs}
        given = {x.name: y for x, y in zip(inner.inputs, given)}
    outputs = results if len(results) > 1 or d.chance(0.2) else results[0]
    if len(results) > 1 and d.chance(0.3):
        outputs = {f"out_{i}": x for i, x in enumerate(results)}
    model = keras.Model(inputs, outputs, **kwargs)
    if d.chance(0.1):
        model.trainable = False
    call = given if isinstance(inputs, (list, dict)) else given[0]
    d.add(model(call))
    if d.chance(0.3):
        again = keras.tree.map_structure(d.like, call)
        d.add(model(again))


def chain_layer(d, rank, masks):
    choices = [lambda: L.Dense(d.size(1, 5), activation=d.activation()), lambda: L.LayerNormalization(), lambda: L.Dropout(0.2),
               lambda: L.Activation(d.activation()), lambda: L.BatchNormalization(), lambda: L.ReLU(), lambda: L.Dense(d.size(1, 5), use_bias=False)]
    if rank == 3:
        choices += [lambda: L.LSTM(d.size(1, 3), return_sequences=True), lambda: L.Conv1D(d.size(1, 3), 1), lambda: L.Bidirectional(L.GRU(2, return_sequences=True))]
    return d.one(choices)()


@family("models", 1.5)
def nested_sequential(d):
    x = d.pick(rank=(2, 3, 3), where=lambda x: x.shape[0] is None)
    d.width(x)
    layers = [chain_layer(d, len(x.shape), False) for _ in range(d.integer(1, 4))]
    if d.chance(0.3):
        layers.insert(0, keras.Input(x.shape[1:], dtype=x.dtype))
    if d.chance(0.2):
        layers.append(keras.Sequential([L.Dense(d.size(1, 4)), L.ReLU()]))
    if len(x.shape) == 3 and d.chance(0.3):
        layers.append(L.GlobalAveragePooling1D())
    model = keras.Sequential(layers, **({"name": f"chain_{d.integer(0, 999)}"} if d.chance(0.4) else {}))
    d.apply(model, x)


@family("models", 1)
def embedding_then_sequential(d):
    ids, bound = d.tokens()
    d.apply(keras.Sequential([L.Embedding(bound, d.size(2, 4), mask_zero=d.chance(0.7)), chain_layer(d, 3, True), chain_layer(d, 3, True)]), ids)


def whole_sequential(d):
    """A model that is a Sequential."""
    rank = d.one([2, 3, 3])
    shape = [d.size(1, 5) for _ in range(rank - 1)]
    layers = [chain_layer(d, rank, False) for _ in range(d.integer(1, 5))]
    if d.chance(0.7):
        layers.insert(0, keras.Input(shape))
    if rank == 3 and d.chance(0.5):
        layers.append(d.one([L.GlobalAveragePooling1D, L.Flatten, L.GlobalMaxPooling1D])())
    model = keras.Sequential(layers, **({"name": f"whole_{d.integer(0, 999)}"} if d.chance(0.4) else {}))
    if not model.built:
        model.build((None, *shape))
    return model


def structured(d, tensors, names):
    """Inputs or outputs as single tensors, a list, a dict, or lists in dicts."""
    if len(tensors) == 1 and d.chance(0.7):
        return tensors[0]
    kind = d.one(["list", "list", "list", "dict", "dict", "nested"])
    if kind == "dict":
        return dict(zip(names, tensors))
    if kind == "nested" and len(tensors) > 2:
        return d.one([lambda: {names[0]: tensors[0], names[1]: tensors[1:]}, lambda: [tensors[0], tensors[1:]],
                      lambda: {names[0]: tensors[0], names[1]: dict(zip(names[1:], tensors[1:]))}])()
    return tensors


def model(d, steps, only=None):
    """Returns a whole model, and a description of its steps."""
    if only is None and d.chance(0.05):
        return whole_sequential(d), ["whole_sequential"]
    done = [draw_step(d, only) for _ in range(steps)]
    results = [x for x in d.pool if id(x) not in d.used]
    results += [x for x in d.pool if id(x) in d.used and x not in d.inputs and d.chance(0.1)]
    results = [x for x in results if not any(x is y for y in d.inputs)] or d.pool[-1:]
    results = results[-6:]
    names = [d.one(["y", "out", "Logits", "a_b", "scores"]) + str(i) for i in range(len(results))]
    if d.chance(0.5):
        names.reverse()
    outputs = structured(d, results, names)
    inputs = structured(d, d.inputs, [x.name for x in d.inputs] if d.chance(0.7) else [f"k{i}" for i in range(len(d.inputs))])
    kwargs = {"name": d.one(["model", "Encoder.v2", "a_model_with_a_very_long_name_indeed_which_no_column_holds"])} if d.chance(0.3) else {}
    return keras.Model(inputs, outputs, **kwargs), done
