"""Encoders and decoders with the custom layers of keras.io/examples: translation, speech, captions."""
import keras
from keras import layers, ops

from text import causal_attention_mask

VOCABULARY, WIDTH, HEADS, HIDDEN = 30, 16, 2, 24


@keras.saving.register_keras_serializable()
class TransformerEncoder(layers.Layer):
    def __init__(self, embed_dim, dense_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.embed_dim, self.dense_dim, self.num_heads = embed_dim, dense_dim, num_heads
        self.attention = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.dense_proj = keras.Sequential([layers.Dense(dense_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm_1 = layers.LayerNormalization()
        self.layernorm_2 = layers.LayerNormalization()
        self.supports_masking = True

    def call(self, inputs, mask=None):
        padding_mask = ops.cast(mask[:, None, :], dtype="int32") if mask is not None else None
        attention_output = self.attention(query=inputs, value=inputs, key=inputs, attention_mask=padding_mask)
        proj_input = self.layernorm_1(inputs + attention_output)
        return self.layernorm_2(proj_input + self.dense_proj(proj_input))

    def get_config(self):
        return {**super().get_config(), "embed_dim": self.embed_dim, "dense_dim": self.dense_dim, "num_heads": self.num_heads}


@keras.saving.register_keras_serializable()
class PositionalEmbedding(layers.Layer):
    def __init__(self, sequence_length, vocab_size, embed_dim, **kwargs):
        super().__init__(**kwargs)
        self.token_embeddings = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.position_embeddings = layers.Embedding(input_dim=sequence_length, output_dim=embed_dim)
        self.sequence_length, self.vocab_size, self.embed_dim = sequence_length, vocab_size, embed_dim

    def call(self, inputs):
        length = ops.shape(inputs)[-1]
        positions = ops.arange(0, length, 1)
        return self.token_embeddings(inputs) + self.position_embeddings(positions)

    def compute_mask(self, inputs, mask=None):
        return ops.not_equal(inputs, 0)

    def get_config(self):
        return {**super().get_config(), "sequence_length": self.sequence_length, "vocab_size": self.vocab_size,
                "embed_dim": self.embed_dim}


@keras.saving.register_keras_serializable()
class TransformerDecoder(layers.Layer):
    def __init__(self, embed_dim, latent_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.embed_dim, self.latent_dim, self.num_heads = embed_dim, latent_dim, num_heads
        self.attention_1 = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.attention_2 = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.dense_proj = keras.Sequential([layers.Dense(latent_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm_1 = layers.LayerNormalization()
        self.layernorm_2 = layers.LayerNormalization()
        self.layernorm_3 = layers.LayerNormalization()
        self.supports_masking = True

    def call(self, inputs, mask=None):
        inputs, encoder_outputs = inputs
        causal_mask = self.get_causal_attention_mask(inputs)
        if mask is None:
            inputs_padding_mask, encoder_outputs_padding_mask = None, None
        else:
            inputs_padding_mask, encoder_outputs_padding_mask = mask
        attention_output_1 = self.attention_1(query=inputs, value=inputs, key=inputs, attention_mask=causal_mask,
                                              query_mask=inputs_padding_mask)
        out_1 = self.layernorm_1(inputs + attention_output_1)
        attention_output_2 = self.attention_2(query=out_1, value=encoder_outputs, key=encoder_outputs,
                                              query_mask=inputs_padding_mask, key_mask=encoder_outputs_padding_mask)
        out_2 = self.layernorm_2(out_1 + attention_output_2)
        return self.layernorm_3(out_2 + self.dense_proj(out_2))

    def get_causal_attention_mask(self, inputs):
        input_shape = ops.shape(inputs)
        batch_size, sequence_length = input_shape[0], input_shape[1]
        i = ops.arange(sequence_length)[:, None]
        j = ops.arange(sequence_length)
        mask = ops.cast(i >= j, dtype="int32")
        mask = ops.reshape(mask, (1, input_shape[1], input_shape[1]))
        return ops.tile(mask, (batch_size, 1, 1))

    def compute_mask(self, inputs, mask=None):
        return None if mask is None else mask[0]

    def get_config(self):
        return {**super().get_config(), "embed_dim": self.embed_dim, "latent_dim": self.latent_dim, "num_heads": self.num_heads}


def neural_machine_translation_with_transformer():
    """Its inputs have no length, and its decoder is a nested model."""
    encoder_inputs = keras.Input(shape=(None,), dtype="int64", name="encoder_inputs")
    x = PositionalEmbedding(20, VOCABULARY, WIDTH)(encoder_inputs)
    encoder_outputs = TransformerEncoder(WIDTH, HIDDEN, HEADS)(x)
    decoder_inputs = keras.Input(shape=(None,), dtype="int64", name="decoder_inputs")
    encoded_seq_inputs = keras.Input(shape=(None, WIDTH), name="decoder_state_inputs")
    x = PositionalEmbedding(20, VOCABULARY, WIDTH)(decoder_inputs)
    x = TransformerDecoder(WIDTH, HIDDEN, HEADS)([x, encoder_outputs])
    x = layers.Dropout(0.5)(x)
    decoder_outputs = layers.Dense(VOCABULARY, activation="softmax")(x)
    return keras.Model({"encoder_inputs": encoder_inputs, "decoder_inputs": decoder_inputs}, decoder_outputs,
                       name="transformer")


@keras.saving.register_keras_serializable()
class TokenEmbedding(layers.Layer):
    def __init__(self, num_vocab=VOCABULARY, maxlen=20, num_hid=WIDTH, **kwargs):
        super().__init__(**kwargs)
        self.emb = layers.Embedding(num_vocab, num_hid)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=num_hid)

    def call(self, x):
        maxlen = ops.shape(x)[-1]
        x = self.emb(x)
        positions = self.pos_emb(ops.arange(start=0, stop=maxlen, step=1))
        return x + positions


@keras.saving.register_keras_serializable()
class SpeechFeatureEmbedding(layers.Layer):
    def __init__(self, num_hid=WIDTH, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = layers.Conv1D(num_hid, 11, strides=2, padding="same", activation="relu")
        self.conv2 = layers.Conv1D(num_hid, 11, strides=2, padding="same", activation="relu")
        self.conv3 = layers.Conv1D(num_hid, 11, strides=2, padding="same", activation="relu")

    def call(self, x):
        return self.conv3(self.conv2(self.conv1(x)))


@keras.saving.register_keras_serializable()
class SpeechDecoder(layers.Layer):
    def __init__(self, embed_dim=WIDTH, num_heads=HEADS, feed_forward_dim=HIDDEN, dropout_rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm3 = layers.LayerNormalization(epsilon=1e-6)
        self.self_att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.enc_att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.self_dropout = layers.Dropout(0.5)
        self.enc_dropout = layers.Dropout(0.1)
        self.ffn_dropout = layers.Dropout(0.1)
        self.ffn = keras.Sequential([layers.Dense(feed_forward_dim, activation="relu"), layers.Dense(embed_dim)])

    def call(self, enc_out, target, training):
        batch_size, seq_len = ops.shape(target)[0], ops.shape(target)[1]
        causal_mask = causal_attention_mask(batch_size, seq_len, seq_len, "bool")
        target_att = self.self_att(target, target, attention_mask=causal_mask)
        target_norm = self.layernorm1(target + self.self_dropout(target_att, training=training))
        enc_out = self.enc_att(target_norm, enc_out)
        enc_out_norm = self.layernorm2(self.enc_dropout(enc_out, training=training) + target_norm)
        ffn_out = self.ffn(enc_out_norm)
        return self.layernorm3(enc_out_norm + self.ffn_dropout(ffn_out, training=training))


@keras.saving.register_keras_serializable()
class SpeechTransformer(keras.Model):
    """A subclassed model of two inputs, whose encoder is a Sequential with a custom layer in it."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.enc_input = SpeechFeatureEmbedding()
        self.dec_input = TokenEmbedding()
        self.encoder = keras.Sequential([self.enc_input, TransformerEncoder(WIDTH, HIDDEN, HEADS)])
        self.dec_layer_0 = SpeechDecoder()
        self.classifier = layers.Dense(VOCABULARY)

    def call(self, inputs, training=False):
        source, target = inputs
        x = self.encoder(source)
        y = self.dec_input(target)
        y = self.dec_layer_0(x, y, training=training)
        return self.classifier(y)


def transformer_asr():
    model = SpeechTransformer()
    model([ops.zeros((1, 64, 9)), ops.zeros((1, 6), "int32")])
    return model


@keras.saving.register_keras_serializable()
class CaptionDecoderBlock(layers.Layer):
    """Image captions: queries of tokens over features of an image, with masks that the caller gives."""

    def __init__(self, embed_dim=WIDTH, ff_dim=HIDDEN, num_heads=HEADS, vocab_size=VOCABULARY, **kwargs):
        super().__init__(**kwargs)
        self.attention_1 = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim, dropout=0.1)
        self.attention_2 = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim, dropout=0.1)
        self.ffn_layer_1 = layers.Dense(ff_dim, activation="relu")
        self.ffn_layer_2 = layers.Dense(embed_dim)
        self.layernorm_1, self.layernorm_2, self.layernorm_3 = (layers.LayerNormalization() for _ in range(3))
        self.embedding = TokenEmbedding(vocab_size, 20, embed_dim)
        self.out = layers.Dense(vocab_size, activation="softmax")
        self.dropout_1, self.dropout_2 = layers.Dropout(0.3), layers.Dropout(0.5)
        self.supports_masking = True

    def call(self, inputs, encoder_outputs, training=None, mask=None):
        inputs = self.embedding(inputs)
        batch_size, length = ops.shape(inputs)[0], ops.shape(inputs)[1]
        causal_mask = causal_attention_mask(batch_size, length, length, "int32")
        attention_output_1 = self.attention_1(query=inputs, value=inputs, key=inputs, attention_mask=causal_mask,
                                              training=training)
        out_1 = self.layernorm_1(inputs + attention_output_1)
        attention_output_2 = self.attention_2(query=out_1, value=encoder_outputs, key=encoder_outputs, training=training)
        out_2 = self.layernorm_2(out_1 + attention_output_2)
        ffn_out = self.dropout_1(self.ffn_layer_1(out_2), training=training)
        ffn_out = self.layernorm_3(self.ffn_layer_2(ffn_out) + out_2, training=training)
        return self.out(self.dropout_2(ffn_out, training=training))


def image_captioning():
    image = keras.Input((16, 16, 3), name="image")
    x = layers.Conv2D(12, 5, 4, activation="relu")(image)
    x = layers.Reshape((-1, 12))(x)
    x = layers.Dense(WIDTH, activation="relu")(layers.LayerNormalization()(x))
    features = TransformerEncoder(WIDTH, HIDDEN, 1)(x)
    tokens = keras.Input((8,), dtype="int32", name="tokens")
    return keras.Model([image, tokens], CaptionDecoderBlock()(tokens, features))


@keras.saving.register_keras_serializable()
class BaseAttention(layers.Layer):
    """The attention layers of the translation tutorial, which have a common base class."""

    def __init__(self, **kwargs):
        super().__init__()
        self.mha = layers.MultiHeadAttention(**kwargs)
        self.layernorm = layers.LayerNormalization()
        self.add = layers.Add()
        self.options = kwargs

    def get_config(self):
        return self.options


@keras.saving.register_keras_serializable()
class CrossAttention(BaseAttention):
    def call(self, x, context):
        attn_output, attn_scores = self.mha(query=x, key=context, value=context, return_attention_scores=True)
        self.last_attn_scores = attn_scores
        return self.layernorm(self.add([x, attn_output]))


@keras.saving.register_keras_serializable()
class CausalSelfAttention(BaseAttention):
    def call(self, x):
        return self.layernorm(self.add([x, self.mha(query=x, value=x, key=x, use_causal_mask=True)]))


@keras.saving.register_keras_serializable()
class SinePositions(layers.Layer):
    def __init__(self, vocab_size, d_model, **kwargs):
        super().__init__(**kwargs)
        self.vocab_size, self.d_model = vocab_size, d_model
        self.embedding = layers.Embedding(vocab_size, d_model, mask_zero=True)
        depth = ops.arange(d_model // 2, dtype="float32")[None, :] / (d_model / 2)
        angles = ops.arange(128, dtype="float32")[:, None] / 10000.0**depth
        self.pos_encoding = ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)

    def compute_mask(self, *args, **kwargs):
        return self.embedding.compute_mask(*args, **kwargs)

    def call(self, x):
        length = ops.shape(x)[1]
        x = self.embedding(x)
        x *= ops.sqrt(ops.cast(self.d_model, "float32"))
        return x + self.pos_encoding[None, :length, :]

    def get_config(self):
        return {**super().get_config(), "vocab_size": self.vocab_size, "d_model": self.d_model}


def translation_tutorial():
    """Masks pass through an embedding, three kinds of attention, and additions."""
    context = keras.Input((9,), dtype="int32", name="context")
    x = keras.Input((7,), dtype="int32", name="x")
    c = SinePositions(VOCABULARY, WIDTH)(context)
    y = SinePositions(VOCABULARY, WIDTH)(x)
    y = CausalSelfAttention(num_heads=HEADS, key_dim=WIDTH)(y)
    y = CrossAttention(num_heads=HEADS, key_dim=WIDTH)(y, context=c)
    return keras.Model([context, x], layers.Dense(VOCABULARY)(y))


MODELS = [neural_machine_translation_with_transformer, transformer_asr, image_captioning, translation_tutorial]
