"""Time series, audio, tables and recommendations with the custom layers of keras.io/examples."""
import keras
from keras import layers, ops

WIDTH, HEADS = 16, 2


def timeseries_classification_transformer():
    """The only example without a custom layer."""
    inputs = keras.Input(shape=(30, 1))
    x = inputs
    for _ in range(2):
        y = layers.MultiHeadAttention(key_dim=8, num_heads=HEADS, dropout=0.25)(x, x)
        y = layers.LayerNormalization(epsilon=1e-6)(layers.Dropout(0.25)(y))
        res = y + x
        y = layers.Conv1D(filters=4, kernel_size=1, activation="relu")(res)
        y = layers.Conv1D(filters=inputs.shape[-1], kernel_size=1)(layers.Dropout(0.25)(y))
        x = layers.LayerNormalization(epsilon=1e-6)(y) + res
    x = layers.GlobalAveragePooling1D(data_format="channels_last")(x)
    return keras.Model(inputs, layers.Dense(2, activation="softmax")(layers.Dense(16, activation="relu")(x)))


@keras.saving.register_keras_serializable()
class Time2Vec(layers.Layer):
    def __init__(self, kernel_size, **kwargs):
        super().__init__(**kwargs)
        self.k = kernel_size

    def build(self, input_shape):
        self.wb = self.add_weight(name="wb", shape=(input_shape[1],), initializer="uniform")
        self.bb = self.add_weight(name="bb", shape=(input_shape[1],), initializer="uniform")
        self.wa = self.add_weight(name="wa", shape=(1, input_shape[1], self.k), initializer="uniform")
        self.ba = self.add_weight(name="ba", shape=(1, input_shape[1], self.k), initializer="uniform")

    def call(self, x):
        x = ops.mean(x, axis=-1)
        bias = ops.expand_dims(self.wb * x + self.bb, -1)
        wgts = ops.sin(ops.expand_dims(x, -1) * self.wa + self.ba)
        return ops.concatenate([bias, wgts], -1)

    def get_config(self):
        return {**super().get_config(), "kernel_size": self.k}


@keras.saving.register_keras_serializable()
class SeriesEncoder(layers.Layer):
    def __init__(self, head_size=8, num_heads=HEADS, ff_dim=12, **kwargs):
        super().__init__(**kwargs)
        self.attention = layers.MultiHeadAttention(num_heads, head_size)
        self.norms = [layers.LayerNormalization(epsilon=1e-6), layers.LayerNormalization(epsilon=1e-6)]
        self.ff_dim = ff_dim

    def build(self, shape):
        self.convolutions = [layers.Conv1D(self.ff_dim, 1, activation="relu"), layers.Conv1D(shape[-1], 1)]
        self.attention.build(shape, shape)
        for norm in self.norms:
            norm.build(shape)
        self.convolutions[0].build(shape)
        self.convolutions[1].build((*shape[:-1], self.ff_dim))

    def call(self, x):
        x = self.norms[0](x + self.attention(x, x))
        y = x
        for convolution in self.convolutions:
            y = convolution(y)
        return self.norms[1](x + y)


def stock_forecast_with_time2vec():
    inputs = keras.Input((20, 3))
    x = layers.Concatenate()([inputs, Time2Vec(2)(inputs)])
    for _ in range(2):
        x = SeriesEncoder()(x)
    return keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))


@keras.saving.register_keras_serializable()
class GatedLinearUnit(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.linear, self.sigmoid = layers.Dense(units), layers.Dense(units, activation="sigmoid")

    def call(self, inputs):
        return self.linear(inputs) * self.sigmoid(inputs)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable()
class GatedResidualNetwork(layers.Layer):
    def __init__(self, units, dropout_rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.elu_dense, self.linear_dense = layers.Dense(units, activation="elu"), layers.Dense(units)
        self.dropout = layers.Dropout(dropout_rate)
        self.gated_linear_unit = GatedLinearUnit(units)
        self.layer_norm = layers.LayerNormalization()
        self.project = layers.Dense(units)

    def call(self, inputs):
        x = self.dropout(self.linear_dense(self.elu_dense(inputs)))
        if inputs.shape[-1] != self.units:
            inputs = self.project(inputs)
        return self.layer_norm(inputs + self.gated_linear_unit(x))

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable()
class VariableSelection(layers.Layer):
    """Variable selection of the temporal fusion transformer; a list of layers, one for each feature."""

    def __init__(self, num_features, units, **kwargs):
        super().__init__(**kwargs)
        self.num_features, self.units = num_features, units
        self.grns = [GatedResidualNetwork(units) for _ in range(num_features)]
        self.grn_concat = GatedResidualNetwork(units)
        self.softmax = layers.Dense(units=num_features, activation="softmax")

    def call(self, inputs):
        v = ops.concatenate(inputs, axis=-1)
        v = ops.expand_dims(self.softmax(self.grn_concat(v)), axis=-1)
        x = ops.stack([grn(inputs[i]) for i, grn in enumerate(self.grns)], axis=-2)
        return ops.squeeze(ops.matmul(ops.transpose(v, (0, 1, 3, 2)), x), axis=-2)

    def get_config(self):
        return {**super().get_config(), "num_features": self.num_features, "units": self.units}


def temporal_fusion_transformer():
    inputs = [keras.Input((10, 4), name=f"series_{i}") for i in range(3)]
    x = VariableSelection(3, WIDTH)(inputs)
    x = layers.LSTM(WIDTH, return_sequences=True)(x)
    attended, scores = layers.MultiHeadAttention(HEADS, 8)(x, x, use_causal_mask=True, return_attention_scores=True)
    x = GatedResidualNetwork(WIDTH)(x + attended)
    return keras.Model(inputs, [layers.Dense(3, name="quantiles")(x), scores])


@keras.saving.register_keras_serializable()
class SpectrogramPatches(layers.Layer):
    """The audio spectrogram transformer: overlapping patches of a log-mel spectrogram, two tokens in front."""

    def __init__(self, width=WIDTH, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.projection = layers.Conv2D(width, 4, strides=3)

    def build(self, shape):
        self.projection.build((*shape, 1))
        h, w = (shape[1] - 4) // 3 + 1, (shape[2] - 4) // 3 + 1
        self.tokens = self.add_weight(shape=(2, self.width), initializer="random_normal", name="tokens")
        self.positions = self.add_weight(shape=(h * w + 2, self.width), initializer="random_normal", name="positions")

    def call(self, x):
        x = self.projection(ops.expand_dims(x, -1))
        x = ops.reshape(x, (ops.shape(x)[0], -1, self.width))
        tokens = ops.repeat(ops.expand_dims(self.tokens, 0), ops.shape(x)[0], axis=0)
        return ops.concatenate([tokens, x], axis=1) + self.positions

    def get_config(self):
        return {**super().get_config(), "width": self.width}


def audio_spectrogram_transformer():
    inputs = keras.Input((25, 16), name="log_mel")
    x = SpectrogramPatches()(inputs)
    y = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(HEADS, 8)(y, y)
    return keras.Model(inputs, layers.Dense(7)(ops.mean(x[:, :2], axis=1)))


@keras.saving.register_keras_serializable()
class ConformerBlock(layers.Layer):
    """Speech: two halves of a feed-forward layer around attention and a gated convolution; attributes in a dict."""

    def __init__(self, width=WIDTH, kernel=5, **kwargs):
        super().__init__(**kwargs)
        self.ffs = {"first": self.feed_forward(width), "last": self.feed_forward(width)}
        self.norms = [layers.LayerNormalization() for _ in range(3)]
        self.attention = layers.MultiHeadAttention(HEADS, 8)
        self.point_in, self.point_out = layers.Conv1D(2 * width, 1), layers.Conv1D(width, 1)
        self.depthwise = layers.DepthwiseConv1D(kernel, padding="same")
        self.batch_norm = layers.BatchNormalization()

    @staticmethod
    def feed_forward(width):
        return keras.Sequential([layers.LayerNormalization(), layers.Dense(2 * width, activation="swish"), layers.Dense(width)])

    def call(self, x, training=False):
        x = x + 0.5 * self.ffs["first"](x)
        y = self.norms[0](x)
        x = x + self.attention(y, y, training=training)
        y = ops.glu(self.point_in(self.norms[1](x)), axis=-1)
        x = x + self.point_out(ops.silu(self.batch_norm(self.depthwise(y), training=training)))
        return self.norms[2](x + 0.5 * self.ffs["last"](x))


def conformer():
    inputs = keras.Input((24, 10), name="features")
    x = layers.Conv1D(WIDTH, 3, strides=2, padding="same")(inputs)
    for _ in range(2):
        x = ConformerBlock()(x)
    return keras.Model(inputs, layers.Dense(12)(x))


@keras.saving.register_keras_serializable()
def scaled_tanh(x):
    return 1.7159 * ops.tanh(2.0 * x / 3.0)


@keras.saving.register_keras_serializable()
class PositionedSequence(layers.Layer):
    """The behavior sequence transformer: items that a user has seen, with their ratings, before the target item."""

    def __init__(self, items=20, width=WIDTH, length=5, **kwargs):
        super().__init__(**kwargs)
        self.items = layers.Embedding(items, width)
        self.positions = layers.Embedding(length, width)
        self.length = length

    def call(self, inputs):
        sequence, ratings = inputs["sequence"], inputs["ratings"]
        x = self.items(sequence) + self.positions(ops.arange(0, self.length, 1))
        return x * ops.expand_dims(ratings, -1)


def behavior_sequence_transformer():
    """A dict of inputs for one layer, and a custom activation."""
    inputs = {"sequence": keras.Input((5,), dtype="int32", name="sequence"), "ratings": keras.Input((5,), name="ratings")}
    x = PositionedSequence()(inputs)
    y = layers.MultiHeadAttention(HEADS, WIDTH, dropout=0.1)(x, x)
    x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(y)]))
    x = layers.Dense(20, activation=scaled_tanh)(layers.Flatten()(x))
    return keras.Model(inputs, layers.Dense(1)(x))


MODELS = [timeseries_classification_transformer, stock_forecast_with_time2vec, temporal_fusion_transformer,
          audio_spectrogram_transformer, conformer, behavior_sequence_transformer]
