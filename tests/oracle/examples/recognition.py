"""Models for reading, hearing and detection with the custom layers of keras.io/examples, small: each function returns a
model."""
import keras
from keras import layers, ops

register = keras.saving.register_keras_serializable(package="recognition")


def captcha_ocr():
    """examples/vision/captcha_ocr: columns of an image as steps of two bidirectional LSTMs. Its CTC layer is for
    training."""
    image = keras.Input((40, 16, 1), name="image")
    x = layers.Conv2D(8, 3, activation="relu", kernel_initializer="he_normal", padding="same", name="Conv1")(image)
    x = layers.MaxPooling2D((2, 2), name="pool1")(x)
    x = layers.Conv2D(12, 3, activation="relu", kernel_initializer="he_normal", padding="same", name="Conv2")(x)
    x = layers.MaxPooling2D((2, 2), name="pool2")(x)
    x = layers.Reshape(target_shape=(10, 4 * 12), name="reshape")(x)
    x = layers.Dropout(0.2)(layers.Dense(16, activation="relu", name="dense1")(x))
    x = layers.Bidirectional(layers.LSTM(12, return_sequences=True, dropout=0.25))(x)
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True, dropout=0.25))(x)
    return keras.Model(image, layers.Dense(21, activation="softmax", name="dense2")(x), name="ocr_model_v1")


def crnn_with_attention():
    """The same with attention over the steps, and strings of the vocabulary as outputs."""
    image = keras.Input((32, 16, 1), name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(image)
    x = layers.Reshape((16, 8 * 8))(x)
    x = layers.Bidirectional(layers.GRU(8, return_sequences=True), merge_mode="sum")(x)
    x = layers.Attention(use_scale=True)([x, x])
    scores = layers.Dense(6, name="scores")(x)
    letters = layers.StringLookup(vocabulary=list("abcd"), mask_token="", invert=True, name="letters")(ops.argmax(scores, axis=-1))
    return keras.Model(image, {"letters": letters, "scores": scores})


def deep_speech_2():
    """examples/audio/ctc_asr: convolutions over a spectrogram, then recurrent layers."""
    spectrogram = keras.Input((None, 17), name="input")
    x = layers.Reshape((-1, 17, 1), name="expand_dim")(spectrogram)
    x = layers.Conv2D(4, [11, 9], strides=[2, 2], padding="same", use_bias=False, name="conv_1")(x)
    x = layers.ReLU(name="conv_1_relu")(layers.BatchNormalization(name="conv_1_bn")(x))
    x = layers.Conv2D(4, [11, 5], strides=[1, 2], padding="same", use_bias=False, name="conv_2")(x)
    x = layers.ReLU(name="conv_2_relu")(layers.BatchNormalization(name="conv_2_bn")(x))
    x = layers.Reshape((-1, x.shape[-2] * x.shape[-1]))(x)
    for i in range(2):
        recurrent = layers.GRU(8, activation="tanh", recurrent_activation="sigmoid", use_bias=True, return_sequences=True,
                               reset_after=True, name=f"gru_{i + 1}")
        x = layers.Bidirectional(recurrent, name=f"bidirectional_{i + 1}", merge_mode="concat")(x)
        x = layers.Dropout(rate=0.5)(x) if i == 0 else x
    x = layers.Dropout(rate=0.5)(layers.ReLU(name="dense_1_relu")(layers.Dense(units=16, name="dense_1")(x)))
    return keras.Model(spectrogram, layers.Dense(units=12, activation="softmax")(x), name="DeepSpeech_2")


@register
class Patches(layers.Layer):
    def __init__(self, patch_size, **kwargs):
        super().__init__(**kwargs)
        self.patch_size = patch_size

    def call(self, images):
        batch_size, height, width, channels = ops.shape(images)
        patches = ops.image.extract_patches(images, size=self.patch_size)
        places = (height // self.patch_size) * (width // self.patch_size)
        return ops.reshape(patches, (batch_size, places, self.patch_size * self.patch_size * channels))

    def get_config(self):
        return {**super().get_config(), "patch_size": self.patch_size}


@register
class PatchEncoder(layers.Layer):
    def __init__(self, num_patches, projection_dim, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (num_patches, projection_dim)
        self.projection = layers.Dense(units=projection_dim)
        self.position_embedding = layers.Embedding(input_dim=num_patches, output_dim=projection_dim)

    def call(self, patch):
        return self.projection(patch) + self.position_embedding(ops.expand_dims(ops.arange(0, self.sizes[0]), axis=0))

    def get_config(self):
        return {**super().get_config(), "num_patches": self.sizes[0], "projection_dim": self.sizes[1]}


def object_detection_with_vision_transformers():
    """examples/vision/object_detection_using_vision_transformer: the four numbers of a box."""
    image = keras.Input((24, 24, 3), name="image")
    x = PatchEncoder(16, 12)(Patches(6)(image))
    for _ in range(2):
        x1 = layers.LayerNormalization(epsilon=1e-6)(x)
        x2 = layers.Add()([layers.MultiHeadAttention(num_heads=3, key_dim=12, dropout=0.1)(x1, x1), x])
        x3 = layers.LayerNormalization(epsilon=1e-6)(x2)
        for units in (24, 12):
            x3 = layers.Dropout(0.1)(layers.Dense(units, activation=keras.activations.gelu)(x3))
        x = layers.Add()([x3, x2])
    x = layers.Dropout(0.3)(layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x)))
    for units in (16, 8):
        x = layers.Dropout(0.3)(layers.Dense(units, activation=keras.activations.gelu)(x))
    return keras.Model(image, layers.Dense(4)(x))


@register
class DetrDecoder(layers.Layer):
    """Trained queries attend to the features of an image: each detects an object and its box."""

    def __init__(self, queries, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (queries, width, heads)
        self.own = layers.MultiHeadAttention(heads, width // heads)
        self.cross = layers.MultiHeadAttention(heads, width // heads)
        self.norms = [layers.LayerNormalization() for _ in range(2)]

    def build(self, shape):
        self.queries = self.add_weight(shape=self.sizes[:2], initializer="random_normal", name="queries")

    def call(self, memory):
        x = ops.repeat(self.queries[None], ops.shape(memory)[0], axis=0)
        x = self.norms[0](x + self.own(x, x))
        return self.norms[1](x + self.cross(x, memory))

    def get_config(self):
        return {**super().get_config(), **dict(zip(("queries", "width", "heads"), self.sizes))}


def detection_transformer():
    image = keras.Input((32, 32, 3), name="image")
    x = layers.Conv2D(16, 8, strides=8)(image)
    memory = layers.Reshape((16, 16))(x)
    memory = layers.LayerNormalization()(memory + layers.MultiHeadAttention(2, 8)(memory, memory))
    x = DetrDecoder(5, 16, 2)(memory)
    return keras.Model(image, {"boxes": layers.Dense(4, activation="sigmoid")(x), "classes": layers.Dense(7)(x)})


@register
class AttentionPooling(layers.Layer):
    """examples/vision/patch_convnet: a class token that attends once, to convolutional features."""

    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.attention = layers.MultiHeadAttention(1, width)
        self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(3)]
        self.mlp = keras.Sequential([layers.Dense(width * 2, activation="gelu"), layers.Dense(width)])

    def build(self, shape):
        self.token = self.add_weight(shape=(1, 1, self.width), initializer="zeros", name="token")

    def call(self, x):
        places = ops.reshape(x, (ops.shape(x)[0], -1, self.width))
        token = ops.repeat(self.token, ops.shape(x)[0], axis=0)
        out = self.norms[0](ops.concatenate([token, places], axis=1))
        y, scores = self.attention(query=out[:, 0:1], key=out, value=out, return_attention_scores=True)
        y = self.norms[1](token + y)
        y = self.norms[2](y + self.mlp(y))
        return y[:, 0], scores[:, 0, 0, 1:]

    def get_config(self):
        return {**super().get_config(), "width": self.width}


def patch_convnet():
    image = keras.Input((24, 24, 3), name="image")
    x = image
    for _ in range(2):
        x = layers.Conv2D(12, 3, strides=2, padding="same", activation="gelu", use_bias=False)(x)
    for _ in range(2):
        y = layers.Conv2D(12, 1, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
        y = layers.Conv2D(12, 3, padding="same", activation="gelu")(y)
        gate = layers.Dense(12, activation="sigmoid")(layers.Dense(3, activation="gelu")(layers.GlobalAveragePooling2D(keepdims=True)(y)))
        x = layers.Add()([layers.Conv2D(12, 1)(layers.Multiply()([y, gate])), x])
    found, scores = AttentionPooling(12)(x)
    return keras.Model(image, [layers.Dense(4)(found), scores])


@register
class PatchMasking(layers.Layer):
    """examples/vision/masked_image_modeling, in the form after training: sine positions, no masked patches."""

    def call(self, x):
        places, width = x.shape[1:]
        angles = ops.arange(places, dtype="float32")[:, None] / ops.power(10000.0, 2 * (ops.arange(width, dtype="float32") // 2) / width)
        even = ops.cast(ops.arange(width) % 2 == 0, "float32")
        return x + even * ops.sin(angles) + (1 - even) * ops.cos(angles)


def masked_autoencoder():
    image = keras.Input((16, 16, 3), name="image")
    x = PatchMasking()(layers.Dense(12)(Patches(4)(image)))
    for width in (12, 8):
        x = layers.Dense(width)(x)
        n = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([x, layers.MultiHeadAttention(2, width // 2)(n, n)])
    x = layers.Dense(16 * 16 * 3, activation="sigmoid")(layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x)))
    return keras.Model(image, layers.Reshape((16, 16, 3))(x))


@register
class DualEncoder(keras.Model):
    """examples/vision/nl_image_search: an image and a text as unit vectors, and their similarity."""

    def __init__(self, width=8, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.look = keras.Sequential([layers.Conv2D(6, 4, strides=4), layers.GlobalAveragePooling2D(), layers.Dense(width)])
        self.embed = layers.Embedding(20, width, mask_zero=True)
        self.read = layers.Bidirectional(layers.LSTM(4))
        self.project = layers.Dense(width)
        self.temperature = self.add_weight(shape=(), initializer="ones", name="temperature")

    def call(self, inputs):
        image, ids = inputs
        seen = ops.normalize(self.look(image), axis=-1)
        heard = ops.normalize(self.project(self.read(self.embed(ids))), axis=-1)
        return ops.matmul(heard, ops.transpose(seen)) / self.temperature

    def get_config(self):
        return {**super().get_config(), "width": self.width}


def image_search_with_a_dual_encoder():
    model = DualEncoder()
    model([ops.zeros((2, 8, 8, 3)), ops.ones((2, 5), dtype="int32")])
    return model


MODELS = [captcha_ocr, crnn_with_attention, deep_speech_2, object_detection_with_vision_transformers, detection_transformer,
          patch_convnet, masked_autoencoder, image_search_with_a_dual_encoder]
