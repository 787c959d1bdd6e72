"""The models that Keras's documentation trains, in a small size, built from layers of Keras and KerasHub.

`MODELS` has them by name. Each function returns an uncompiled model; `COMPILED` has the loss and the optimizer.
Custom layers of the documentation are written as functions of built-in ones. Dropout has seeds, so that its draws are known.
"""
import keras
import keras_hub
from keras import layers, ops

MODELS, COMPILED = {}, {}
VOCABULARY, LENGTH, CLASSES = 20, 8, 3


def model(loss, optimizer=None):
    def add(function):
        MODELS[function.__name__] = function
        COMPILED[function.__name__] = (loss, optimizer or (lambda: keras.optimizers.Adam(1e-3)))
        return function
    return add


def classes(**more):
    return keras.losses.SparseCategoricalCrossentropy(**more)


def dropout(rate, x, seed=7):
    return layers.Dropout(rate, seed=seed)(x)


def positions_of(tokens, dim):
    """A position embedding, like TokenAndPositionEmbedding in the documentation."""
    places = ops.cumsum(ops.ones_like(tokens), axis=-1) - 1
    return layers.Embedding(VOCABULARY, dim)(tokens) + layers.Embedding(LENGTH, dim)(places)


def encoder_block(x, heads, head_size, dense_dim, seed=1, rate=0.1):
    """Attention and a feed-forward network, each with a residual and then a normalization."""
    width = x.shape[-1]
    y = layers.MultiHeadAttention(heads, head_size)(x, x)
    x = layers.LayerNormalization(epsilon=1e-6)(x + dropout(rate, y, seed))
    y = layers.Dense(width)(layers.Dense(dense_dim, activation="relu")(x))
    return layers.LayerNormalization(epsilon=1e-6)(x + dropout(rate, y, seed + 1))


def mlp(x, units, seed, rate=0.1, activation="gelu"):
    for i, size in enumerate(units):
        x = dropout(rate, layers.Dense(size, activation=activation)(x), seed + i)
    return x


@model(classes())
def text_classification():
    x = keras.Input((LENGTH,), dtype="int32", name="tokens")
    y = encoder_block(positions_of(x, 16), 2, 8, 24)
    y = layers.GlobalAveragePooling1D()(y)
    y = dropout(0.1, layers.Dense(12, activation="relu")(dropout(0.1, y, 3)), 4)
    return keras.Model(x, layers.Dense(CLASSES, activation="softmax")(y))


@model(classes(from_logits=True), lambda: keras.optimizers.AdamW(1e-3, weight_decay=1e-4))
def vision_transformer():
    x = keras.Input((16, 16, 3), name="image")
    y = ops.image.extract_patches(layers.Rescaling(1.0 / 255)(x), 4)
    y = layers.Reshape((16, 48))(y)
    y = layers.Dense(16)(y)
    places = ops.cumsum(ops.ones_like(y[..., 0], dtype="int32"), axis=-1) - 1
    y = y + layers.Embedding(16, 16)(places)
    for block in range(2):
        z = layers.LayerNormalization(epsilon=1e-6)(y)
        y = layers.Add()([layers.MultiHeadAttention(2, 8, dropout=0.0)(z, z), y])
        z = layers.LayerNormalization(epsilon=1e-6)(y)
        y = layers.Add()([mlp(z, (32, 16), 10 * block + 20), y])
    y = layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(y))
    y = mlp(dropout(0.5, y, 41), (24, 12), 42, 0.5)
    return keras.Model(x, layers.Dense(CLASSES)(y))


def windows_of(x, size):
    """(B, H, W, C) → (B·windows, size², C)"""
    height, width, channels = x.shape[1:]
    x = ops.reshape(x, (-1, height // size, size, width // size, size, channels))
    return ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, size * size, channels))


def from_windows(x, size, height, width):
    channels = x.shape[-1]
    x = ops.reshape(x, (-1, height // size, width // size, size, size, channels))
    return ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, height, width, channels))


@model(keras.losses.CategoricalCrossentropy(label_smoothing=0.1), lambda: keras.optimizers.AdamW(1e-3, weight_decay=1e-4))
def swin():
    x = keras.Input((16, 16, 3), name="image")
    y = layers.Dense(16)(layers.Reshape((8, 8, 12))(ops.image.extract_patches(layers.Rescaling(1.0 / 255)(x), 2)))
    for block, shift in enumerate((0, 2)):
        z = layers.LayerNormalization(epsilon=1e-5)(y)
        z = ops.roll(z, (-shift, -shift), (1, 2)) if shift else z
        z = windows_of(z, 4)
        z = from_windows(layers.MultiHeadAttention(2, 8)(z, z), 4, 8, 8)
        z = ops.roll(z, (shift, shift), (1, 2)) if shift else z
        y = y + z
        y = y + mlp(layers.LayerNormalization(epsilon=1e-5)(y), (32, 16), 10 * block + 3, 0.03)
    # Patches are merged two by two.
    merged = ops.concatenate([y[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], axis=-1)
    y = layers.Dense(32, use_bias=False)(layers.Reshape((16, 64))(merged))
    y = layers.GlobalAveragePooling1D()(y)
    return keras.Model(x, layers.Dense(CLASSES, activation="softmax")(y))


@model(classes())
def time_series():
    x = keras.Input((20, 1), name="series")
    y = x
    for block in range(2):
        z = layers.MultiHeadAttention(key_dim=8, num_heads=2, dropout=0.0)(y, y)
        z = layers.LayerNormalization(epsilon=1e-6)(dropout(0.25, z, 10 * block + 1))
        residual = z + y
        z = layers.Conv1D(filters=4, kernel_size=1, activation="relu")(residual)
        z = layers.Conv1D(filters=1, kernel_size=1)(dropout(0.25, z, 10 * block + 2))
        y = layers.LayerNormalization(epsilon=1e-6)(z) + residual
    y = layers.GlobalAveragePooling1D(data_format="channels_first")(y)
    y = dropout(0.4, layers.Dense(16, activation="relu")(y), 33)
    return keras.Model(x, layers.Dense(CLASSES, activation="softmax")(y))


def decoder_block(y, memory, heads, head_size, dense_dim, seed=51):
    z = layers.MultiHeadAttention(heads, head_size)(y, y, use_causal_mask=True)
    y = layers.LayerNormalization()(y + z)
    z = layers.MultiHeadAttention(heads, head_size)(y, memory)
    y = layers.LayerNormalization()(y + z)
    z = layers.Dense(y.shape[-1])(layers.Dense(dense_dim, activation="relu")(y))
    return layers.LayerNormalization()(y + dropout(0.1, z, seed))


@model(classes(), lambda: keras.optimizers.RMSprop(1e-3))
def translation():
    source = keras.Input((LENGTH,), dtype="int64", name="encoder_inputs")
    target = keras.Input((LENGTH,), dtype="int64", name="decoder_inputs")
    memory = encoder_block(positions_of(source, 16), 2, 16, 24)
    y = decoder_block(positions_of(target, 16), memory, 2, 16, 24)
    return keras.Model([source, target], layers.Dense(VOCABULARY, activation="softmax")(dropout(0.5, y, 61)))


@model(classes())
def translation_of_keras_hub():
    source = keras.Input((LENGTH,), dtype="int32", name="encoder_inputs")
    target = keras.Input((LENGTH,), dtype="int32", name="decoder_inputs")
    embed = {"vocabulary_size": VOCABULARY, "sequence_length": LENGTH, "embedding_dim": 16}
    memory = keras_hub.layers.TransformerEncoder(24, 2)(keras_hub.layers.TokenAndPositionEmbedding(**embed)(source))
    y = keras_hub.layers.TransformerDecoder(24, 2)(
        decoder_sequence=keras_hub.layers.TokenAndPositionEmbedding(**embed)(target), encoder_sequence=memory)
    return keras.Model([source, target], layers.Dense(VOCABULARY, activation="softmax")(dropout(0.5, y, 61)))


@model(classes(from_logits=True))
def captioning():
    image = keras.Input((16, 16, 3), name="image")
    caption = keras.Input((LENGTH,), dtype="int32", name="caption")
    y = layers.Rescaling(1.0 / 127.5, offset=-1)(image)
    for filters in (8, 12):
        y = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(y)
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
    y = layers.Reshape((-1, 12))(y)
    y = layers.Dense(16, activation="relu")(layers.LayerNormalization()(y))
    y = layers.LayerNormalization()(y + layers.MultiHeadAttention(1, 16, dropout=0.0)(y, y))
    x = layers.Embedding(VOCABULARY, 16, mask_zero=True)(caption)
    x = x * ops.sqrt(ops.cast(16, x.dtype))
    z = layers.MultiHeadAttention(2, 16, dropout=0.0)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization()(x + z)
    z = layers.MultiHeadAttention(2, 16, dropout=0.0)(x, y)
    x = layers.LayerNormalization()(x + z)
    z = layers.Dense(16)(dropout(0.3, layers.Dense(24, activation="relu")(x), 71))
    x = dropout(0.5, layers.LayerNormalization()(x + z), 72)
    return keras.Model([image, caption], layers.Dense(VOCABULARY)(x))


@model(keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1))
def speech():
    sound = keras.Input((40, 12), name="source")
    text = keras.Input((LENGTH,), dtype="int32", name="target")
    y = sound
    for _ in range(3):
        y = layers.Conv1D(16, 11, strides=2, padding="same", activation="relu")(y)
    y = encoder_block(y, 2, 16, 24, 81)
    x = decoder_block(positions_of(text, 16), y, 2, 16, 24, 83)
    return keras.Model([sound, text], layers.Dense(VOCABULARY)(x))


@model(keras.losses.MeanSquaredError(), lambda: keras.optimizers.Adagrad(0.01))
def recommender():
    movies = keras.Input((LENGTH,), dtype="int32", name="sequence_movie_ids")
    ratings = keras.Input((LENGTH,), name="sequence_ratings")
    target = keras.Input((1,), dtype="int32", name="target_movie_id")
    age = keras.Input((1,), name="age")
    table = layers.Embedding(VOCABULARY, 15)
    places = layers.Embedding(LENGTH, 15)(ops.cumsum(ops.ones_like(movies), axis=-1) - 1)
    y = layers.Multiply()([table(movies) + places, layers.Reshape((LENGTH, 1))(ratings)])
    y = layers.Concatenate(axis=1)([y, table(target)])
    z = dropout(0.1, layers.MultiHeadAttention(3, 15, dropout=0.1, seed=91)(y, y), 92)
    y = layers.LayerNormalization()(layers.Add()([y, z]))
    z = layers.Dense(units=15)(layers.LeakyReLU()(y))
    y = layers.LayerNormalization()(layers.Add()([y, dropout(0.1, z, 93)]))
    y = layers.concatenate([layers.Flatten()(y), age])
    for i, units in enumerate((24, 12)):
        y = layers.BatchNormalization()(layers.Dense(units)(y))
        y = dropout(0.1, layers.LeakyReLU()(y), 94 + i)
    return keras.Model([movies, ratings, target, age], layers.Dense(1)(y))


@model(classes(from_logits=True))
def gpt():
    x = keras.Input((LENGTH,), dtype="int32", name="tokens")
    y = positions_of(x, 16)
    z = layers.MultiHeadAttention(2, 16)(y, y, use_causal_mask=True)
    y = layers.LayerNormalization(epsilon=1e-6)(y + dropout(0.1, z, 101))
    z = layers.Dense(16)(layers.Dense(24, activation="relu")(y))
    y = layers.LayerNormalization(epsilon=1e-6)(y + dropout(0.1, z, 102))
    return keras.Model(x, layers.Dense(VOCABULARY)(y))


@model(classes(from_logits=True))
def gpt_of_keras_hub():
    x = keras.Input((LENGTH,), dtype="int32", name="tokens")
    y = keras_hub.layers.TokenAndPositionEmbedding(VOCABULARY, LENGTH, 16, mask_zero=True)(x)
    for _ in range(2):
        y = keras_hub.layers.TransformerDecoder(num_heads=3, intermediate_dim=24)(y)
    return keras.Model(x, layers.Dense(VOCABULARY)(y))


@model(classes())
def masked_language_model():
    x = keras.Input((LENGTH,), dtype="int64", name="tokens")
    y = positions_of(x, 16)
    for block in range(2):
        z = dropout(0.1, layers.MultiHeadAttention(2, 8)(y, y, y), 10 * block + 111)
        z = y = layers.LayerNormalization(epsilon=1e-6)(y + z)
        for units, activation in ((24, "relu"), (16, None)):
            z = layers.Dense(units, activation=activation)(z)
        y = layers.LayerNormalization(epsilon=1e-6)(y + dropout(0.1, z, 10 * block + 112))
    return keras.Model(x, layers.Dense(VOCABULARY, activation="softmax")(y))
