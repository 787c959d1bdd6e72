"""Text models with the custom layers of keras.io/examples/nlp, small: each function gives a model."""
import keras
from keras import layers, ops

VOCABULARY, LENGTH, WIDTH, HEADS = 40, 12, 16, 2


@keras.saving.register_keras_serializable()
class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (embed_dim, num_heads, ff_dim, rate)
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)

    def call(self, inputs, training=None):
        attn_output = self.att(inputs, inputs)
        attn_output = self.dropout1(attn_output, training=training)
        out1 = self.layernorm1(inputs + attn_output)
        ffn_output = self.ffn(out1)
        ffn_output = self.dropout2(ffn_output, training=training)
        return self.layernorm2(out1 + ffn_output)

    def get_config(self):
        return {**super().get_config(), **dict(zip(("embed_dim", "num_heads", "ff_dim", "rate"), self.sizes))}


@keras.saving.register_keras_serializable()
class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (maxlen, vocab_size, embed_dim)
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, x):
        maxlen = ops.shape(x)[-1]
        positions = ops.arange(start=0, stop=maxlen, step=1)
        positions = self.pos_emb(positions)
        x = self.token_emb(x)
        return x + positions

    def get_config(self):
        return {**super().get_config(), **dict(zip(("maxlen", "vocab_size", "embed_dim"), self.sizes))}


def text_classification_with_transformer():
    inputs = layers.Input(shape=(LENGTH,))
    x = TokenAndPositionEmbedding(LENGTH, VOCABULARY, WIDTH)(inputs)
    x = TransformerBlock(WIDTH, HEADS, 32)(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.1)(x)
    x = layers.Dense(20, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(2, activation="softmax")(x))


def causal_attention_mask(batch_size, n_dest, n_src, dtype):
    i = ops.arange(n_dest)[:, None]
    j = ops.arange(n_src)
    m = i >= j - n_src + n_dest
    mask = ops.cast(m, dtype)
    mask = ops.reshape(mask, [1, n_dest, n_src])
    return ops.tile(mask, (batch_size, 1, 1))


@keras.saving.register_keras_serializable()
class CausalTransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (embed_dim, num_heads, ff_dim)
        self.att = layers.MultiHeadAttention(num_heads, embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)

    def call(self, inputs):
        input_shape = ops.shape(inputs)
        batch_size = input_shape[0]
        seq_len = input_shape[1]
        causal_mask = causal_attention_mask(batch_size, seq_len, seq_len, "bool")
        attention_output = self.att(inputs, inputs, attention_mask=causal_mask)
        out1 = self.layernorm1(inputs + attention_output)
        return self.layernorm2(out1 + self.ffn(out1))

    def get_config(self):
        return {**super().get_config(), **dict(zip(("embed_dim", "num_heads", "ff_dim"), self.sizes))}


def text_generation_with_miniature_gpt():
    inputs = layers.Input(shape=(LENGTH,), dtype="int32")
    x = TokenAndPositionEmbedding(LENGTH, VOCABULARY, WIDTH)(inputs)
    x = CausalTransformerBlock(WIDTH, HEADS, 32)(x)
    x = CausalTransformerBlock(WIDTH, HEADS, 32)(x)
    return keras.Model(inputs, [layers.Dense(VOCABULARY)(x), x])


@keras.saving.register_keras_serializable()
class NERModel(keras.Model):
    """A subclassed model, as in the example on named entities."""

    def __init__(self, num_tags, vocab_size, maxlen=LENGTH, embed_dim=WIDTH, num_heads=HEADS, ff_dim=32, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (num_tags, vocab_size)
        self.embedding_layer = TokenAndPositionEmbedding(maxlen, vocab_size, embed_dim)
        self.transformer_block = TransformerBlock(embed_dim, num_heads, ff_dim)
        self.dropout1 = layers.Dropout(0.1)
        self.ff = layers.Dense(ff_dim, activation="relu")
        self.dropout2 = layers.Dropout(0.1)
        self.ff_final = layers.Dense(num_tags, activation="softmax")

    def call(self, inputs, training=False):
        x = self.embedding_layer(inputs)
        x = self.transformer_block(x)
        x = self.dropout1(x, training=training)
        x = self.ff(x)
        x = self.dropout2(x, training=training)
        return self.ff_final(x)

    def get_config(self):
        return {**super().get_config(), **dict(zip(("num_tags", "vocab_size"), self.sizes))}


def ner_transformers():
    model = NERModel(5, VOCABULARY)
    model(ops.zeros((1, LENGTH), "int32"))
    return model


@keras.saving.register_keras_serializable()
class Router(layers.Layer):
    def __init__(self, num_experts, expert_capacity, **kwargs):
        super().__init__(**kwargs)
        self.num_experts, self.expert_capacity = num_experts, expert_capacity
        self.route = layers.Dense(units=num_experts)

    def call(self, inputs, training=False):
        router_logits = self.route(inputs)
        router_probs = keras.activations.softmax(router_logits, axis=-1)
        expert_gate, expert_index = ops.top_k(router_probs, k=1)
        expert_mask = ops.one_hot(ops.squeeze(expert_index, -1), self.num_experts)
        position_in_expert = ops.cast(ops.cumsum(expert_mask, axis=0) * expert_mask, "int32")
        expert_mask = expert_mask * ops.cast(
            ops.less(ops.cast(position_in_expert, "int32"), self.expert_capacity), expert_mask.dtype)
        expert_gate = expert_gate * ops.sum(expert_mask, -1, keepdims=True)
        return expert_gate, expert_mask

    def get_config(self):
        return {**super().get_config(), "num_experts": self.num_experts, "expert_capacity": self.expert_capacity}


@keras.saving.register_keras_serializable()
class Switch(layers.Layer):
    """The experts of the Switch Transformer; each token is routed to one of them."""

    def __init__(self, num_experts, embed_dim, ff_dim, **kwargs):
        super().__init__(**kwargs)
        self.sizes = (num_experts, embed_dim, ff_dim)
        self.experts = [keras.Sequential([layers.Dense(ff_dim, "gelu"), layers.Dense(embed_dim)]) for _ in range(num_experts)]
        self.router = Router(num_experts, 1000)

    def call(self, inputs):
        length, width = inputs.shape[1:]
        tokens = ops.reshape(inputs, [-1, width])
        gate, mask = self.router(tokens)
        outputs = ops.stack([expert(tokens) for expert in self.experts], axis=1)
        mixed = ops.einsum("td,te->td", ops.sum(outputs * ops.expand_dims(mask, -1), axis=1), ops.ones_like(gate))
        return ops.reshape(mixed * gate, [-1, length, width])

    def get_config(self):
        return {**super().get_config(), **dict(zip(("num_experts", "embed_dim", "ff_dim"), self.sizes))}


def text_classification_with_switch_transformer():
    inputs = layers.Input(shape=(LENGTH,), dtype="int32")
    x = TokenAndPositionEmbedding(LENGTH, VOCABULARY, WIDTH)(inputs)
    attended = layers.MultiHeadAttention(HEADS, WIDTH)(x, x)
    x = layers.LayerNormalization(epsilon=1e-6)(x + attended)
    x = layers.LayerNormalization(epsilon=1e-6)(x + Switch(3, WIDTH, 24)(x))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(2, activation="softmax")(x))


@keras.saving.register_keras_serializable()
class BahdanauAttention(layers.Layer):
    """Additive attention over the states of a recurrent layer, with variables of its own."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.supports_masking = True

    def build(self, input_shape):
        self.W = self.add_weight(shape=(input_shape[-1], self.units), initializer="glorot_uniform", name="W")
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", name="b")
        self.v = self.add_weight(shape=(self.units, 1), initializer="glorot_uniform", name="v")

    def call(self, x, mask=None):
        scores = ops.matmul(ops.tanh(ops.matmul(x, self.W) + self.b), self.v)
        if mask is not None:
            scores += (1.0 - ops.cast(ops.expand_dims(mask, -1), scores.dtype)) * -1e9
        weights = ops.softmax(scores, axis=1)
        return ops.sum(weights * x, axis=1), ops.squeeze(weights, -1)

    def compute_mask(self, inputs, mask=None):
        return None

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def lstm_with_attention():
    inputs = layers.Input(shape=(LENGTH,), dtype="int32")
    x = layers.Embedding(VOCABULARY, WIDTH, mask_zero=True)(inputs)
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True))(x)
    context, weights = BahdanauAttention(10)(x)
    return keras.Model(inputs, {"class": layers.Dense(1, activation="sigmoid")(context), "weights": weights})


@keras.saving.register_keras_serializable()
class RotaryAttention(layers.Layer):
    """Self-attention with rotary queries and keys and a causal mask, as in current decoders."""

    def __init__(self, num_heads, head_dim, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.head_dim = num_heads, head_dim
        self.qkv = layers.Dense(3 * num_heads * head_dim, use_bias=False, name="qkv")
        self.out = layers.Dense(num_heads * head_dim, use_bias=False, name="out")

    def rotate(self, x):
        length = x.shape[2]
        half = self.head_dim // 2
        frequency = ops.power(10000.0, -ops.arange(half, dtype="float32") / half)
        angle = ops.expand_dims(ops.arange(length, dtype="float32"), 1) * frequency
        cos, sin = ops.cos(angle), ops.sin(angle)
        a, b = ops.split(x, 2, axis=-1)
        return ops.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

    def call(self, x):
        batch, length, _ = ops.shape(x)
        qkv = ops.reshape(self.qkv(x), (batch, length, 3, self.num_heads, self.head_dim))
        q, k, v = ops.unstack(ops.transpose(qkv, (2, 0, 3, 1, 4)), axis=0)
        scores = ops.einsum("bhqd,bhkd->bhqk", self.rotate(q), self.rotate(k)) / self.head_dim**0.5
        mask = ops.triu(ops.ones((length, length)), k=1)
        weights = ops.softmax(scores - 1e9 * mask, axis=-1)
        x = ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3))
        return self.out(ops.reshape(x, (batch, length, self.num_heads * self.head_dim)))

    def get_config(self):
        return {**super().get_config(), "num_heads": self.num_heads, "head_dim": self.head_dim}


@keras.saving.register_keras_serializable()
class SwiGLU(layers.Layer):
    def __init__(self, hidden, **kwargs):
        super().__init__(**kwargs)
        self.hidden = hidden

    def build(self, shape):
        self.gate = layers.Dense(self.hidden, use_bias=False)
        self.up = layers.Dense(self.hidden, use_bias=False)
        self.down = layers.Dense(shape[-1], use_bias=False)
        for layer in (self.gate, self.up):
            layer.build(shape)
        self.down.build((*shape[:-1], self.hidden))

    def call(self, x):
        return self.down(ops.silu(self.gate(x)) * self.up(x))

    def get_config(self):
        return {**super().get_config(), "hidden": self.hidden}


def decoder_with_rotary_positions():
    inputs = layers.Input(shape=(LENGTH,), dtype="int32")
    x = layers.Embedding(VOCABULARY, WIDTH)(inputs)
    for _ in range(2):
        x = x + RotaryAttention(2, 8)(layers.RMSNormalization()(x))
        x = x + SwiGLU(32)(layers.RMSNormalization()(x))
    return keras.Model(inputs, layers.Dense(VOCABULARY)(x))


def text_classification_end_to_end():
    """String inputs: the vocabulary is part of the model."""
    text = keras.Input((1,), dtype="string", name="text")
    ids = layers.TextVectorization(output_sequence_length=LENGTH, vocabulary=["the", "a", "of", "and", "movie"])(text)
    x = TransformerBlock(WIDTH, HEADS, 32)(TokenAndPositionEmbedding(LENGTH, VOCABULARY, WIDTH)(ids))
    return keras.Model(text, layers.Dense(2, activation="softmax")(layers.GlobalAveragePooling1D()(x)))


@keras.saving.register_keras_serializable()
class SpatialGatingUnit(layers.Layer):
    """gMLP's gate, which replaces attention."""

    def build(self, shape):
        self.norm = layers.LayerNormalization(epsilon=1e-6)
        self.norm.build((*shape[:-1], shape[-1] // 2))
        self.kernel = self.add_weight(shape=(shape[1], shape[1]), initializer="glorot_uniform", name="kernel")
        self.bias = self.add_weight(shape=(shape[1],), initializer="ones", name="bias")

    def call(self, x):
        u, v = ops.split(x, 2, axis=-1)
        v = ops.einsum("bnd,nm->bmd", self.norm(v), self.kernel) + self.bias[None, :, None]
        return u * v


def gmlp_language_model():
    inputs = layers.Input(shape=(LENGTH,), dtype="int32")
    x = layers.Embedding(VOCABULARY, WIDTH)(inputs)
    for _ in range(2):
        h = layers.Dense(32, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(WIDTH)(SpatialGatingUnit()(h))
    return keras.Model(inputs, layers.Dense(VOCABULARY)(x))


MODELS = [text_classification_with_transformer, text_generation_with_miniature_gpt, ner_transformers,
          text_classification_with_switch_transformer, lstm_with_attention, decoder_with_rotary_positions,
          text_classification_end_to_end, gmlp_language_model]
