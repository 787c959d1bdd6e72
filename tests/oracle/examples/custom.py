"""Ways to write custom layers, each as small as possible: each function returns a model."""
import keras
from keras import layers, ops

registered = keras.saving.register_keras_serializable(package="examples")
VOCABULARY, LENGTH, WIDTH, HEADS = 30, 10, 8, 2


class LayerScale(layers.Layer):
    """Not registered, and without get_config()."""

    def build(self, input_shape):
        self.gamma = self.add_weight(name="gamma", shape=(input_shape[-1],), initializer="ones")

    def call(self, x):
        return self.gamma * x


@registered
class HandMadeAttention(layers.Layer):
    """Heads by reshaping to the sizes of the input, and weights in a dict."""

    def __init__(self, heads, causal=False, **kwargs):
        super().__init__(**kwargs)
        self.heads, self.causal = heads, causal
        self.supports_masking = True

    def build(self, input_shape):
        width = input_shape[-1]
        self.kernels = {name: self.add_weight(name=name, shape=(width, width)) for name in ("query", "key", "value", "out")}

    def call(self, x, mask=None, return_scores=False):
        batch, length, width = ops.shape(x)
        split = lambda y: ops.transpose(ops.reshape(y, (batch, length, self.heads, width // self.heads)), (0, 2, 1, 3))
        query, key, value = (split(ops.matmul(x, self.kernels[name])) for name in ("query", "key", "value"))
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / ops.sqrt(ops.cast(width // self.heads, x.dtype))
        if self.causal:
            positions = ops.arange(length)
            scores = ops.where(positions[:, None] >= positions, scores, -1e9)
        if mask is not None:
            scores = ops.where(mask[:, None, None, :], scores, -1e9)
        scores = ops.softmax(scores)
        out = ops.reshape(ops.transpose(ops.matmul(scores, value), (0, 2, 1, 3)), (batch, length, width))
        out = ops.matmul(out, self.kernels["out"])
        return (out, scores) if return_scores else out

    def get_config(self):
        return {**super().get_config(), "heads": self.heads, "causal": self.causal}


@registered
class Block(layers.Layer):
    """Custom layers within a custom layer, a list of layers, a loop, a condition on a shape."""

    def __init__(self, depth=2, causal=False, **kwargs):
        super().__init__(**kwargs)
        self.depth, self.causal = depth, causal
        self.supports_masking = True
        self.attentions = [HandMadeAttention(HEADS, causal, name=f"attention_{i}") for i in range(depth)]
        self.norms = [layers.LayerNormalization(name=f"norm_{i}") for i in range(depth)]
        self.scales = [LayerScale(name=f"scale_{i}") for i in range(depth)]

    def build(self, input_shape):
        for layer in (*self.attentions, *self.norms, *self.scales):
            layer.build(input_shape)
        self.wide = layers.Dense(input_shape[-1], name="wide") if input_shape[-1] > 4 else None
        if self.wide:
            self.wide.build(input_shape)

    def compute_output_shape(self, input_shape):
        return input_shape

    def call(self, x, training=None):
        for attention, norm, scale in zip(self.attentions, self.norms, self.scales):
            x = x + scale(attention(norm(x)), training=training)
        return self.wide(x) if x.shape[-1] > 4 else x

    def get_config(self):
        return {**super().get_config(), "depth": self.depth, "causal": self.causal}


@registered
class Positions(layers.Layer):
    def build(self, input_shape):
        self.table = self.add_weight(name="table", shape=(LENGTH, input_shape[-1]))

    def call(self, x):
        return x + self.table[: ops.shape(x)[1]]


@registered
class ByWeights(layers.Layer):
    """Computes with self.weights, not with attributes, and with a variable that is not trainable."""

    def build(self, input_shape):
        self.add_weight(name="kernel", shape=(input_shape[-1], 4))
        self.add_weight(name="bias", shape=(4,))
        self.count = self.add_weight(name="count", shape=(), initializer="ones", trainable=False)

    def call(self, x):
        kernel, bias = self.trainable_weights
        return bias + ops.matmul(x, kernel) * self.count


@registered
class MaskedMean(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0], *input_shape[2:])

    def call(self, x, mask=None):
        if mask is None:
            return ops.mean(x, axis=1)
        weights = ops.cast(mask, x.dtype)[..., None]
        return ops.sum(x * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1.0)


@registered
class Statistics(layers.Layer):
    """Gives a dict of tensors; `power` and `scale` are arguments of its calls."""

    def call(self, x, other=None, power=2, scale=None):
        x = x if other is None else x - other
        x = x if scale is None else x * scale
        return {"mean": ops.mean(x, axis=1), "moment": ops.mean(x**power, axis=1)}


@registered
class CrossNetwork(layers.Layer):
    """A recommender's cross network: x0 · (x w) + b + x, in layers of one kernel."""

    def __init__(self, depth=3, **kwargs):
        super().__init__(**kwargs)
        self.depth = depth

    def build(self, input_shape):
        self.kernels = [self.add_weight(name=f"kernel_{i}", shape=(input_shape[-1], input_shape[-1])) for i in range(self.depth)]
        self.biases = tuple(self.add_weight(name=f"bias_{i}", shape=(input_shape[-1],)) for i in range(self.depth))

    def call(self, x):
        first = x
        for kernel, bias in zip(self.kernels, self.biases):
            x = first * (x @ kernel + bias) + x
        return x

    def get_config(self):
        return {**super().get_config(), "depth": self.depth}


@registered
def squared_relu(x):
    return ops.square(ops.relu(x))


@registered
class Orthant(keras.initializers.Initializer):
    def __call__(self, shape, dtype=None):
        return ops.ones(shape, dtype) * 0.1

    def get_config(self):
        return {}


def text_classification_with_nested_blocks():
    inputs = keras.Input((LENGTH,), dtype="int32", name="tokens")
    x = layers.Embedding(VOCABULARY, WIDTH, mask_zero=True)(inputs)
    x = MaskedMean()(Block(depth=2)(Positions()(x)))
    return keras.Model(inputs, layers.Dense(2, activation="softmax")(x))


def language_model_of_open_length():
    inputs = keras.Input((None,), dtype="int32", name="tokens")
    x = layers.Embedding(VOCABULARY, WIDTH)(inputs)
    for index in range(2):
        x = x + HandMadeAttention(HEADS, causal=True, name=f"attention_{index}")(x)
        x = x + layers.Dense(WIDTH, activation=squared_relu, kernel_initializer=Orthant())(x)
    return keras.Model(inputs, layers.Dense(VOCABULARY)(x))


def attention_with_scores():
    inputs = keras.Input((6, WIDTH), name="series")
    x, scores = HandMadeAttention(HEADS)(inputs, return_scores=True)
    return keras.Model(inputs, {"logits": layers.Dense(3)(MaskedMean()(x)), "scores": scores})


def series_statistics():
    inputs, other = keras.Input((7, 4), name="now"), keras.Input((7, 4), name="before")
    told = Statistics()(inputs, other=other, power=3, scale=0.5)
    return keras.Model([inputs, other], [layers.Dense(2)(told["mean"]), told["moment"]])


def kernel_by_weights():
    inputs = keras.Input((5, WIDTH), name="x")
    return keras.Model(inputs, ByWeights()(inputs))


def siamese_with_a_shared_block():
    first, second = keras.Input((LENGTH,), dtype="int32", name="first"), keras.Input((LENGTH,), dtype="int32", name="second")
    embedding, block, pool = layers.Embedding(VOCABULARY, WIDTH), Block(depth=1), MaskedMean()
    vectors = [pool(block(embedding(tokens))) for tokens in (first, second)]
    return keras.Model({"first": first, "second": second}, layers.Dot(axes=1, normalize=True)(vectors))


def recommender_with_cross_network():
    inputs = {name: keras.Input((1,), dtype="int32", name=name) for name in ("user", "movie")}
    inputs["features"] = keras.Input((4,), name="features")
    embedded = [ops.squeeze(layers.Embedding(12, 6)(inputs[name]), 1) for name in ("user", "movie")]
    x = CrossNetwork()(ops.concatenate([*embedded, inputs["features"]], axis=-1))
    return keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))


def time_distributed_custom_layer():
    inputs = keras.Input((4, 5, WIDTH), name="frames")
    x = layers.TimeDistributed(Block(depth=1))(inputs)
    return keras.Model(inputs, layers.TimeDistributed(MaskedMean())(x))


def images_of_open_size():
    inputs = keras.Input((None, None, 3), name="image")
    x = layers.Conv2D(WIDTH, 3, strides=2, padding="same", activation=squared_relu)(inputs)
    x = LayerScale()(x)
    x = layers.GlobalAveragePooling2D()(x + layers.Conv2D(WIDTH, 1)(x))
    return keras.Model(inputs, layers.Dense(3)(x))


class Trainer(keras.Model):
    """A functional model with a train_step of its own."""

    def train_step(self, data):
        return super().train_step(data)


def functional_model_of_a_subclass():
    inputs = keras.Input((LENGTH,), dtype="int32", name="tokens")
    x = Block(depth=1, causal=True)(layers.Embedding(VOCABULARY, WIDTH)(inputs))
    model = Trainer(inputs, layers.Dense(VOCABULARY)(x))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


@registered
class Classifier(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embedding, self.block = layers.Embedding(VOCABULARY, WIDTH), Block(depth=1)
        self.head = keras.Sequential([layers.Dense(6, "relu"), layers.Dropout(0.5), layers.Dense(2)])

    def call(self, inputs, training=False):
        x = self.block(self.embedding(inputs), training=training)
        return self.head(ops.mean(x, axis=1), training=training)


def subclassed_classifier():
    model = Classifier()
    model(ops.zeros((1, LENGTH), "int32"))
    return model


@registered
class Captioner(keras.Model):
    """Called with two arguments."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.look, self.embedding = layers.Conv2D(WIDTH, 4, strides=4), layers.Embedding(VOCABULARY, WIDTH)
        self.attention, self.head = layers.MultiHeadAttention(HEADS, 4), layers.Dense(VOCABULARY)

    def call(self, images, tokens):
        seen = self.look(images)
        seen = ops.reshape(seen, (ops.shape(seen)[0], -1, WIDTH))
        return self.head(self.attention(self.embedding(tokens), seen))


def subclassed_captioner():
    model = Captioner()
    model(ops.zeros((1, 8, 8, 3)), ops.zeros((1, 5), "int32"))
    return model


MODELS = [text_classification_with_nested_blocks, language_model_of_open_length, attention_with_scores, series_statistics,
          kernel_by_weights, siamese_with_a_shared_block, recommender_with_cross_network, time_distributed_custom_layer,
          images_of_open_size, functional_model_of_a_subclass, subclassed_classifier, subclassed_captioner]
