"""Writes the files of configs/ that are Keras JSON, with real Keras.

usage: make_configs.py CONFIGS_DIR      (needs: pip install keras tensorflow-cpu keras-hub)
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import keras_hub
from keras import layers as L


def encoder_block(x, d_model, heads, ff, activation="relu", rate=0.1, epsilon=1e-6):
    a = L.MultiHeadAttention(num_heads=heads, key_dim=d_model // heads)(x, x)
    a = L.Dropout(rate)(a)
    a = L.LayerNormalization(epsilon=epsilon)(x + a)
    f = L.Dense(ff, activation=activation)(a)
    f = L.Dense(d_model)(f)
    f = L.Dropout(rate)(f)
    return L.LayerNormalization(epsilon=epsilon)(a + f)


def encoder():
    i = keras.Input((50, 512))
    x = encoder_block(i, 512, 8, 2048)
    return keras.Model(i, L.Dense(512, activation="softmax")(x), name="encoder")


def encoder_decoder():
    d, heads, ff, vocabulary = 256, 4, 1024, 8000
    source = keras.Input((64,), dtype="int32", name="source")
    target = keras.Input((48,), dtype="int32", name="target")
    e = L.Embedding(vocabulary, d, mask_zero=True)(source)
    for _ in range(2):
        e = encoder_block(e, d, heads, ff)
    x = L.Embedding(vocabulary, d, mask_zero=True)(target)
    for n in range(2):
        a = L.MultiHeadAttention(heads, d // heads, name=f"self_attention_{n}")(x, x, use_causal_mask=True)
        x = L.LayerNormalization()(x + a)
        a = L.MultiHeadAttention(heads, d // heads, name=f"cross_attention_{n}")(x, e)
        x = L.LayerNormalization()(x + a)
        x = L.LayerNormalization()(x + L.Dense(d)(L.Dense(ff, "relu")(x)))
    return keras.Model([source, target], {"probabilities": L.Dense(vocabulary, "softmax")(x)}, name="encoder_decoder")


def lstm_attention():
    i = keras.Input((30, 16))
    x = L.LSTM(64, return_sequences=True)(i)
    a, scores = L.MultiHeadAttention(4, 16)(x, x, return_attention_scores=True)
    a = L.Dropout(0.1)(a)
    x = L.LayerNormalization()(x + a)
    return keras.Model(i, [L.Dense(1)(x[:, -1, :]), scores], name="lstm_attention")


def lstm_regression():
    i = keras.Input((10, 128))
    x = L.LSTM(64, return_sequences=True)(i)
    a = L.MultiHeadAttention(4, 16)(x, x)
    x = L.LayerNormalization()(x + L.Dropout(0.1)(a))
    return keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x)), name="lstm_regression")


def vit_tiny():
    d, heads = 192, 3
    i = keras.Input((224, 224, 3))
    x = L.Conv2D(d, 16, strides=16, name="patches")(i)
    x = L.Reshape((196, d))(x)
    x = x + keras_hub.layers.PositionEmbedding(196)(x)
    for _ in range(12):
        a = L.LayerNormalization(epsilon=1e-6)(x)
        x = x + L.MultiHeadAttention(heads, d // heads)(a, a)
        f = L.LayerNormalization(epsilon=1e-6)(x)
        x = x + L.Dense(d)(L.Dense(4 * d, "gelu")(f))
    x = L.GlobalAveragePooling1D()(L.LayerNormalization(epsilon=1e-6)(x))
    return keras.Model(i, L.Dense(1000, "softmax")(x), name="vit_tiny")


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    for name, build in {"encoder_keras": encoder, "encoder_decoder": encoder_decoder, "lstm_attention": lstm_attention,
                        "lstm_regression": lstm_regression,
                        "vit_tiny": vit_tiny}.items():
        keras.backend.clear_session()
        text = json.dumps(json.loads(build().to_json()), indent=1)
        (out / f"{name}.json").write_text(text + "\n")
