"""Vision models with the custom layers of keras.io/examples/vision, small: each function gives a model."""
import keras
from keras import layers, ops

SIZE, PATCH, WIDTH, HEADS = 16, 4, 16, 2
PATCHES = (SIZE // PATCH) ** 2


@keras.saving.register_keras_serializable()
class Patches(layers.Layer):
    def __init__(self, patch_size, **kwargs):
        super().__init__(**kwargs)
        self.patch_size = patch_size

    def call(self, images):
        input_shape = ops.shape(images)
        batch_size, height, width, channels = input_shape
        num_patches_h = height // self.patch_size
        num_patches_w = width // self.patch_size
        patches = keras.ops.image.extract_patches(images, size=self.patch_size)
        return ops.reshape(patches, (batch_size, num_patches_h * num_patches_w,
                                     self.patch_size * self.patch_size * channels))

    def get_config(self):
        return {**super().get_config(), "patch_size": self.patch_size}


@keras.saving.register_keras_serializable()
class PatchEncoder(layers.Layer):
    def __init__(self, num_patches, projection_dim, **kwargs):
        super().__init__(**kwargs)
        self.num_patches, self.projection_dim = num_patches, projection_dim
        self.projection = layers.Dense(units=projection_dim)
        self.position_embedding = layers.Embedding(input_dim=num_patches, output_dim=projection_dim)

    def call(self, patch):
        positions = ops.expand_dims(ops.arange(start=0, stop=self.num_patches, step=1), axis=0)
        return self.projection(patch) + self.position_embedding(positions)

    def get_config(self):
        return {**super().get_config(), "num_patches": self.num_patches, "projection_dim": self.projection_dim}


def mlp(x, units):
    for unit in units:
        x = layers.Dense(unit, activation=keras.activations.gelu)(x)
        x = layers.Dropout(0.1)(x)
    return x


def image_classification_with_vision_transformer():
    inputs = keras.Input(shape=(SIZE, SIZE, 3))
    encoded = PatchEncoder(PATCHES, WIDTH)(Patches(PATCH)(inputs))
    for _ in range(2):
        x1 = layers.LayerNormalization(epsilon=1e-6)(encoded)
        attended = layers.MultiHeadAttention(num_heads=HEADS, key_dim=WIDTH, dropout=0.1)(x1, x1)
        x2 = layers.Add()([attended, encoded])
        x3 = mlp(layers.LayerNormalization(epsilon=1e-6)(x2), [32, WIDTH])
        encoded = layers.Add()([x3, x2])
    x = layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(encoded))
    return keras.Model(inputs, layers.Dense(10)(mlp(layers.Dropout(0.5)(x), [24])))


@keras.saving.register_keras_serializable()
class ClassToken(layers.Layer):
    """A trained token before the patches, repeated over the batch."""

    def build(self, shape):
        self.cls = self.add_weight(shape=(1, 1, shape[-1]), initializer="random_normal", name="cls")
        self.pos = self.add_weight(shape=(1, shape[1] + 1, shape[-1]), initializer="random_normal", name="pos")

    def call(self, x):
        cls = ops.broadcast_to(self.cls, (ops.shape(x)[0], 1, x.shape[-1]))
        return ops.concatenate([cls, x], axis=1) + self.pos


@keras.saving.register_keras_serializable()
class DistillationTokens(layers.Layer):
    """DeiT: a class token and a distillation token, tiled."""

    def build(self, shape):
        self.cls = self.add_weight(shape=(1, 1, shape[-1]), initializer="random_normal", name="cls")
        self.dist = self.add_weight(shape=(1, 1, shape[-1]), initializer="random_normal", name="dist")

    def call(self, x):
        n = ops.shape(x)[0]
        return ops.concatenate([ops.tile(self.cls, [n, 1, 1]), ops.tile(self.dist, [n, 1, 1]), x], axis=1)


@keras.saving.register_keras_serializable()
class StochasticDepth(layers.Layer):
    def __init__(self, drop_prob, **kwargs):
        super().__init__(**kwargs)
        self.drop_prob = drop_prob
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, x, training=None):
        if training:
            keep_prob = 1 - self.drop_prob
            shape = (ops.shape(x)[0],) + (1,) * (len(x.shape) - 1)
            random_tensor = keep_prob + keras.random.uniform(shape, 0, 1, seed=self.seed_generator)
            return (x / keep_prob) * ops.floor(random_tensor)
        return x

    def get_config(self):
        return {**super().get_config(), "drop_prob": self.drop_prob}


@keras.saving.register_keras_serializable()
class LayerScale(layers.Layer):
    def __init__(self, init_values, projection_dim, **kwargs):
        super().__init__(**kwargs)
        self.init_values, self.projection_dim = init_values, projection_dim

    def build(self, _):
        self.gamma = self.add_weight(shape=(self.projection_dim,), initializer=keras.initializers.Constant(self.init_values),
                                     name="gamma")

    def call(self, x):
        return x * self.gamma

    def get_config(self):
        return {**super().get_config(), "init_values": self.init_values, "projection_dim": self.projection_dim}


def distilled_vision_transformer():
    inputs = keras.Input(shape=(SIZE, SIZE, 3))
    x = layers.Reshape((PATCHES, WIDTH))(layers.Conv2D(WIDTH, PATCH, PATCH)(inputs))
    x = DistillationTokens()(x)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + StochasticDepth(0.1)(layers.MultiHeadAttention(HEADS, 8)(y, y))
        x = x + StochasticDepth(0.1)(mlp(layers.LayerNormalization()(x), [32, WIDTH]))
    return keras.Model(inputs, [layers.Dense(10)(x[:, 0]), layers.Dense(10)(x[:, 1])])


@keras.saving.register_keras_serializable()
class TalkingHeadAttention(layers.Layer):
    def __init__(self, projection_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.projection_dim, self.num_heads = projection_dim, num_heads
        self.scale = (projection_dim // num_heads) ** -0.5
        self.qkv = layers.Dense(projection_dim * 3)
        self.attn_drop = layers.Dropout(0.1)
        self.proj = layers.Dense(projection_dim)
        self.proj_l = layers.Dense(num_heads)
        self.proj_w = layers.Dense(num_heads)
        self.proj_drop = layers.Dropout(0.1)

    def call(self, x, training=False):
        B, N, C = ops.shape(x)[0], ops.shape(x)[1], ops.shape(x)[2]
        qkv = ops.reshape(self.qkv(x), (B, N, 3, self.num_heads, C // self.num_heads))
        qkv = ops.transpose(qkv, axes=[2, 0, 3, 1, 4])
        q, k, v = qkv[0] * self.scale, qkv[1], qkv[2]
        attn = ops.matmul(q, ops.transpose(k, axes=[0, 1, 3, 2]))
        attn = ops.transpose(self.proj_l(ops.transpose(attn, axes=[0, 2, 3, 1])), axes=[0, 3, 1, 2])
        attn = ops.nn.softmax(attn, axis=-1)
        attn = ops.transpose(self.proj_w(ops.transpose(attn, axes=[0, 2, 3, 1])), axes=[0, 3, 1, 2])
        attn = self.attn_drop(attn, training=training)
        x = ops.reshape(ops.transpose(ops.matmul(attn, v), axes=[0, 2, 1, 3]), (B, N, C))
        return self.proj_drop(self.proj(x), training=training), attn

    def get_config(self):
        return {**super().get_config(), "projection_dim": self.projection_dim, "num_heads": self.num_heads}


@keras.saving.register_keras_serializable()
class ClassAttention(layers.Layer):
    def __init__(self, projection_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.projection_dim, self.num_heads = projection_dim, num_heads
        self.scale = (projection_dim // num_heads) ** -0.5
        self.q, self.k, self.v = layers.Dense(projection_dim), layers.Dense(projection_dim), layers.Dense(projection_dim)
        self.attn_drop, self.proj, self.proj_drop = layers.Dropout(0.1), layers.Dense(projection_dim), layers.Dropout(0.1)

    def call(self, x, training=False):
        batch_size, num_patches, num_channels = ops.shape(x)[0], ops.shape(x)[1], ops.shape(x)[2]
        q = ops.expand_dims(self.q(x[:, 0]), axis=1)
        q = ops.reshape(q, (batch_size, 1, self.num_heads, num_channels // self.num_heads))
        q = ops.transpose(q, axes=[0, 2, 1, 3]) * self.scale
        k = ops.reshape(self.k(x), (batch_size, num_patches, self.num_heads, num_channels // self.num_heads))
        k = ops.transpose(k, axes=[0, 2, 1, 3])
        v = ops.reshape(self.v(x), (batch_size, num_patches, self.num_heads, num_channels // self.num_heads))
        v = ops.transpose(v, axes=[0, 2, 1, 3])
        attn = ops.nn.softmax(ops.matmul(q, ops.transpose(k, axes=[0, 1, 3, 2])), axis=-1)
        attn = self.attn_drop(attn, training=training)
        x_cls = ops.reshape(ops.transpose(ops.matmul(attn, v), axes=[0, 2, 1, 3]), (batch_size, 1, num_channels))
        return self.proj_drop(self.proj(x_cls), training=training)

    def get_config(self):
        return {**super().get_config(), "projection_dim": self.projection_dim, "num_heads": self.num_heads}


def class_attention_image_transformer():
    inputs = keras.Input(shape=(SIZE, SIZE, 3))
    x = layers.Reshape((PATCHES, WIDTH))(layers.Conv2D(WIDTH, PATCH, PATCH)(inputs))
    attended, weights = TalkingHeadAttention(WIDTH, HEADS)(layers.LayerNormalization()(x))
    x = x + StochasticDepth(0.1)(LayerScale(0.3, WIDTH)(attended))
    x = ClassToken()(x)
    cls = ClassAttention(WIDTH, HEADS)(layers.LayerNormalization()(x))
    return keras.Model(inputs, {"class": layers.Dense(5)(cls[:, 0]), "weights": weights})


@keras.saving.register_keras_serializable()
class CCTTokenizer(layers.Layer):
    def __init__(self, num_output_channels=(8, WIDTH), **kwargs):
        super().__init__(**kwargs)
        self.conv_model = keras.Sequential()
        for channels in num_output_channels:
            self.conv_model.add(layers.Conv2D(channels, 3, 1, padding="valid", use_bias=False, activation="relu",
                                              kernel_initializer="he_normal"))
            self.conv_model.add(layers.ZeroPadding2D(1))
            self.conv_model.add(layers.MaxPooling2D(3, 2, "same"))

    def call(self, images):
        outputs = self.conv_model(images)
        return ops.reshape(outputs, (-1, ops.shape(outputs)[1] * ops.shape(outputs)[2], ops.shape(outputs)[-1]))


@keras.saving.register_keras_serializable()
class PositionEmbedding(layers.Layer):
    def __init__(self, sequence_length, initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.sequence_length, self.initializer = int(sequence_length), keras.initializers.get(initializer)

    def get_config(self):
        return {**super().get_config(), "sequence_length": self.sequence_length,
                "initializer": keras.initializers.serialize(self.initializer)}

    def build(self, input_shape):
        self.position_embeddings = self.add_weight(name="embeddings", shape=[self.sequence_length, input_shape[-1]],
                                                   initializer=self.initializer, trainable=True)

    def call(self, inputs, start_index=0):
        shape = ops.shape(inputs)
        feature_length, sequence_length = shape[-1], shape[-2]
        position_embeddings = ops.convert_to_tensor(self.position_embeddings)
        position_embeddings = ops.slice(position_embeddings, (start_index, 0), (sequence_length, feature_length))
        return ops.broadcast_to(position_embeddings, shape)


@keras.saving.register_keras_serializable()
class SequencePooling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.attention = layers.Dense(1)

    def call(self, x):
        attention_weights = ops.transpose(ops.softmax(self.attention(x), axis=1), axes=(0, 2, 1))
        return ops.squeeze(ops.matmul(attention_weights, x), axis=-2)


def compact_convolutional_transformer():
    inputs = keras.Input(shape=(SIZE, SIZE, 3))
    encoded = CCTTokenizer()(inputs)
    encoded += PositionEmbedding(sequence_length=encoded.shape[1])(encoded)
    x1 = layers.LayerNormalization(epsilon=1e-5)(encoded)
    x2 = StochasticDepth(0.1)(layers.MultiHeadAttention(HEADS, WIDTH, dropout=0.1)(x1, x1)) + encoded
    x3 = mlp(layers.LayerNormalization(epsilon=1e-5)(x2), [WIDTH, WIDTH])
    pooled = SequencePooling()(layers.LayerNormalization(epsilon=1e-5)(StochasticDepth(0.2)(x3) + x2))
    return keras.Model(inputs, layers.Dense(10)(pooled))


@keras.saving.register_keras_serializable()
class ShiftedPatchTokenization(layers.Layer):
    """Small datasets: patches of the image and of four shifted ones."""

    def __init__(self, image_size=SIZE, patch_size=PATCH, projection_dim=WIDTH, **kwargs):
        super().__init__(**kwargs)
        self.image_size, self.patch_size, self.half_patch = image_size, patch_size, patch_size // 2
        self.flatten_patches = layers.Reshape((PATCHES, -1))
        self.projection = layers.Dense(units=projection_dim)
        self.layer_norm = layers.LayerNormalization(epsilon=1e-6)

    def crop_shift_pad(self, images, up, left):
        half, size = self.half_patch, self.image_size - self.half_patch
        y, x = (half if up else 0), (half if left else 0)
        cropped = images[:, y : y + size, x : x + size, :]
        return ops.pad(cropped, [[0, 0], [0, half] if up else [half, 0], [0, half] if left else [half, 0], [0, 0]])

    def call(self, images):
        images = ops.concatenate([images, *(self.crop_shift_pad(images, u, l) for u in (1, 0) for l in (1, 0))], axis=-1)
        patches = ops.image.extract_patches(images, (self.patch_size, self.patch_size), padding="valid")
        flat_patches = self.flatten_patches(patches)
        return self.projection(self.layer_norm(flat_patches)), patches


@keras.saving.register_keras_serializable()
class MultiHeadAttentionLSA(layers.MultiHeadAttention):
    """A subclass of a built-in layer: a trained temperature, and no token attends to itself."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tau = self.add_weight(shape=(), initializer=keras.initializers.Constant(self._key_dim**0.5), name="tau")
        self._flash_attention = False

    def _compute_attention(self, query, key, value, attention_mask=None, training=None, return_attention_scores=False, **kwargs):
        query = ops.multiply(query, 1.0 / self.tau)
        attention_scores = ops.einsum(self._dot_product_equation, key, query)
        attention_scores = self._masked_softmax(attention_scores, attention_mask)
        attention_scores_dropout = self._dropout_layer(attention_scores, training=training)
        return ops.einsum(self._combine_equation, attention_scores_dropout, value), attention_scores


def vision_transformer_for_small_datasets():
    inputs = keras.Input(shape=(SIZE, SIZE, 3))
    tokens, _ = ShiftedPatchTokenization()(inputs)
    encoded = tokens + layers.Embedding(PATCHES, WIDTH, name="positions")(ops.cast(ops.cumsum(ops.ones_like(tokens[0, :, 0])), "int32") - 1)
    x1 = layers.LayerNormalization(epsilon=1e-6)(encoded)
    diagonal = ops.cast(1 - ops.eye(PATCHES), "int8")
    attended = MultiHeadAttentionLSA(num_heads=HEADS, key_dim=WIDTH, dropout=0.1)(x1, x1, attention_mask=diagonal)
    x2 = layers.Add()([attended, encoded])
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x2)))


def window_partition(x, window_size):
    _, height, width, channels = x.shape
    h, w = height // window_size, width // window_size
    x = ops.reshape(x, (-1, h, window_size, w, window_size, channels))
    return ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, window_size, window_size, channels))


def window_reverse(windows, window_size, height, width, channels):
    h, w = height // window_size, width // window_size
    x = ops.reshape(windows, (-1, h, w, window_size, window_size, channels))
    return ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, height, width, channels))


@keras.saving.register_keras_serializable()
class WindowAttention(layers.Layer):
    def __init__(self, dim, window_size, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.dim, self.window_size, self.num_heads = dim, window_size, num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = layers.Dense(dim * 3)
        self.proj = layers.Dense(dim)

    def build(self, input_shape):
        n = self.window_size
        self.relative_position_bias_table = self.add_weight(shape=((2 * n - 1) ** 2, self.num_heads), name="bias_table",
                                                            initializer=keras.initializers.RandomNormal(stddev=0.2))
        coords = [(i, j) for i in range(n) for j in range(n)]
        self.index = [(a[0] - b[0] + n - 1) * (2 * n - 1) + a[1] - b[1] + n - 1 for a in coords for b in coords]
        self.qkv.build(input_shape)
        self.proj.build(input_shape)

    def call(self, x, mask=None):
        _, size, channels = x.shape
        head_dim = channels // self.num_heads
        qkv = ops.reshape(self.qkv(x), (-1, size, 3, self.num_heads, head_dim))
        q, k, v = ops.unstack(ops.transpose(qkv, (2, 0, 3, 1, 4)), axis=0)
        attn = (q * self.scale) @ ops.transpose(k, (0, 1, 3, 2))
        bias = ops.take(self.relative_position_bias_table, ops.convert_to_tensor(self.index), axis=0)
        bias = ops.transpose(ops.reshape(bias, (size, size, self.num_heads)), (2, 0, 1))
        attn = attn + ops.expand_dims(bias, axis=0)
        if mask is not None:
            windows = mask.shape[0]
            mask_float = ops.cast(ops.expand_dims(ops.expand_dims(mask, axis=1), axis=0), "float32")
            attn = ops.reshape(attn, (-1, windows, self.num_heads, size, size)) + mask_float
            attn = ops.reshape(attn, (-1, self.num_heads, size, size))
        attn = keras.activations.softmax(attn, axis=-1)
        x = ops.transpose(attn @ v, (0, 2, 1, 3))
        return self.proj(ops.reshape(x, (-1, size, channels)))

    def get_config(self):
        return {**super().get_config(), "dim": self.dim, "window_size": self.window_size, "num_heads": self.num_heads}


@keras.saving.register_keras_serializable()
class SwinTransformer(layers.Layer):
    def __init__(self, dim, num_patch, num_heads, window_size=2, shift_size=0, num_mlp=24, **kwargs):
        super().__init__(**kwargs)
        self.sizes = {"dim": dim, "num_patch": num_patch, "num_heads": num_heads, "window_size": window_size,
                      "shift_size": shift_size, "num_mlp": num_mlp}
        self.norm1, self.norm2 = layers.LayerNormalization(epsilon=1e-5), layers.LayerNormalization(epsilon=1e-5)
        self.attn = WindowAttention(dim, window_size, num_heads)
        self.mlp = keras.Sequential([layers.Dense(num_mlp, activation="gelu"), layers.Dropout(0.1), layers.Dense(dim)])
        self.shift_size, self.window_size, self.num_patch = shift_size, window_size, num_patch
        self.attn_mask = None

    def build(self, input_shape):
        self.norm1.build(input_shape)
        self.norm2.build(input_shape)
        self.attn.build((None, self.window_size**2, input_shape[-1]))
        if self.shift_size:
            import numpy as np

            height, width = self.num_patch
            regions = np.zeros((1, height, width, 1))
            slices = (slice(0, -self.window_size), slice(-self.window_size, -self.shift_size), slice(-self.shift_size, None))
            for count, (h, w) in enumerate((h, w) for h in slices for w in slices):
                regions[:, h, w, :] = count
            windows = window_partition(ops.convert_to_tensor(regions), self.window_size)
            windows = ops.reshape(windows, [-1, self.window_size**2])
            different = ops.expand_dims(windows, 1) - ops.expand_dims(windows, 2)
            self.attn_mask = ops.where(different != 0, -100.0, 0.0)

    def call(self, x, training=False):
        height, width = self.num_patch
        _, num_patches_before, channels = x.shape
        x_skip = x
        x = ops.reshape(self.norm1(x), (-1, height, width, channels))
        if self.shift_size:
            x = ops.roll(x, shift=[-self.shift_size, -self.shift_size], axis=[1, 2])
        windows = ops.reshape(window_partition(x, self.window_size), (-1, self.window_size**2, channels))
        windows = self.attn(windows, mask=self.attn_mask)
        windows = ops.reshape(windows, (-1, self.window_size, self.window_size, channels))
        x = window_reverse(windows, self.window_size, height, width, channels)
        if self.shift_size:
            x = ops.roll(x, shift=[self.shift_size, self.shift_size], axis=[1, 2])
        x = x_skip + ops.reshape(x, (-1, height * width, channels))
        return x + self.mlp(self.norm2(x))

    def get_config(self):
        return {**super().get_config(), **self.sizes}


@keras.saving.register_keras_serializable()
class PatchMerging(layers.Layer):
    def __init__(self, num_patch, embed_dim, **kwargs):
        super().__init__(**kwargs)
        self.num_patch, self.embed_dim = num_patch, embed_dim
        self.linear_trans = layers.Dense(2 * embed_dim, use_bias=False)

    def call(self, x):
        height, width = self.num_patch
        _, _, C = x.shape
        x = ops.reshape(x, (-1, height, width, C))
        x = ops.concatenate((x[:, 0::2, 0::2, :], x[:, 1::2, 0::2, :], x[:, 0::2, 1::2, :], x[:, 1::2, 1::2, :]), axis=-1)
        return self.linear_trans(ops.reshape(x, (-1, (height // 2) * (width // 2), 4 * C)))

    def get_config(self):
        return {**super().get_config(), "num_patch": self.num_patch, "embed_dim": self.embed_dim}


def swin_transformers():
    inputs = keras.Input(shape=(SIZE, SIZE, 3))
    x = PatchEncoder(PATCHES, WIDTH)(Patches(PATCH)(inputs))
    x = SwinTransformer(WIDTH, (4, 4), HEADS)(x)
    x = SwinTransformer(WIDTH, (4, 4), HEADS, shift_size=1)(x)
    x = PatchMerging((4, 4), WIDTH)(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x)))


@keras.saving.register_keras_serializable()
class Perceiver(keras.Model):
    """A subclassed model with a variable of its own, and models in it."""

    def __init__(self, latent_dim=6, num_blocks=2, **kwargs):
        super().__init__(**kwargs)
        self.latent_dim, self.num_blocks = latent_dim, num_blocks
        self.patcher, self.patch_encoder = Patches(PATCH), PatchEncoder(PATCHES, WIDTH)
        latent, data = layers.Input((latent_dim, WIDTH)), layers.Input((PATCHES, WIDTH))
        q = layers.Dense(WIDTH)(layers.LayerNormalization()(latent))
        k = layers.Dense(WIDTH)(layers.LayerNormalization()(data))
        v = layers.Dense(WIDTH)(layers.LayerNormalization()(data))
        x = layers.Attention(use_scale=True, dropout=0.1)([q, k, v]) + q
        self.cross_attention = keras.Model({"latent": latent, "data": data}, x)
        inputs = layers.Input((latent_dim, WIDTH))
        y = layers.LayerNormalization()(inputs)
        self.transformer = keras.Model(inputs, inputs + layers.MultiHeadAttention(HEADS, 8)(y, y))
        self.pool, self.head = layers.GlobalAveragePooling1D(), layers.Dense(10)
        self.latent_array = self.add_weight(shape=(latent_dim, WIDTH), initializer="random_normal", name="latent")

    def call(self, inputs):
        encoded = self.patch_encoder(self.patcher(inputs))
        latent = ops.expand_dims(self.latent_array, 0)
        for _ in range(self.num_blocks):
            latent = self.transformer(self.cross_attention({"latent": latent, "data": encoded}))
        return self.head(self.pool(latent))


def perceiver_image_classification():
    model = Perceiver()
    model(ops.zeros((1, SIZE, SIZE, 3)))
    return model


@keras.saving.register_keras_serializable()
class TubeletEmbedding(layers.Layer):
    def __init__(self, embed_dim, patch_size, **kwargs):
        super().__init__(**kwargs)
        self.embed_dim, self.patch_size = embed_dim, patch_size
        self.projection = layers.Conv3D(embed_dim, patch_size, patch_size, padding="VALID")
        self.flatten = layers.Reshape(target_shape=(-1, embed_dim))

    def call(self, videos):
        return self.flatten(self.projection(videos))

    def get_config(self):
        return {**super().get_config(), "embed_dim": self.embed_dim, "patch_size": self.patch_size}


@keras.saving.register_keras_serializable()
class PositionalEncoder(layers.Layer):
    def __init__(self, embed_dim, **kwargs):
        super().__init__(**kwargs)
        self.embed_dim = embed_dim

    def build(self, input_shape):
        _, num_tokens, _ = input_shape
        self.position_embedding = layers.Embedding(input_dim=num_tokens, output_dim=self.embed_dim)
        self.position_embedding.build((None,))
        self.positions = ops.arange(0, num_tokens, 1)

    def call(self, encoded_tokens):
        return encoded_tokens + self.position_embedding(self.positions)

    def get_config(self):
        return {**super().get_config(), "embed_dim": self.embed_dim}


def video_vision_transformer():
    inputs = layers.Input(shape=(4, 8, 8, 1))
    encoded = PositionalEncoder(WIDTH)(TubeletEmbedding(WIDTH, (2, 4, 4))(inputs))
    x1 = layers.LayerNormalization(epsilon=1e-6)(encoded)
    x2 = layers.Add()([layers.MultiHeadAttention(HEADS, WIDTH // HEADS, dropout=0.1)(x1, x1), encoded])
    x3 = keras.Sequential([layers.Dense(32, activation="gelu"), layers.Dense(WIDTH, activation="gelu")])(
        layers.LayerNormalization(epsilon=1e-6)(x2))
    x = layers.GlobalAvgPool1D()(layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x3, x2])))
    return keras.Model(inputs, layers.Dense(11, activation="softmax")(x))


@keras.saving.register_keras_serializable()
class MILAttentionLayer(layers.Layer):
    """Attention over the instances of a bag: a list of inputs, and variables of its own."""

    def __init__(self, weight_params_dim, use_gated=False, **kwargs):
        super().__init__(**kwargs)
        self.weight_params_dim, self.use_gated = weight_params_dim, use_gated

    def build(self, input_shape):
        d = input_shape[0][1]
        make = lambda name, shape: self.add_weight(shape=shape, initializer="glorot_uniform", name=name)
        self.v_weight_params, self.w_weight_params = make("v", (d, self.weight_params_dim)), make("w", (self.weight_params_dim, 1))
        self.u_weight_params = make("u", (d, self.weight_params_dim)) if self.use_gated else None

    def call(self, inputs):
        instances = [self.compute_attention_scores(instance) for instance in inputs]
        alpha = ops.softmax(ops.stack(instances), axis=0)
        return [alpha[i] for i in range(alpha.shape[0])]

    def compute_attention_scores(self, instance):
        original = instance
        instance = ops.tanh(ops.tensordot(instance, self.v_weight_params, axes=1))
        if self.use_gated:
            instance = instance * ops.sigmoid(ops.tensordot(original, self.u_weight_params, axes=1))
        return ops.tensordot(instance, self.w_weight_params, axes=1)

    def get_config(self):
        return {**super().get_config(), "weight_params_dim": self.weight_params_dim, "use_gated": self.use_gated}


def attention_mil_classification():
    inputs = [layers.Input((6, 6)) for _ in range(3)]
    dense_1, dense_2 = layers.Dense(16, activation="relu"), layers.Dense(8, activation="relu")
    embeddings = [dense_2(dense_1(layers.Flatten()(x))) for x in inputs]
    alpha = MILAttentionLayer(10, use_gated=True, name="alpha")(embeddings)
    products = [layers.multiply([alpha[i], embeddings[i]]) for i in range(len(alpha))]
    return keras.Model(inputs, layers.Dense(2, activation="softmax")(layers.concatenate(products, axis=1)))


@keras.saving.register_keras_serializable()
class AttentionBlock(layers.Layer):
    """From the diffusion model DDPM: attention over the pixels of an image."""

    def __init__(self, units, groups=4, **kwargs):
        super().__init__(**kwargs)
        self.units, self.groups = units, groups
        self.norm = layers.GroupNormalization(groups=groups)
        self.query, self.key, self.value, self.proj = (layers.Dense(units) for _ in range(4))

    def call(self, inputs):
        batch_size, height, width = ops.shape(inputs)[0], ops.shape(inputs)[1], ops.shape(inputs)[2]
        scale = ops.cast(self.units, "float32") ** (-0.5)
        inputs = self.norm(inputs)
        q, k, v = self.query(inputs), self.key(inputs), self.value(inputs)
        attn_score = ops.einsum("bhwc, bHWc->bhwHW", q, k) * scale
        attn_score = ops.reshape(attn_score, [batch_size, height, width, height * width])
        attn_score = ops.softmax(attn_score, -1)
        attn_score = ops.reshape(attn_score, [batch_size, height, width, height, width])
        return inputs + self.proj(ops.einsum("bhwHW,bHWc->bhwc", attn_score, v))

    def get_config(self):
        return {**super().get_config(), "units": self.units, "groups": self.groups}


@keras.saving.register_keras_serializable()
class TimeEmbedding(layers.Layer):
    def __init__(self, dim, **kwargs):
        super().__init__(**kwargs)
        self.dim = dim
        self.half_dim = dim // 2
        self.emb = ops.exp(ops.arange(self.half_dim, dtype="float32") * -(9.21 / (self.half_dim - 1)))

    def call(self, inputs):
        inputs = ops.cast(inputs, dtype="float32")
        emb = inputs[:, None] * self.emb[None, :]
        return ops.concatenate([ops.sin(emb), ops.cos(emb)], axis=-1)

    def get_config(self):
        return {**super().get_config(), "dim": self.dim}


def denoising_diffusion():
    image, time = layers.Input((8, 8, 3), name="image"), layers.Input((), dtype="int64", name="time")
    temb = layers.Dense(WIDTH, activation="silu")(TimeEmbedding(8)(time))
    x = layers.Conv2D(WIDTH, 3, padding="same")(image) + layers.Dense(WIDTH)(temb)[:, None, None, :]
    return keras.Model([image, time], layers.Conv2D(3, 3, padding="same")(AttentionBlock(WIDTH)(x)))


MODELS = [image_classification_with_vision_transformer, distilled_vision_transformer, class_attention_image_transformer,
          compact_convolutional_transformer, vision_transformer_for_small_datasets, swin_transformers,
          perceiver_image_classification, video_vision_transformer, attention_mil_classification, denoising_diffusion]
