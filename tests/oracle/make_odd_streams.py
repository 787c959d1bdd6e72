"""Writes tests/data/probe/odd/*.json: valid Keras models whose streams or logits have other shapes than those of language
models. Needs Keras."""
import json
from pathlib import Path

import keras
from keras import layers

FOLDER = Path(__file__).parents[1] / "data/probe/odd"


def normed(x):
    return layers.LayerNormalization()(x)


def block(x, pools_keys=False):
    """Adds attention and an MLP to a stream. The keys may be averages of two positions."""
    h = normed(x)
    keys = layers.AveragePooling1D(2)(h) if pools_keys else h
    x = layers.Add()([x, layers.MultiHeadAttention(2, 4)(h, keys)])
    h = layers.Dense(8, activation="relu")(normed(x))
    return layers.Add()([x, layers.Dense(x.shape[-1])(h)])


def write(name, body, length=8, width=8, twice=False):
    keras.utils.clear_session()
    ids = layers.Input((length,), dtype="int32", name="ids")
    read = layers.Concatenate()([ids, ids]) if twice else ids
    model = keras.Model(ids, body(layers.Embedding(20, width)(read)), name=name)
    config = json.loads(model.to_json())
    (FOLDER / f"{name}.json").write_text(json.dumps(config, separators=(",", ":")) + "\n")


FOLDER.mkdir(parents=True, exist_ok=True)
write("plain", lambda x: layers.Dense(20)(normed(block(x))))
write("narrow_logits", lambda x: layers.Dense(3)(normed(block(x))))
write("other_widths", lambda x: layers.Dense(20)(normed(block(layers.Dense(8)(block(x))))), width=16)
write("other_lengths", lambda x: layers.Dense(20)(normed(block(layers.AveragePooling1D(2)(block(x))))))
write("longer_logits", lambda x: layers.Dense(20)(normed(block(layers.UpSampling1D(2)(block(x))))))
write("logits_of_rank_4", lambda x: layers.Reshape((8, 4, 5))(layers.Dense(20)(normed(block(x)))))
write("fewer_keys", lambda x: layers.Dense(20)(normed(block(x, pools_keys=True))))
write("tokens_read_twice", lambda x: layers.Dense(3)(layers.GlobalAveragePooling1D()(block(x))), twice=True)
