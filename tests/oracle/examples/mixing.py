"""Small models with custom layers in the style of keras.io/examples, with alternatives or additions to attention:
each function returns a model."""
import keras
import numpy as np
from keras import layers, ops

VOCABULARY, LENGTH, WIDTH, SIZE, PATCH = 40, 12, 16, 16, 4
register = keras.saving.register_keras_serializable(package="mixing")


@register
class FNetEncoder(layers.Layer):
    """examples/nlp/text_generation_fnet: the real part of a Fourier transform in place of attention."""

    def __init__(self, embed_dim, dense_dim, **kwargs):
        super().__init__(**kwargs)
        self.embed_dim, self.dense_dim = embed_dim, dense_dim
        self.dense_proj = keras.Sequential([layers.Dense(dense_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm_1 = layers.LayerNormalization()
        self.layernorm_2 = layers.LayerNormalization()

    def call(self, inputs):
        real, _ = ops.fft2((inputs, ops.zeros_like(inputs)))
        proj_input = self.layernorm_1(inputs + real)
        return self.layernorm_2(proj_input + self.dense_proj(proj_input))

    def get_config(self):
        return {**super().get_config(), "embed_dim": self.embed_dim, "dense_dim": self.dense_dim}


@register
class Positions(layers.Layer):
    def __init__(self, length, width, vocabulary, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (length, width, vocabulary)
        self.tokens = layers.Embedding(vocabulary, width, mask_zero=True)
        self.positions = layers.Embedding(length, width)

    def call(self, x):
        return self.tokens(x) + self.positions(ops.arange(ops.shape(x)[-1]))

    def compute_mask(self, inputs, mask=None):
        return ops.not_equal(inputs, 0)

    def get_config(self):
        return {**super().get_config(), **dict(zip(("length", "width", "vocabulary"), self.sizes))}


def text_classification_with_fnet():
    ids = keras.Input((LENGTH,), dtype="int32", name="ids")
    x = Positions(LENGTH, WIDTH, VOCABULARY)(ids)
    for _ in range(2):
        x = FNetEncoder(WIDTH, 32)(x)
    return keras.Model(ids, layers.Dense(1, activation="sigmoid")(layers.GlobalAveragePooling1D()(x)))


@register
class BertBlock(layers.Layer):
    """examples/nlp/masked_language_modeling: its query, key and value names, and a padding mask."""

    def __init__(self, heads, width, inner, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (heads, width, inner)
        self.supports_masking = True
        self.attention = layers.MultiHeadAttention(heads, width // heads, name="query_key_value")
        self.norm_1 = layers.LayerNormalization(epsilon=1e-6)
        self.ffn = keras.Sequential([layers.Dense(inner, activation="gelu"), layers.Dense(width)])
        self.norm_2 = layers.LayerNormalization(epsilon=1e-6)

    def call(self, x, mask=None):
        padding = ops.cast(mask[:, None, :], "int32")
        x = self.norm_1(x + self.attention(x, x, attention_mask=padding))
        return self.norm_2(x + self.ffn(x))

    def get_config(self):
        return {**super().get_config(), **dict(zip(("heads", "width", "inner"), self.sizes))}


def masked_language_model_bert():
    ids = keras.Input((LENGTH,), dtype="int32", name="ids")
    x = Positions(LENGTH, WIDTH, VOCABULARY)(ids)
    for _ in range(2):
        x = BertBlock(2, WIDTH, 32)(x)
    return keras.Model(ids, layers.Dense(VOCABULARY, activation="softmax", name="mlm_cls")(x))


@register
class Patches(layers.Layer):
    def __init__(self, size, **kwargs):
        super().__init__(**kwargs)
        self.size = size

    def call(self, x):
        patches = ops.image.extract_patches(x, self.size)
        shape = ops.shape(patches)
        return ops.reshape(patches, (shape[0], shape[1] * shape[2], shape[3]))

    def get_config(self):
        return {**super().get_config(), "size": self.size}


@register
class MLPMixerLayer(layers.Layer):
    """examples/vision/mlp_image_classification."""

    def __init__(self, patches, units, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (patches, units)
        self.mlp1 = keras.Sequential([layers.Dense(patches, activation="gelu"), layers.Dense(patches)])
        self.mlp2 = keras.Sequential([layers.Dense(units, activation="gelu"), layers.Dense(units)])
        self.normalize = layers.LayerNormalization(epsilon=1e-6)

    def build(self, shape):
        self.built = True

    def call(self, inputs):
        x = self.normalize(inputs)
        mixed = ops.transpose(self.mlp1(ops.transpose(x, axes=(0, 2, 1))), axes=(0, 2, 1))
        x = mixed + inputs
        return x + self.mlp2(self.normalize(x))

    def get_config(self):
        return {**super().get_config(), "patches": self.sizes[0], "units": self.sizes[1]}


def image_classification_with_mlp_mixer():
    image = keras.Input((SIZE, SIZE, 3), name="image")
    x = layers.Dense(WIDTH)(Patches(PATCH)(image))
    x = keras.Sequential([MLPMixerLayer(16, WIDTH) for _ in range(2)])(x)
    return keras.Model(image, layers.Dense(5)(layers.GlobalAveragePooling1D()(x)))


@register
class ExternalAttention(layers.Layer):
    """examples/vision/eanet: two dense layers as memories, and a norm over heads and positions."""

    def __init__(self, width, heads, coefficient=4, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (width, heads, coefficient)
        self.heads = heads * coefficient
        self.first = layers.Dense(width * coefficient)
        self.memory = layers.Dense(256 // coefficient)
        self.back = layers.Dense(width * coefficient // self.heads)
        self.last = layers.Dense(width)

    def call(self, x):
        batch, places, width = x.shape
        q = ops.reshape(self.first(x), (-1, places, self.heads, width * self.sizes[2] // self.heads))
        attention = ops.softmax(self.memory(ops.transpose(q, (0, 2, 1, 3))), axis=2)
        attention = attention / (1e-9 + ops.sum(attention, axis=-1, keepdims=True))
        x = ops.transpose(self.back(attention), (0, 2, 1, 3))
        return self.last(ops.reshape(x, (-1, places, width * self.sizes[2])))

    def get_config(self):
        return {**super().get_config(), **dict(zip(("width", "heads", "coefficient"), self.sizes))}


def image_classification_with_eanet():
    image = keras.Input((SIZE, SIZE, 3), name="image")
    x = layers.Dense(WIDTH)(Patches(PATCH)(image))
    for _ in range(2):
        x = layers.add([ExternalAttention(WIDTH, 2)(layers.LayerNormalization(epsilon=1e-5)(x)), x])
        x = layers.add([layers.Dense(WIDTH, activation="gelu")(layers.LayerNormalization(epsilon=1e-5)(x)), x])
    return keras.Model(image, layers.Dense(4, activation="softmax")(layers.GlobalAveragePooling1D()(x)))


def conv_mixer():
    """examples/vision/convmixer: only built-in layers."""
    image = keras.Input((SIZE, SIZE, 3), name="image")
    x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(WIDTH, 2, strides=2)(layers.Rescaling(1 / 255)(image))))
    for _ in range(2):
        y = layers.BatchNormalization()(layers.Activation("gelu")(layers.DepthwiseConv2D(5, padding="same")(x)))
        x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(WIDTH, 1)(layers.Add()([y, x]))))
    return keras.Model(image, layers.Dense(10, activation="softmax")(layers.GlobalAvgPool2D()(x)))


def mobile_vit():
    """examples/vision/mobilevit: local and global features, unfolded into patches and folded back."""

    def conv_block(x, filters, kernel=3, strides=1):
        return layers.Conv2D(filters, kernel, strides=strides, activation="swish", padding="same")(x)

    def inverted_residual(x, expanded, output, strides=1):
        m = layers.Activation("swish")(layers.BatchNormalization()(layers.Conv2D(expanded, 1, padding="same", use_bias=False)(x)))
        if strides == 2:
            m = layers.ZeroPadding2D(((0, 1), (0, 1)))(m)
        m = layers.DepthwiseConv2D(3, strides=strides, padding="same" if strides == 1 else "valid", use_bias=False)(m)
        m = layers.BatchNormalization()(layers.Conv2D(output, 1, use_bias=False)(layers.Activation("swish")(layers.BatchNormalization()(m))))
        return layers.Add()([m, x]) if x.shape[-1] == output and strides == 1 else m

    def block(x, blocks, width):
        local = conv_block(conv_block(x, width), width, 1)
        places = int(local.shape[1] * local.shape[2] / 4)
        y = layers.Reshape((4, places, width))(local)
        for _ in range(blocks):
            n = layers.LayerNormalization(epsilon=1e-6)(y)
            y = layers.Add()([layers.MultiHeadAttention(2, width)(n, n), y])
            n = layers.LayerNormalization(epsilon=1e-6)(y)
            y = layers.Add()([layers.Dense(width)(layers.Dense(width * 2, activation="swish")(n)), y])
        folded = layers.Reshape((*local.shape[1:-1], width))(y)
        return conv_block(layers.Concatenate(axis=-1)([x, conv_block(folded, x.shape[-1], 1)]), width)

    image = keras.Input((32, 32, 3), name="image")
    x = inverted_residual(conv_block(layers.Rescaling(1 / 255)(image), 8, strides=2), 16, 8)
    x = block(inverted_residual(x, 16, 12, 2), 2, 16)
    return keras.Model(image, layers.Dense(5, activation="softmax")(layers.GlobalAvgPool2D()(x)))


@register
class TokenLearner(layers.Layer):
    """examples/vision/token_learner: a few tokens, each from a spatial attention map."""

    def __init__(self, tokens, **kwargs):
        super().__init__(**kwargs)
        self.tokens = tokens
        self.norm = layers.LayerNormalization(epsilon=1e-6)
        self.maps = keras.Sequential([layers.Conv2D(tokens, 3, activation="gelu", padding="same", use_bias=False) for _ in range(3)]
                                     + [layers.Conv2D(tokens, 3, activation="sigmoid", padding="same", use_bias=False)])

    def call(self, x):
        b, h, w, c = x.shape
        maps = ops.reshape(self.maps(self.norm(x)), (-1, h * w, self.tokens))
        maps = ops.expand_dims(ops.transpose(maps, (0, 2, 1)), axis=-1)
        return ops.mean(maps * ops.expand_dims(ops.reshape(x, (-1, h * w, c)), axis=1), axis=2)

    def get_config(self):
        return {**super().get_config(), "tokens": self.tokens}


def token_learner():
    image = keras.Input((SIZE, SIZE, 3), name="image")
    x = layers.Conv2D(WIDTH, PATCH, strides=PATCH)(image)
    x = TokenLearner(3)(x)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 8)(x, x)])
    return keras.Model(image, layers.Dense(4)(layers.Flatten()(x)))


@register
class TabTransformer(keras.Model):
    """examples/structured_data/tabtransformer, subclassed: a column's categories as tokens, beside numbers."""

    def __init__(self, sizes=(5, 7, 3), width=8, **kwargs):
        super().__init__(**kwargs)
        self.sizes, self.width = tuple(sizes), width
        self.embeddings = [layers.Embedding(size, width) for size in self.sizes]
        self.columns = layers.Embedding(len(self.sizes), width)
        self.attention = layers.MultiHeadAttention(2, width)
        self.norm = layers.LayerNormalization()
        self.numbers = layers.LayerNormalization()
        self.head = keras.Sequential([layers.BatchNormalization(), layers.Dense(6, activation="selu"), layers.Dense(1, activation="sigmoid")])

    def call(self, inputs):
        tokens = ops.stack([embed(inputs["categories"][:, i]) for i, embed in enumerate(self.embeddings)], axis=1)
        tokens = tokens + self.columns(ops.arange(len(self.sizes)))
        tokens = self.norm(tokens + self.attention(tokens, tokens))
        flat = ops.reshape(tokens, (-1, len(self.sizes) * self.width))
        return self.head(ops.concatenate([flat, self.numbers(inputs["numbers"])], axis=-1))

    def get_config(self):
        return {**super().get_config(), "sizes": self.sizes, "width": self.width}


def tab_transformer():
    model = TabTransformer()
    model({"categories": np.zeros((1, 3), "int32"), "numbers": np.zeros((1, 4), "float32")})
    return model


@register
class GraphAttention(layers.Layer):
    """examples/graph/gat_node_classification, over a dense adjacency."""

    def __init__(self, units, heads, **kwargs):
        super().__init__(**kwargs)
        self.units, self.heads = units, heads

    def build(self, shapes):
        self.kernel = self.add_weight(shape=(self.heads, shapes[0][-1], self.units), initializer="glorot_uniform", name="kernel")
        self.kernel_attention = self.add_weight(shape=(self.heads, self.units * 2), initializer="glorot_uniform", name="kernel_attention")

    def call(self, inputs):
        nodes, edges = inputs
        x = ops.einsum("bnd,hdu->bhnu", nodes, self.kernel)
        first = ops.einsum("bhnu,hu->bhn", x, self.kernel_attention[:, : self.units])
        second = ops.einsum("bhnu,hu->bhn", x, self.kernel_attention[:, self.units :])
        score = ops.leaky_relu(ops.expand_dims(first, -1) + ops.expand_dims(second, -2))
        score = ops.exp(ops.clip(score, -2, 2)) * ops.cast(ops.expand_dims(edges, 1), score.dtype)
        score = score / ops.maximum(ops.sum(score, axis=-1, keepdims=True), 1e-7)
        return ops.nn.relu(ops.reshape(ops.transpose(ops.matmul(score, x), (0, 2, 1, 3)), (-1, ops.shape(nodes)[1], self.heads * self.units)))

    def get_config(self):
        return {**super().get_config(), "units": self.units, "heads": self.heads}


def graph_attention_network():
    nodes, edges = keras.Input((6, 5), name="nodes"), keras.Input((6, 6), dtype="bool", name="edges")
    x = layers.Dense(WIDTH, activation="relu")(nodes)
    for _ in range(2):
        x = GraphAttention(8, 2)([x, edges]) + x
    return keras.Model([nodes, edges], layers.Dense(3, name="classes")(x))


MODELS = [text_classification_with_fnet, masked_language_model_bert, image_classification_with_mlp_mixer,
          image_classification_with_eanet, conv_mixer, mobile_vit, token_learner, tab_transformer, graph_attention_network]
