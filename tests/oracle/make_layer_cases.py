"""Writes tests/data/keras/families (models with the layers of a family) and the single layers in tests/data/keras/layers, with
real Keras and KerasHub.

usage: make_layer_cases.py DATA_DIR [NAME…]
       (DATA_DIR is tests/data/keras; needs: pip install keras tensorflow-cpu keras-hub)

The same seed writes the same values. tests/data/README.md describes the files.
"""
import json
import os
import pathlib
import sys
import zlib

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import keras_hub
import numpy as np
import tensorflow as tf
from keras import layers as L
from keras.src.saving.serialization_lib import ObjectSharingScope
from keras_hub import layers as H
from keras_hub.src.models.gemma3.gemma3_vision_encoder import Gemma3VisionEncoder
from keras_hub.src.models.qwen3_5.qwen3_5_vision_encoder import Qwen3_5VisionEncoder
from keras_hub.src.models.gemma3n.gemma3n_audio_encoder import Gemma3nAudioEncoder
from keras_hub.src.models.gemma4.gemma4_audio_encoder import Gemma4AudioEncoder
from keras_hub.src.models.gemma4.gemma4_vision_encoder import Gemma4VisionEncoder

import operation_cases

BATCH, STEPS, WIDTH, VOCABULARY = 3, 6, 4, 9
CASES = dict(operation_cases.CASES)


def case(build):
    CASES[build.__name__] = build
    return build


def tokens(name="ids"):
    return keras.Input((STEPS,), dtype="int32", name=name)


def embedded(ids, mask_zero=True):
    return L.Embedding(VOCABULARY, WIDTH, mask_zero=mask_zero)(ids)


@case
def normalization():
    x = keras.Input((STEPS, WIDTH), name="x")
    image = keras.Input((WIDTH, 2, 3), name="image")
    return keras.Model([x, image], [
        L.LayerNormalization(axis=[2, 1], rms_scaling=True)(x), L.LayerNormalization(axis=[-2, -1], center=False)(x),
        L.RMSNormalization(axis=[1, 2], epsilon=1e-3)(x), L.BatchNormalization(axis=1, scale=False)(x),
        L.BatchNormalization(renorm=True, center=False)(x), L.GroupNormalization(groups=-1)(x),
        L.GroupNormalization(groups=2, axis=1)(image), L.GroupNormalization(groups=1, axis=-2, scale=False)(image),
        L.UnitNormalization(axis=[1, 2])(x)])


@case
def categories():
    x, row, one = (keras.Input(shape, name=name) for name, shape in (("x", (STEPS, 2)), ("row", (STEPS,)), ("one", (1,))))
    ids, id_ = tokens(), keras.Input((1,), dtype="int64", name="id")
    bins = [-0.8, -0.1, 0.3, 1.1]
    return keras.Model([x, row, one, ids, id_], [
        L.Discretization(bins)(x), L.Discretization(bins, output_mode="one_hot")(one),
        L.Discretization(bins, output_mode="multi_hot")(row), L.Discretization(bins, output_mode="count")(row),
        L.CategoryEncoding(VOCABULARY)(ids), L.CategoryEncoding(VOCABULARY, output_mode="one_hot")(id_),
        L.CategoryEncoding(VOCABULARY, output_mode="one_hot")(ids), L.CategoryEncoding(VOCABULARY, output_mode="count")(ids),
        L.CategoryEncoding(VOCABULARY, output_mode="count")(ids, count_weights=row),
        L.IntegerLookup(vocabulary=[3, 7, 1])(ids), L.IntegerLookup(vocabulary=[3, 7], mask_token=0, num_oov_indices=2)(ids),
        L.IntegerLookup(vocabulary=[3, 7, 1], output_mode="multi_hot")(ids),
        L.IntegerLookup(vocabulary=[3, 7, 1], output_mode="one_hot")(id_)])


@case
def value_of_one_entry():
    """Without fused attention, Keras broadcasts inputs with one batch entry."""
    x = keras.Input(batch_shape=(BATCH, STEPS, WIDTH), name="x")
    one = keras.Input(batch_shape=(1, 5, WIDTH), name="one")
    attend = lambda: L.MultiHeadAttention(2, 3, dropout=0.1)
    return keras.Model([x, one], [attend()(x, one), attend()(one, x)])


@case
def merge():
    x, y, z = (keras.Input(s, name=n) for n, s in (("x", (None, WIDTH)), ("y", (5, 1)), ("z", (WIDTH,))))
    p, q = keras.Input((2, 5, 3), name="p"), keras.Input((3, 4, 6), name="q")
    return keras.Model([x, y, z, p, q], [
        L.Add()([x, y]), L.Average()([x, z]), L.Maximum()([x, y, z]), L.Multiply()([x]), L.Concatenate(axis=1)([x, x]),
        L.Concatenate()([x, y]), L.Dot(axes=1, normalize=True)([z, z]), L.Dot(axes=[3, 1])([p, q]),
        L.Dot(axes=[1, 2])([z, x]), L.Dot(axes=[2, 1])([x, z])])


@case
def merge_masked():
    """Both sides masked, then one side only; the resulting mask affects the mean."""
    a, b = tokens("a"), tokens("b")
    x, y, plain = embedded(a), embedded(b), embedded(b, mask_zero=False)
    outputs = []
    for layer, other in [(L.Add, y), (L.Multiply, y), (L.Multiply, plain), (L.Maximum, y), (L.Minimum, plain), (L.Concatenate, y),
                         (lambda: L.Concatenate(axis=1), plain)]:
        merged = layer()([x, other])
        outputs += [merged, L.GlobalAveragePooling1D()(merged)]
    return keras.Model([a, b], outputs)


@case
def reshape():
    x, image = keras.Input((None, 6), name="x"), keras.Input((6, 7, 3), name="image")
    volume = keras.Input((2, 5, 4, 6), name="volume")
    return keras.Model([x, image, volume], [
        L.Reshape((3, -1, 2))(x), L.Flatten()(x), L.Flatten(data_format="channels_first")(image), L.Permute((3, 1, 2))(image),
        L.ZeroPadding1D((2, 1))(x), L.ZeroPadding2D(((1, 2), (0, 3)), data_format="channels_first")(image),
        L.ZeroPadding3D(1)(volume), L.Cropping1D((1, 0))(x), L.Cropping2D(((1, 2), (0, 3)))(image),
        L.Cropping3D(((1, 0), (0, 2), (1, 1)), data_format="channels_first")(volume), L.UpSampling1D(3)(x),
        L.UpSampling2D((2, 3), data_format="channels_first")(image), L.UpSampling3D((1, 2, 2))(volume)])


@case
def pooling():
    x, image, volume = (keras.Input(s, name=n) for n, s in (("x", (None, 4)), ("image", (3, 7, 6)), ("volume", (5, 6, 4, 2))))
    ids = tokens()
    first = dict(data_format="channels_first")
    return keras.Model([x, image, volume, ids], [
        L.MaxPooling1D(2, padding="same")(x), L.AveragePooling1D(3, strides=2, padding="same")(x),
        L.MaxPooling2D((2, 3), strides=(1, 2), **first)(image), L.AveragePooling2D(2, padding="same", **first)(image),
        L.MaxPooling3D(2)(volume), L.AveragePooling3D((1, 2, 3), padding="same")(volume),
        L.GlobalMaxPooling2D(keepdims=True, **first)(image), L.GlobalAveragePooling3D()(volume),
        L.GlobalAveragePooling1D(keepdims=True, **first)(x), L.GlobalAveragePooling1D(keepdims=True)(embedded(ids))])


@case
def adaptive_pooling():
    x, image, volume = (keras.Input(s, name=n) for n, s in (("x", (7, 4)), ("image", (3, 7, 6)), ("volume", (5, 6, 4, 2))))
    return keras.Model([x, image, volume], [
        L.AdaptiveAveragePooling1D(3)(x), L.AdaptiveMaxPooling1D(7)(x), L.AdaptiveAveragePooling2D((3, 4), data_format="channels_first")(image),
        L.AdaptiveMaxPooling2D(2)(image), L.AdaptiveAveragePooling3D((2, 6, 3))(volume), L.AdaptiveMaxPooling3D((2, 3, 2))(volume)])


@case
def scores_masked():
    """A softmax over the scores of an attention layer uses the mask of its own softmax."""
    x, image, ids = keras.Input((5, WIDTH), name="x"), keras.Input((3, 3, WIDTH), name="image"), tokens()
    mask = keras.Input((5, 5), dtype="bool", name="mask")
    masked = embedded(ids)
    encoded = H.TransformerEncoder(6, 2)(masked, return_attention_scores=True)
    outputs = [encoded[0] if isinstance(encoded, (list, tuple)) else encoded]
    for layer, inputs, options in [
            (L.MultiHeadAttention(2, 3), (x, x), dict(attention_mask=mask)),
            (L.MultiHeadAttention(2, 3, sliding_window=2, dropout=0.1), (masked, x), {}),
            (L.MultiHeadAttention(2, 3, attention_axes=2), (image, image), dict(use_causal_mask=True)),
            (L.MultiHeadAttention(2, 3, attention_axes=1), (image, image), dict(use_causal_mask=True)),
            (L.GroupQueryAttention(3, 4, 2), (x, x), dict(use_causal_mask=True, attention_mask=mask)),
            (H.CachedMultiHeadAttention(2, 3), (x, x), dict(attention_mask=mask))]:
        y, scores = layer(*inputs, return_attention_scores=True, **options)
        outputs += [y, L.Softmax()(scores)]
    return keras.Model([x, image, ids, mask], outputs)


@case
def attention_over_rows():
    """Axis 0 is attended by the explicit computation; the fused one of rank 3 attends to axis 1 whatever the axes."""
    row, x, ids = keras.Input((WIDTH,), name="row"), keras.Input((5, WIDTH), name="x"), tokens()
    mask = keras.Input(batch_shape=(BATCH, BATCH), dtype="bool", name="mask")
    outputs = [
        L.MultiHeadAttention(2, 3, attention_axes=0)(row, row),
        L.MultiHeadAttention(2, 3, attention_axes=(0,), value_dim=4, output_shape=5)(row, row, attention_mask=mask),
        L.MultiHeadAttention(2, 3, attention_axes=0)(x, x),
        L.MultiHeadAttention(2, 3, attention_axes=0)(embedded(ids, False), embedded(ids, False)),
        L.MultiHeadAttention(2, 3, attention_axes=-2, use_bias=False)(row, row)]
    for inputs in ((row, row), (x, x)):
        outputs += L.MultiHeadAttention(2, 3, attention_axes=0)(*inputs, return_attention_scores=True)
    return keras.Model([row, x, ids, mask], outputs)


@case
def symbolic_shapes():
    """Cases where Keras's symbolic shapes differ from the computed ones, or are less known."""
    places = keras.Input(batch_shape=(BATCH, 2), dtype="int32", name="mask_positions")
    x, fixed = keras.Input((2, WIDTH), name="x"), keras.Input(batch_shape=(BATCH, 2, WIDTH), name="fixed")
    ops = keras.ops
    return keras.Model([x, fixed, places], [
        ops.rot90(x, k=0, axes=(1, 2)), ops.rot90(x, k=-1, axes=(1, 2)), H.MaskedLMHead(vocabulary_size=3)(x, places),
        ops.append(x, fixed, axis=1), ops.append(fixed, x, axis=-1), ops.dstack([x, fixed]), ops.concatenate([x, fixed], axis=1),
        ops.nancumsum(ops.log(x), axis=1), ops.nancumprod(ops.sqrt(fixed))])


@case
def spectral_normalization():
    x, ids = keras.Input((STEPS, WIDTH), name="x"), tokens()
    return keras.Model([x, ids], [
        L.SpectralNormalization(L.Dense(3))(x), L.SpectralNormalization(L.Conv1D(2, 3, use_bias=False), power_iterations=2)(x),
        L.SpectralNormalization(L.Dense(3, trainable=False))(x)])


@case
def convolution():
    x, image, volume = (keras.Input(s, name=n) for n, s in (("x", (None, 4)), ("image", (3, 7, 8)), ("volume", (5, 6, 4, 2))))
    first = dict(data_format="channels_first")
    return keras.Model([x, image, volume], [
        L.Conv1D(6, 3, padding="causal", groups=2, use_bias=False)(x), L.Conv1D(6, 2, strides=2, padding="same")(x),
        L.Conv2D(5, (3, 2), dilation_rate=(1, 2), padding="same", activation="softmax", **first)(image),
        L.Conv3D(3, (2, 3, 1), strides=(1, 2, 1))(volume), L.DepthwiseConv1D(3, depth_multiplier=2, dilation_rate=2)(x),
        L.DepthwiseConv2D(3, strides=2, dilation_rate=2, padding="same", **first)(image),
        L.SeparableConv1D(5, 2, padding="same", activation="relu")(x),
        L.SeparableConv2D(5, 3, depth_multiplier=2, use_bias=False, **first)(image)])


@case
def convolution_transposed():
    x, image, volume = (keras.Input(s, name=n) for n, s in (("x", (None, 4)), ("image", (3, 5, 4)), ("volume", (3, 2, 4, 2))))
    return keras.Model([x, image, volume], [
        L.Conv1DTranspose(3, 4, strides=3, padding="same", activation="relu")(x), L.Conv1DTranspose(3, 2, strides=3)(x),
        L.Conv1DTranspose(3, 3, dilation_rate=2, use_bias=False)(x),
        L.Conv2DTranspose(2, (3, 4), strides=(2, 3), padding="same", output_padding=(1, 2), data_format="channels_first")(image),
        L.Conv3DTranspose(2, (2, 1, 3), strides=(2, 1, 2), padding="valid")(volume)])


@case
def einsum_dense():
    x, y, z = (keras.Input(s, name=n) for n, s in (("x", (5, WIDTH)), ("y", (3, 5, WIDTH)), ("z", (None, WIDTH))))
    return keras.Model([x, y, z], [
        L.EinsumDense("...x,xy->...y", 7, bias_axes="y", activation="gelu")(y),
        L.EinsumDense("...x,xyz->...yz", (2, 3), bias_axes="z")(z), L.EinsumDense("abc,dc->abd", (5, 3), bias_axes="bd")(x),
        L.EinsumDense("abc,bd->adc", (7, None), bias_axes="d")(x), L.EinsumDense("ab...,bc->ac...", 7, bias_axes="c")(y),
        L.EinsumDense("abc,bcd->abd", (5, 6))(x)])


@case
def activations():
    x, kept, ints = keras.Input((5, WIDTH), name="x"), keras.Input((5, WIDTH), dtype="bool", name="kept"), tokens()
    return keras.Model([x, kept, ints], [
        L.ReLU()(x), L.ReLU(6)(x), L.PReLU("random_normal")(x), L.PReLU("random_normal", shared_axes=2)(x), L.ELU(0.5)(x),
        L.Softmax(axis=[1, 2])(x), L.Softmax(axis=1)(x, mask=kept), L.Rescaling([1.0, 2.0, 3.0, 4.0], 0.5)(x), L.Rescaling(2)(ints),
        L.Normalization(axis=1)(x), L.Normalization(axis=None)(x), L.Normalization(mean=[1.0, 2, 3, 4], variance=[1.0, 2, 3, 4], invert=True)(x),
        L.SpatialDropout1D(0.5)(L.GaussianDropout(0.1)(L.AlphaDropout(0.1)(L.ActivityRegularization(0.1)(x))))])


@case
def recurrent():
    x, h, c = keras.Input((None, WIDTH), name="x"), keras.Input((3,), name="h"), keras.Input((3,), name="c")
    return keras.Model([x, h, c], [
        *L.LSTM(3, return_state=True, return_sequences=True)(x, initial_state=[h, c]),
        *L.GRU(3, return_state=True, go_backwards=True, return_sequences=True)(x, initial_state=h),
        L.SimpleRNN(3, activation="relu", use_bias=False, go_backwards=True)(x),
        L.GRU(3, reset_after=False, recurrent_activation="hard_sigmoid", use_bias=False)(x),
        *L.Bidirectional(L.LSTM(3, return_state=True), merge_mode=None)(x, initial_state=[h, c, c, h])])


@case
def recurrent_masked():
    ids = tokens()
    x = embedded(ids)
    sequences = L.LSTM(3, return_sequences=True)(x)
    return keras.Model(ids, [
        sequences, L.GlobalAveragePooling1D()(sequences), L.LSTM(3, return_sequences=True, zero_output_for_mask=True)(x),
        *L.GRU(3, go_backwards=True, return_state=True)(x), L.SimpleRNN(3, return_sequences=True, go_backwards=True)(x),
        L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="mul")(x),
        L.Bidirectional(L.SimpleRNN(3), merge_mode="ave")(x),
        *L.Bidirectional(L.LSTM(3, return_sequences=True, return_state=True), merge_mode="sum")(x)])


@case
def recurrent_cells():
    x, ids = keras.Input((5, WIDTH), name="x"), tokens()
    stack = lambda: [L.LSTMCell(3), L.GRUCell(2, reset_after=False), L.LSTMCell(5)]
    outputs, *states = L.RNN(stack(), return_state=True, return_sequences=True, go_backwards=True)(x)
    return keras.Model([x, ids], [
        outputs, *keras.tree.flatten(states), L.RNN(L.SimpleRNNCell(3))(x),
        L.RNN(stack(), return_sequences=True, go_backwards=True)(embedded(ids)),
        L.Bidirectional(L.RNN(stack(), return_sequences=True))(x),
        L.Bidirectional(L.LSTM(3), backward_layer=L.GRU(3, go_backwards=True))(x)])


@case
def time_distributed():
    x, ids = keras.Input((None, 5, WIDTH), name="x"), tokens()
    y = L.TimeDistributed(L.Dense(3))(embedded(ids))
    return keras.Model([x, ids], [
        L.TimeDistributed(L.LSTM(3, return_sequences=True))(x), L.TimeDistributed(L.Conv1D(3, 2, activation="relu"))(x),
        L.TimeDistributed(L.Flatten())(x), L.TimeDistributed(keras.Sequential([L.Dense(3), L.Dense(2)]))(x),
        L.TimeDistributed(L.TimeDistributed(L.Dense(2)))(x), L.TimeDistributed(L.Bidirectional(L.GRU(2)))(x),
        L.GlobalAveragePooling1D()(y)])


def mask(name, *shape):
    return keras.Input(shape, dtype="int32", name=name)


@case
def hub_image_converters():
    x = keras.Input((9, 12, 3), name="x")
    rest = dict(scale=[0.5, 2.0, 4.0], offset=[1.0, -1.0, 0.25])
    converters = [H.ImageConverter(scale=0.5), H.ViTImageConverter((4, 5), interpolation="bicubic", antialias=True, **rest),
                  H.CLIPImageConverter((5, 4), crop_to_aspect_ratio=False, offset=-1), H.BLIP2ImageConverter((6, 5)),
                  H.SigLIPImageConverter((12, 9), crop_to_aspect_ratio=False, pad_to_aspect_ratio=True, interpolation="nearest"),
                  H.Gemma3ImageConverter(image_size=(3, 3), scale=2.0)]
    return keras.Model(x, [converter(x) for converter in converters])


@case
def hub_positions():
    x, heads = keras.Input((None, 6), name="x"), keras.Input((2, 5, 6), name="heads")
    at, each = keras.Input((), batch_size=5, dtype="int32", name="at"), keras.Input((5,), dtype="int32", name="each")
    scores = keras.Input((6, 3, 5), name="scores")
    rotary = H.RotaryEmbedding
    return keras.Model([x, heads, at, each, scores], [
        rotary()(x), rotary(max_wavelength=100, scaling_factor=4.0)(x, start_index=3), rotary(rope_type="dynamic", scaling_factor=2.0)(x),
        rotary(rope_type="yarn", scaling_factor=8.0, original_max_position_embeddings=64)(x),
        rotary(rope_type="yarn", scaling_factor=8.0, beta_fast=4, truncate=False, original_max_position_embeddings=64)(x, positions=each),
        rotary(sequence_axis=2, denominator_dim=12)(heads), rotary(sequence_axis=-1, feature_axis=1)(heads),
        rotary(sequence_axis=2)(heads, positions=at), H.SinePositionEncoding(max_wavelength=100)(x, start_index=2),
        H.SinePositionEncoding()(x, positions=each), H.PositionEmbedding(12)(x, start_index=4), H.PositionEmbedding(9)(x, positions=each),
        H.PositionEmbedding(9, initializer="zeros")(x), H.AlibiBias()(scores), H.AlibiBias(4)(L.Permute((2, 1, 3))(scores))])


@case
def hub_embeddings():
    ids, x, each = tokens(), keras.Input((None, WIDTH), name="x"), keras.Input((STEPS,), dtype="int32", name="each")
    tied, own = L.ReversibleEmbedding(VOCABULARY, WIDTH, mask_zero=True), H.ReversibleEmbedding(VOCABULARY, WIDTH, tie_weights=False)
    capped = L.ReversibleEmbedding(VOCABULARY, WIDTH, logit_soft_cap=2, reverse_dtype="float32")
    y = tied(ids)
    both = H.TokenAndPositionEmbedding(VOCABULARY, 8, WIDTH, mask_zero=True)(ids)
    return keras.Model([ids, x, each], [
        y, L.GlobalAveragePooling1D()(y), tied(y, reverse=True), own(ids), own(x, reverse=True), capped(capped(ids), reverse=True),
        both, L.GlobalAveragePooling1D()(both),
        H.TokenAndPositionEmbedding(VOCABULARY, 8, WIDTH, tie_weights=False, embeddings_initializer="ones")(ids, start_index=2),
        H.TokenAndPositionEmbedding(VOCABULARY, 9, WIDTH)(ids, positions=each)])


@case
def hub_masked_lm_head():
    ids, at, embedding = tokens(), keras.Input((2,), dtype="int32", name="at"), L.ReversibleEmbedding(VOCABULARY, WIDTH)
    x = embedding(ids)
    tied = H.MaskedLMHead(token_embedding=embedding, activation="softmax", intermediate_activation="gelu")
    return keras.Model([ids, at], [H.MaskedLMHead(VOCABULARY)(x, at), tied(x, at), tied(L.Dense(WIDTH)(x), at)])


@case
def hub_encoder():
    """The mask of the ids, an explicit one, both paths of attention, and the mask at the end."""
    ids, padding, seen = tokens(), mask("padding_mask", STEPS), mask("attention_mask", STEPS, STEPS)
    x, plain = embedded(ids), embedded(ids, mask_zero=False)
    odd = dict(activation="gelu", kernel_initializer="he_normal", bias_initializer=keras.initializers.Constant(0.5), layer_norm_epsilon=1e-3)
    outputs = []
    for y, layer, masks in [
            (x, H.TransformerEncoder(7, 2), {}), (x, H.TransformerEncoder(7, 3, normalize_first=True, dropout=0.5), {}),
            (x, H.TransformerEncoder(7, 2, dropout=0.1, **odd), dict(padding_mask=padding)),
            (plain, H.TransformerEncoder(7, 1, normalize_first=True, **odd), dict(padding_mask=padding, attention_mask=seen)),
            (plain, H.TransformerEncoder(7, 4), dict(attention_mask=seen))]:
        y = layer(y, **masks)
        outputs += [y, L.GlobalAveragePooling1D()(y)]
    return keras.Model([ids, padding, seen], outputs + [H.TransformerEncoder(7, 2)(outputs[0]), H.TransformerEncoder(7, 2)(outputs[2])])


@case
def hub_decoder():
    ids, source = tokens(), keras.Input((5,), dtype="int32", name="source")
    padding, seen = mask("padding_mask", STEPS), mask("attention_mask", STEPS, STEPS)
    across, source_padding = mask("cross_mask", STEPS, 5), mask("source_padding_mask", 5)
    x, y = embedded(ids), L.Embedding(VOCABULARY, 6, mask_zero=True)(source)
    outputs = []
    for layer, args in [
            (H.TransformerDecoder(7, 2), dict()), (H.TransformerDecoder(7, 2, normalize_first=True), dict(encoder_sequence=y)),
            (H.TransformerDecoder(7, 2, activation="gelu", bias_initializer="ones", dropout=0.5),
             dict(encoder_sequence=y, decoder_padding_mask=padding, encoder_padding_mask=source_padding)),
            (H.TransformerDecoder(7, 4), dict(encoder_sequence=y, decoder_attention_mask=seen, encoder_attention_mask=across)),
            (H.TransformerDecoder(7, 1, normalize_first=True), dict(use_causal_mask=False, decoder_padding_mask=padding)),
            (H.TransformerDecoder(7, 2), dict(use_causal_mask=False))]:
        z = layer(x, **args)
        outputs += [z, L.GlobalAveragePooling1D()(z)]
    return keras.Model([ids, source, padding, seen, across, source_padding], outputs)


@case
def hub_cached_attention():
    ids, y, seen = tokens(), keras.Input((5, 6), name="y"), keras.Input((STEPS, 5), dtype="bool", name="attention_mask")
    x = embedded(ids)
    attention = H.CachedMultiHeadAttention
    return keras.Model([ids, y, seen], [
        attention(2, 3)(x, x), attention(2, 3, value_dim=2, output_shape=5)(x, y, attention_mask=seen),
        *attention(2, 3, dropout=0.1)(x, x, return_attention_scores=True), attention(2, 3, use_gate=True, sliding_window=2)(x, x),
        L.GlobalAveragePooling1D()(attention(1, 3, use_bias=False)(x, y, key=y))])


def hub_half(policy):
    """All layers of KerasHub in half precision; some of them compute in float32."""
    ids, padding, at = tokens(), mask("padding_mask", STEPS), keras.Input((2,), dtype="int32", name="at")
    half = dict(dtype=policy)
    embedding = L.ReversibleEmbedding(VOCABULARY, 6, **half)
    x = embedding(ids)
    both = H.TokenAndPositionEmbedding(VOCABULARY, 9, 6, mask_zero=True, **half)(ids)
    return keras.Model([ids, padding, at], [
        H.SinePositionEncoding(**half)(x, start_index=250), H.RotaryEmbedding(**half)(x, start_index=250),
        H.RotaryEmbedding(rope_type="yarn", scaling_factor=8.0, **half)(x), H.SinePositionEncoding(**half)(x, positions=ids), both,
        H.TransformerEncoder(7, 2, **half)(both), H.TransformerEncoder(7, 2, dropout=0.1, normalize_first=True, **half)(x, padding_mask=padding),
        H.TransformerDecoder(7, 2, activation="gelu", **half)(both, x, decoder_padding_mask=padding),
        H.TransformerDecoder(7, 2, dropout=0.1, **half)(x), embedding(x, reverse=True),
        H.MaskedLMHead(VOCABULARY, **half)(both, at),
        H.MaskedLMHead(token_embedding=embedding, **half)(both, at)])


@case
def hub_mixed_bfloat16():
    return hub_half("mixed_bfloat16")


@case
def hub_mixed_float16():
    return hub_half("mixed_float16")


@case
def hub_float16():
    return hub_half("float16")


BACKBONE = dict(vocabulary_size=VOCABULARY, num_layers=2, num_heads=2, hidden_dim=8, intermediate_dim=12, max_sequence_length=7)


@case
def albert():
    return keras_hub.models.AlbertBackbone(**{**BACKBONE, "num_layers": 4}, embedding_dim=6, num_groups=2, num_inner_repetitions=2, num_segments=VOCABULARY)


@case
def electra():
    sizes = {"vocab_size" if key == "vocabulary_size" else key: size for key, size in BACKBONE.items()}
    return keras_hub.models.ElectraBackbone(**sizes, embedding_dim=6, num_segments=VOCABULARY)


@case
def roberta():
    return keras_hub.models.RobertaBackbone(**BACKBONE, dropout=0, trainable=False)


@case
def xlm_roberta():
    return keras_hub.models.XLMRobertaBackbone(**BACKBONE, name="encoder")


@case
def bert_mixed_bfloat16():
    return keras_hub.models.BertBackbone(**BACKBONE, num_segments=VOCABULARY, dtype="mixed_bfloat16")


def f_net_backbone(**kwargs):
    sizes = {key: size for key, size in BACKBONE.items() if key != "num_heads"}
    return keras_hub.models.FNetBackbone(**sizes, num_segments=VOCABULARY, **kwargs)


@case
def f_net():
    return f_net_backbone(name="encoder")


@case
def f_net_classifier():
    return keras_hub.models.FNetTextClassifier(f_net_backbone(dropout=0), num_classes=3, activation="softmax")


@case
def f_net_masked_lm():
    return keras_hub.models.FNetMaskedLM(f_net_backbone())


def esm_backbone(**kwargs):
    return keras_hub.models.ESMBackbone(**BACKBONE, **kwargs)


@case
def esm():
    return esm_backbone(use_pre_layer_norm=True, max_wavelength=100, layer_norm_eps=1e-5)


@case
def esm_absolute():
    return esm_backbone(position_embedding_type="absolute", use_bias=False, activation="relu", pad_token_id=1)


@case
def esm_classifier():
    return keras_hub.models.ESMProteinClassifier(esm_backbone(), num_classes=3, hidden_dim=5, dropout=0.1)


@case
def esm_masked_plm():
    return keras_hub.models.ESMMaskedPLM(esm_backbone(activation="silu", layer_norm_eps=1e-3))


@case
def esm_mixed_bfloat16():
    return esm_backbone(dtype="mixed_bfloat16")


def roformer_backbone(**kwargs):
    sizes = {key: size for key, size in BACKBONE.items() if key != "max_sequence_length"}
    return keras_hub.models.RoformerV2Backbone(**sizes, head_size=4, num_segments=VOCABULARY, **kwargs)


@case
def roformer_v2():
    return roformer_backbone(max_wavelength=100, use_bias=True, activation="gelu")


@case
def roformer_v2_classifier():
    return keras_hub.models.RoformerV2TextClassifier(roformer_backbone(), num_classes=3)


@case
def roformer_v2_masked_lm():
    return keras_hub.models.RoformerV2MaskedLM(roformer_backbone(dropout=0))


@case
def roformer_v2_mixed_bfloat16():
    return roformer_backbone(dtype="mixed_bfloat16")


def deberta_backbone(**kwargs):
    return keras_hub.models.DebertaV3Backbone(**BACKBONE, **kwargs)


@case
def deberta_v3():
    """Buckets so small that most distances share one."""
    return deberta_backbone(bucket_size=4)


@case
def deberta_v3_classifier():
    return keras_hub.models.DebertaV3TextClassifier(deberta_backbone(bucket_size=2, dropout=0), num_classes=3, dropout=0.2)


@case
def deberta_v3_masked_lm():
    return keras_hub.models.DebertaV3MaskedLM(deberta_backbone(bucket_size=16))


@case
def deberta_v3_mixed_bfloat16():
    return deberta_backbone(bucket_size=4, dtype="mixed_bfloat16")


def xlnet_backbone(**kwargs):
    sizes = {key: size for key, size in BACKBONE.items() if key != "max_sequence_length"}
    return keras_hub.models.XLNetBackbone(**sizes, **kwargs)


def qwen3_5_backbone(**kwargs):
    sizes = dict(vocabulary_size=VOCABULARY, num_layers=4, num_query_heads=4, num_key_value_heads=2, head_dim=8, hidden_dim=12,
                 intermediate_dim=20, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6,
                 linear_value_head_dim=5, linear_conv_kernel_dim=3)
    return keras_hub.models.Qwen3_5Backbone(**{**sizes, **kwargs})


@case
def qwen3_5():
    return qwen3_5_backbone(rope_max_wavelength=100, layer_norm_epsilon=1e-4)


@case
def qwen3_5_layers():
    return qwen3_5_backbone(num_layers=3, layer_types=["full_attention", "linear_attention", "full_attention"], head_dim=6,
                            partial_rotary_factor=1.0, sliding_window_size=2, rope_scaling_factor=2.0, tie_word_embeddings=True,
                            linear_num_value_heads=2, mrope_section=[1, 1, 1], dropout=0.1)


@case
def qwen3_5_mixed_bfloat16():
    return qwen3_5_backbone(dtype="mixed_bfloat16")


def qwen3_5_moe_backbone(**kwargs):
    sizes = dict(vocabulary_size=VOCABULARY, num_layers=4, num_query_heads=4, num_key_value_heads=2, head_dim=8, hidden_dim=12,
                 moe_intermediate_dim=7, shared_expert_intermediate_size=5, num_experts=4, top_k=2, linear_num_key_heads=2,
                 linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5)
    return keras_hub.models.Qwen3_5MoeBackbone(**{**sizes, **kwargs})


@case
def qwen3_5_moe():
    return qwen3_5_moe_backbone(num_layers=2, layer_types=["linear_attention", "full_attention"], linear_conv_kernel_dim=2,
                                router_aux_loss_coefficient=0.01)


@case
def qwen3_5_moe_mixed_bfloat16():
    return qwen3_5_moe_backbone(num_layers=2, layer_types=["full_attention", "linear_attention"], dtype="mixed_bfloat16")


@case
def qwen3_5_moe_causal_lm():
    return keras_hub.models.Qwen3_5MoeCausalLM(qwen3_5_moe_backbone(num_layers=2, tie_word_embeddings=True))


@case
def qwen3_5_causal_lm():
    return keras_hub.models.Qwen3_5CausalLM(qwen3_5_backbone(num_layers=2))


def gemma3n_backbone(**kwargs):
    sizes = dict(text_vocab_size=VOCABULARY, text_hidden_size=12, num_hidden_layers=4, pad_token_id=0, num_attention_heads=4,
                 num_key_value_heads=2, head_dim=6, intermediate_size=[10, 10, 14, 14], hidden_activation="gelu_approximate",
                 layer_types=["sliding_attention", "full_attention"] * 2, sliding_window=3, rope_theta=500.0,
                 max_position_embeddings=16, vocab_size_per_layer_input=7, hidden_size_per_layer_input=3, altup_num_inputs=3,
                 laurel_rank=2, num_kv_shared_layers=2, activation_sparsity_pattern=[0.9, 0.0, 0.5, 0.0])
    return keras_hub.models.Gemma3nBackbone(**{**sizes, **kwargs})


@case
def gemma3n():
    return gemma3n_backbone()


@case
def gemma3n_separate():
    """Blocks that share no keys, with biases and another activation."""
    return gemma3n_backbone(num_hidden_layers=2, num_kv_shared_layers=0, attention_bias=True, rope_scaling=2.0,
                            rope_local_base_freq=20.0, activation_sparsity_pattern=None, altup_active_idx=1, altup_num_inputs=2,
                            altup_correct_scale=False, altup_coef_clip=1.0, hidden_activation="silu", attention_dropout=0.1,
                            rms_norm_eps=1e-4)


@case
def gemma3n_mixed_bfloat16():
    return gemma3n_backbone(num_hidden_layers=3, num_kv_shared_layers=1, dtype="mixed_bfloat16")


@case
def gemma3n_causal_lm():
    return keras_hub.models.Gemma3nCausalLM(None, gemma3n_backbone(num_hidden_layers=3, num_kv_shared_layers=1,
                                                                   final_logit_soft_cap=4.0))


def gemma3n_with_images(**kwargs):
    """Images of 2 x 2 positions (token 8), and rows of their own for the tokens 5 to 7. KerasHub's Gemma3nCausalLM with images
    passes them as tokens; make_image_text_cases.py has its generate()."""
    encoder = mobilenetv5_backbone([["er"], ["uir", "mqa"]], strides=[[2], [2, 1]], kv_strides=[[1], [1, 2]], num_features=10,
                                   msfa_output_resolution=2, image_shape=(16, 16, 3))
    keras.backend.clear_session()  # the layers of the encoder inside are numbered from 0, as after loading a file
    return gemma3n_backbone(num_hidden_layers=2, num_kv_shared_layers=0, vision_encoder_config=encoder.get_config(), vision_hidden_size=10,
                            vision_vocab_size=3, vision_vocab_offset=5, vision_soft_tokens_per_image=4, image_token_id=8, **kwargs)


@case
def gemma3n_vision():
    return gemma3n_with_images()


@case
def gemma3n_vision_mixed_bfloat16():
    return gemma3n_with_images(dtype="mixed_bfloat16")


def gemma3n_with_sounds(audio_soft_tokens_per_image, reduction_factor, **kwargs):
    """The rows of sounds are those of token 7, and the tokens from 6 on have rows of their own."""
    encoder = Gemma3nAudioEncoder(
        hidden_size=8, input_feat_size=8, sscp_conv_channel_size=[3, 2], sscp_conv_kernel_size=[[3, 3], [3, 5]],
        sscp_conv_stride_size=[[2, 2], [2, 2]], sscp_conv_group_norm_eps=1e-2, num_hidden_layers=2, rms_norm_eps=1e-4,
        gradient_clipping=2.0, residual_weight=0.25, num_attention_heads=2, attention_chunk_size=2, num_attention_context_right=1,
        num_attention_context_left=3, attention_logit_cap=2.0, conv_kernel_size=3, reduction_factor=reduction_factor)
    keras.backend.clear_session()
    sizes = dict(num_hidden_layers=2, num_kv_shared_layers=0, audio_encoder_config=encoder.get_config(), audio_hidden_size=8,
                 audio_vocab_size=3, audio_vocab_offset=6, audio_token_id=7)
    return gemma3n_backbone(audio_soft_tokens_per_image=audio_soft_tokens_per_image, **sizes, **kwargs)


@case
def gemma3n_audio():
    """Every second row, and fewer of them than positions."""
    return gemma3n_with_sounds(4, 2)


@case
def gemma3n_images_and_sounds():
    encoder = mobilenetv5_backbone([["er"], ["uir", "mqa"]], strides=[[2], [2, 1]], kv_strides=[[1], [1, 2]], num_features=10,
                                   msfa_output_resolution=2, image_shape=(16, 16, 3))
    return gemma3n_with_sounds(3, 1, vision_encoder_config=encoder.get_config(), vision_hidden_size=10, vision_vocab_size=2,
                               vision_vocab_offset=4, vision_soft_tokens_per_image=4, image_token_id=5)


@case
def gemma3n_audio_mixed_bfloat16():
    return gemma3n_with_sounds(5, 1, dtype="mixed_bfloat16")


def gemma4_backbone(**kwargs):
    sizes = dict(vocabulary_size=VOCABULARY, image_size=16, num_layers=4, num_query_heads=4, num_key_value_heads=2, hidden_dim=12,
                 intermediate_dim=10, head_dim=8, sliding_window_size=3, sliding_window_pattern=2)
    return keras_hub.models.Gemma4Backbone(**{**sizes, **kwargs})


@case
def gemma4():
    """The last three blocks share keys of the first three, and one of these has wider heads."""
    types = ["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"]
    return gemma4_backbone(num_layers=6, layer_types=types, num_kv_shared_layers=3, use_double_wide_mlp=True, global_head_dim=12,
                           hidden_size_per_layer_input=3, vocab_size_per_layer_input=11, global_rope_partial_rotary_factor=0.5,
                           global_rope_scaling_factor=2.0, local_rope_scaling_factor=1.5, global_rope_wavelength=500.0,
                           local_rope_wavelength=20.0, attention_logit_soft_cap=2.0, final_logit_soft_cap=3.0,
                           layer_norm_epsilon=1e-4, dropout=0.1)


@case
def gemma4_mixture():
    """Blocks without a window have one head of keys, which are the values too."""
    return gemma4_backbone(num_layers=2, num_global_key_value_heads=1, enable_moe_block=True, num_experts=5, expert_intermediate_dim=7,
                           num_experts_per_token=2)


@case
def gemma4_embedding():
    return gemma4_backbone(num_layers=2, use_bidirectional_attention=True, is_embedding_model=True, pooling_intermediate_dim=5,
                           embedding_dim=3)


@case
def gemma4_mixed_bfloat16():
    return gemma4_backbone(num_layers=3, num_kv_shared_layers=1, hidden_size_per_layer_input=3, enable_moe_block=True, num_experts=4,
                           expert_intermediate_dim=6, num_experts_per_token=2, dtype="mixed_bfloat16")


@case
def gemma4_causal_lm():
    return keras_hub.models.Gemma4CausalLM(None, gemma4_backbone(num_kv_shared_layers=2, hidden_size_per_layer_input=4,
                                                                 final_logit_soft_cap=9.0), final_logit_cap=6.0)


def gemma4_encoder(**kwargs):
    return Gemma4VisionEncoder(**{**dict(image_size=8, patch_size=2, num_heads=4, hidden_dim=16, num_layers=2, intermediate_dim=10,
                                         head_dim=4, output_dim=12, pool_size=2, position_embedding_size=5), **kwargs})


@case
def gemma4_vision_encoder():
    return gemma4_encoder(num_key_value_heads=2, rope_max_wavelength=20.0, layer_norm_epsilon=1e-3, dropout=0.1, standardize=True)


@case
def gemma4_vision():
    """The positions of an image see each other in blocks with a window."""
    return gemma4_backbone(vision_encoder=gemma4_encoder(num_key_value_heads=2, standardize=True, dropout=0.1), dropout=0.1,
                           use_vision_bidirectional_attention=True, hidden_size_per_layer_input=3, vocab_size_per_layer_input=11)


@case
def gemma4_vision_mixed_bfloat16():
    """The encoder computes in float32."""
    return gemma4_backbone(vision_encoder=gemma4_encoder(num_layers=1), num_layers=2, dtype="mixed_bfloat16")


@case
def gemma4_vision_causal_lm():
    encoder = gemma4_encoder(use_clipped_linears=False, num_layers=1)
    return keras_hub.models.Gemma4CausalLM(None, gemma4_backbone(vision_encoder=encoder, num_kv_shared_layers=2))


def gemma4_audio_encoder(**kwargs):
    return Gemma4AudioEncoder(**{**dict(input_feat_size=8, hidden_size=8, num_heads=2, num_layers=2, chunk_size=3, context_left=4,
                                        context_right=0, conv_kernel_size=3, sscp_conv_channels=(3, 2), output_proj_dims=10, output_dim=12,
                                        logit_cap=2.0), **kwargs})


@case
def gemma4_audio():
    """Sounds without images, and every second row of the encoder."""
    encoder = gemma4_audio_encoder(num_layers=1, output_proj_dims=None, context_right=1, reduction_factor=2, residual_weight=0.25,
                                   gradient_clipping=2.0, norm_eps=1e-3, sscp_norm_eps=1e-4, sscp_kernel_sizes=((3, 3), (3, 5)))
    return gemma4_backbone(audio_encoder=encoder, num_layers=2)


@case
def gemma4_images_and_sounds():
    return gemma4_backbone(vision_encoder=gemma4_encoder(num_layers=1), audio_encoder=gemma4_audio_encoder(), num_layers=2,
                           num_audio_tokens_per_clip=5, hidden_size_per_layer_input=3)


def rwkv7_backbone(**kwargs):
    sizes = dict(vocabulary_size=VOCABULARY, hidden_size=12, head_size=4, num_layers=3, intermediate_dim=20)
    ranks = dict(gate_lora=5, mv_lora=2, aaa_lora=3, decay_lora=4)
    return keras_hub.models.RWKV7Backbone(**sizes, **ranks, **kwargs)


@case
def rwkv7():
    return rwkv7_backbone(dropout_rate=0.1)


@case
def rwkv7_mixed_bfloat16():
    return rwkv7_backbone(dtype="mixed_bfloat16")


@case
def rwkv7_causal_lm():
    return keras_hub.models.RWKV7CausalLM(rwkv7_backbone(name="decoder"))


@case
def xlnet():
    return xlnet_backbone(kernel_initializer_range=0.1)


@case
def xlnet_mixed_bfloat16():
    return xlnet_backbone(dropout=0.1, activation="relu", dtype="mixed_bfloat16")


def edrec_backbone(**kwargs):
    return keras_hub.models.EdRecBackbone(VOCABULARY, num_layers_enc=1, num_layers_dec=2, hidden_dim=8, intermediate_dim=12, num_heads=2, **kwargs)


@case
def edrec():
    return edrec_backbone(epsilon=1e-3)


@case
def edrec_seq_2_seq_lm():
    return keras_hub.models.EdRecSeq2SeqLM(edrec_backbone(dropout=0.1))


def qwen3_backbone(**kwargs):
    return keras_hub.models.Qwen3Backbone(
        vocabulary_size=VOCABULARY, num_layers=2, num_query_heads=4, num_key_value_heads=2, head_dim=4, hidden_dim=12,
        intermediate_dim=16, **kwargs)


def embedding_gemma(**kwargs):
    """Seven blocks: the sixth has no window."""
    return keras_hub.models.Gemma3Backbone(
        vocabulary_size=VOCABULARY, image_size=None, num_layers=7, num_query_heads=2, num_key_value_heads=1, hidden_dim=8,
        intermediate_dim=12, head_dim=4, use_post_ffw_norm=True, use_post_attention_norm=True,
        use_sliding_window_attention=True, sliding_window_size=4, use_bidirectional_attention=True, **kwargs)


@case
def bert_text_embedder():
    return keras_hub.models.BertTextEmbedder(keras_hub.models.BertBackbone(**BACKBONE, num_segments=VOCABULARY))


@case
def bert_text_embedder_max():
    backbone = keras_hub.models.BertBackbone(**BACKBONE, num_segments=VOCABULARY)
    return keras_hub.models.BertTextEmbedder(backbone, pooling_mode="max", name="sentences")


@case
def xlm_roberta_text_embedder():
    backbone = keras_hub.models.XLMRobertaBackbone(**BACKBONE)
    return keras_hub.models.XLMRobertaTextEmbedder(backbone, pooling_mode="cls", normalize=False)


@case
def qwen3_text_embedder():
    return keras_hub.models.Qwen3TextEmbedder(qwen3_backbone())


@case
def qwen3_text_embedder_mixed_bfloat16():
    return keras_hub.models.Qwen3TextEmbedder(qwen3_backbone(dtype="mixed_bfloat16"), pooling_mode="mean")


GROUPED = dict(vocabulary_size=VOCABULARY, num_query_heads=4, num_key_value_heads=2, hidden_dim=8, intermediate_dim=12)
MIXTURE = dict(num_experts=5, top_k=2, moe_intermediate_dim=3)


def qwen_moe_backbone(**kwargs):
    return keras_hub.models.QwenMoeBackbone(num_layers=1, **GROUPED, **MIXTURE, shared_expert_intermediate_dim=6, **kwargs)


@case
def qwen_moe():
    return keras_hub.models.QwenMoeCausalLM(qwen_moe_backbone(norm_top_k_prob=True, use_sliding_window_attention=True, sliding_window_size=3))


@case
def qwen_moe_dense():
    """KerasHub decides by the index of the first block for all of them."""
    return qwen_moe_backbone(mlp_only_layers=[0], rope_scaling_factor=2.0, tie_word_embeddings=True)


@case
def qwen_moe_mixed_bfloat16():
    return qwen_moe_backbone(dtype="mixed_bfloat16")


@case
def qwen3_moe():
    """A dense block, and then one with a mixture."""
    return keras_hub.models.Qwen3MoeCausalLM(keras_hub.models.Qwen3MoeBackbone(
        num_layers=2, **GROUPED, **MIXTURE, head_dim=6, decoder_sparse_step=2, norm_top_k_prob=True, sliding_window_size=3))


@case
def qwen3_moe_mixed_bfloat16():
    return keras_hub.models.Qwen3MoeBackbone(num_layers=1, **GROUPED, **MIXTURE, tie_word_embeddings=True, mlp_only_layers=[1],
                                             sliding_window_size=None, dtype="mixed_bfloat16")


def gpt_oss_backbone(layers, **kwargs):
    return keras_hub.models.GptOssBackbone(num_layers=layers, **GROUPED, num_experts=5, top_k=3, **kwargs)


@case
def gpt_oss():
    """The second block has a window. The last of 5 features of a head is not rotated."""
    return keras_hub.models.GptOssCausalLM(gpt_oss_backbone(2, head_dim=5, sliding_window=2, rope_scaling_factor=32.0))


@case
def gpt_oss_mixed_bfloat16():
    return gpt_oss_backbone(1, rope_max_wavelength=150000, dtype="mixed_bfloat16")


def sides(encoder, decoder, **kwargs):
    sizes = dict(hidden_dim=8, intermediate_dim=10, num_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
                 layer_types=["sliding_attention"])
    both = {"encoder": {**sizes, **encoder}, "decoder": {**sizes, **decoder}}
    return {f"{side}_{key}": value for side, values in both.items() for key, value in values.items()
} | kwargs


@case
def t5gemma():
    """Other sizes on each side, and caps."""
    return keras_hub.models.T5GemmaSeq2SeqLM(keras_hub.models.T5GemmaBackbone(VOCABULARY, **sides(
        dict(num_layers=2, layer_types=["full_attention"] * 2), dict(hidden_dim=12, num_key_value_heads=1), sliding_window=2,
        query_pre_attn_scalar=6.0, attn_logit_softcapping=2.0, final_logit_softcapping=3.0)))


@case
def t5gemma_mixed_bfloat16():
    return keras_hub.models.T5GemmaBackbone(VOCABULARY, **sides(
        {}, {}, sliding_window=4, attention_bias=True, tie_word_embeddings=False, dropout_rate=0.1, hidden_activation="relu",
        dtype="mixed_bfloat16"))


@case
def t5gemma2():
    return keras_hub.models.T5Gemma2Seq2SeqLM(keras_hub.models.T5Gemma2Backbone(VOCABULARY, **sides(
        {}, dict(num_key_value_heads=1, layer_types=["full_attention"]), sliding_window=6, query_pre_attn_scalar=6.0,
        final_logit_softcapping=3.0, global_rope_scaling_factor=8.0, encoder_rope_max_wavelength=100.0)))


@case
def t5gemma2_narrow_windows():
    """Padding whose window has only padding."""
    return keras_hub.models.T5Gemma2Backbone(VOCABULARY, **sides({}, {}, sliding_window=2, attn_logit_softcapping=4.0))


@case
def t5gemma2_mixed_bfloat16():
    return keras_hub.models.T5Gemma2Backbone(VOCABULARY, **sides(
        dict(layer_types=["full_attention"]), {}, sliding_window=3, use_query_key_norm=False, attention_bias=True,
        dtype="mixed_bfloat16"))


@case
def gemma3_text_embedder():
    backbone = embedding_gemma(is_embedding_model=True, pooling_intermediate_dim=10, embedding_dim=6)
    return keras_hub.models.Gemma3TextEmbedder(backbone)


@case
def gemma3_text_embedder_last():
    return keras_hub.models.Gemma3TextEmbedder(embedding_gemma())


@case
def gpt2_float16():
    return keras_hub.models.GPT2Backbone(**{**BACKBONE, "num_heads": 3}, dropout=0, dtype="float16")


@case
def smollm3_bfloat16():
    """KerasHub passes the dtype to none of its layers, which compute in float32."""
    return keras_hub.models.SmolLM3Backbone(
        vocabulary_size=VOCABULARY, hidden_dim=8, intermediate_dim=12, num_layers=2, num_attention_heads=2,
        num_key_value_heads=1, attention_bias=False, attention_dropout=0.0, rope_layer_enabled_list=[True, False],
        layer_types=["full_attention"] * 2, mlp_bias=False, layer_norm_epsilon=1e-5, max_position_embeddings=32,
        rope_theta=10000.0, partial_rotary_factor=1.0, dtype="bfloat16")


@case
def vit_without_token():
    return keras_hub.models.ViTBackbone((6, 8, 2), (3, 2), 2, 3, 8, 12, dropout_rate=0.1, attention_dropout=0.1, use_mha_bias=False,
                                        use_mlp_bias=False, use_class_token=False, use_patch_bias=False)


@case
def vit_classifier():
    return keras_hub.models.ViTImageClassifier(keras_hub.models.ViTBackbone((6, 8, 2), (3, 2), 1, 2, 8, 12), 3, pooling="gap",
                                               intermediate_dim=5, activation="softmax", name="vit_image_classifier")


@case
def deit():
    backbone = keras_hub.models.DeiTBackbone((6, 8, 2), (3, 2), 2, 2, 8, 12, use_mha_bias=False, layer_norm_epsilon=1e-3)
    return keras_hub.models.DeiTImageClassifier(backbone, 3, activation="softmax")


@case
def dinov2():
    return keras_hub.models.DINOV2Backbone(
        patch_size=2, num_layers=2, hidden_dim=8, num_heads=2, intermediate_dim=12, num_register_tokens=2, use_mask_token=False,
        use_swiglu_ffn=True, image_shape=(4, 4, 2), position_embedding_shape=(6, 6, 2), name="dinov2")


@case
def dinov3():
    return keras_hub.models.DINOV3Backbone(
        patch_size=2, num_layers=2, hidden_dim=16, num_heads=2, intermediate_dim=12, use_gated_mlp=True, hidden_activation="silu",
        use_key_bias=False, image_shape=(4, 4, 2), drop_path_rate=0.1, name="dinov3", dtype="mixed_bfloat16")


@case
def dinov3_oblong():
    """KerasHub's summary has another number of patches than the model if images are not square."""
    return keras_hub.models.DINOV3Backbone(
        patch_size=2, num_layers=1, hidden_dim=8, num_heads=1, intermediate_dim=9, num_register_tokens=1, image_shape=(4, 10, 2),
        name="dinov3")


def image_and_text(stem):
    """The encoders of images and of texts."""
    vision, text = (getattr(keras_hub.models, f"{stem}{side}Encoder") for side in ("Vision", "Text"))
    return (vision(2, 8, 2, 2, 12, image_shape=(4, 4, 2), name="vision_encoder"),
            text(VOCABULARY, 8, 8, 2, 2, 12, max_sequence_length=5, name="text_encoder"))


@case
def clip():
    return keras_hub.models.CLIPBackbone(*image_and_text("CLIP"), 6)


@case
def metaclip_2():
    return keras_hub.models.MetaCLIP2Backbone(*image_and_text("MetaCLIP2"), 6)


@case
def siglip():
    return keras_hub.models.SigLIPBackbone(*image_and_text("SigLIP"))


def mit():
    return keras_hub.models.MiTBackbone([1, 2], 2, [1, 2], [2, 1], 0.1, [7, 3], [4, 2], image_shape=(16, 16, 2), hidden_dims=[6, 8])


@case
def mit_classifier():
    return keras_hub.models.MiTImageClassifier(mit(), 3, pooling="max")


@case
def segformer():
    return keras_hub.models.SegFormerImageSegmenter(keras_hub.models.SegFormerBackbone(mit(), 5), 3)


@case
def swin_transformer():
    """KerasHub cannot load a file of its own SwinTransformerImageClassifier."""
    return keras_hub.models.SwinTransformerBackbone((24, 32, 2), 4, [2, 1], [2, 1], 3, patch_size=4, mlp_ratio=1.5, qkv_bias=False)


def mobilenetv5_backbone(kinds, **more):
    """A backbone with a block of each kind in each stage, whose other arguments are one value for all blocks, or lists."""
    values = dict(num_filters=16, strides=1, act_layers="gelu", exp_ratios=2.0, se_ratios=0.0, dw_kernel_sizes=3, dw_start_kernel_sizes=0,
                  dw_end_kernel_sizes=0, exp_kernel_sizes=3, pw_kernel_sizes=1, num_heads=2, key_dims=8, value_dims=8, kv_strides=1,
                  use_cpe=False)
    stackwise = {key: more.pop(key, [[value] * len(stage) for stage in kinds]) for key, value in values.items()}
    stackwise.update(block_types=kinds, num_blocks=[len(stage) for stage in kinds])
    return keras_hub.models.MobileNetV5Backbone(**{f"stackwise_{key}": value for key, value in stackwise.items()}, **more)


def mobilenetv5_small(**more):
    """The backbone of KerasHub's own test."""
    return mobilenetv5_backbone(
        [["er"], ["uir", "uir"]], num_filters=[[24], [48, 48]], strides=[[2], [2, 1]], act_layers=[["relu"], ["relu", "relu"]],
        exp_ratios=[[4.0], [6.0, 6.0]], dw_kernel_sizes=[[0], [5, 5]], exp_kernel_sizes=[[3], [0, 0]], pw_kernel_sizes=[[1], [0, 0]],
        num_heads=[[0], [0, 0]], key_dims=[[0], [0, 0]], value_dims=[[0], [0, 0]], kv_strides=[[0], [0, 0]], image_shape=(32, 32, 3),
        **{"stem_size": 16, "use_msfa": False, **more})


def mobilenetv5_with_attention(**more):
    """All kinds of blocks with all their convolutions, attention to a smaller image, and a fusion that pools."""
    return mobilenetv5_backbone(
        [["er", "er"], ["uir", "mqa", "uir"], ["mqa", "mqa"]], num_filters=[[16, 13], [24, 24, 24], [24, 32]],
        strides=[[2, 1], [2, 1, 1], [2, 1]], act_layers=[["gelu", None], ["relu", None, "gelu"], [None, None]],
        exp_ratios=[[2.0, 1.5], [2.0, 0.0, 1.0], [0.0, 0.0]], dw_kernel_sizes=[[0, 0], [3, 0, 0], [0, 0]],
        dw_start_kernel_sizes=[[0, 0], [5, 0, 3], [0, 0]], dw_end_kernel_sizes=[[0, 0], [3, 0, 3], [0, 0]],
        num_heads=[[0, 0], [0, 3, 0], [2, None]], key_dims=[[0, 0], [0, 4, 0], [0, 8]], value_dims=[[0, 0], [0, 6, 0], [0, 4]],
        kv_strides=[[0, 0], [0, 2, 0], [1, 1]], use_cpe=[[False, False], [False, True, False], [True, False]],
        **{"num_features": 12, "msfa_output_resolution": 2, "msfa_indices": (1, -1), "layer_scale_init_value": 1e-5, "drop_path_rate": 0.2,
           "stem_size": 20, "image_shape": (32, 48, 3), **more})


@case
def mobilenetv5():
    return mobilenetv5_small()


@case
def mobilenetv5_attention():
    return mobilenetv5_with_attention()


@case
def mobilenetv5_dilated():
    """A stride of 64 in all, batch normalization, and a fusion that interpolates."""
    return mobilenetv5_backbone(
        [["er"], ["uir"], ["uir"], ["er"], ["uir"], ["mqa", "uir"]], strides=[[2], [2], [2], [2], [2], [2, 1]], num_features=16,
        msfa_output_resolution=3, msfa_indices=(0, 1, -1), norm_layer="batch_norm", stem_bias=False, stem_size=9, fix_stem=True,
        image_shape=(64, 96, 1))


@case
def mobilenetv5_valid():
    return mobilenetv5_backbone([["er"], ["uir", "mqa"]], strides=[[2], [2, 1]], kv_strides=[[1], [1, 2]], pad_type="valid", use_msfa=False,
                                act_layer="relu", image_shape=(32, 32, 3))


@case
def mobilenetv5_any_size():
    return mobilenetv5_with_attention(image_shape=(None, None, 3))


@case
def mobilenetv5_classifier():
    return keras_hub.models.MobileNetV5ImageClassifier(mobilenetv5_with_attention(), 3, global_pool="avgmax", drop_rate=0.2)


@case
def mobilenetv5_classifier_with_head():
    return keras_hub.models.MobileNetV5ImageClassifier(mobilenetv5_small(), 3, head_hidden_size=12, global_pool="catavgmax", drop_rate=0.1)


@case
def mobilenetv5_classifier_without_pooling():
    return keras_hub.models.MobileNetV5ImageClassifier(mobilenetv5_with_attention(), 0, global_pool="")


def vit_det():
    return keras_hub.models.ViTDetBackbone(
        hidden_size=6, num_layers=2, intermediate_dim=8, num_heads=2, global_attention_layer_indices=[1], image_shape=(8, 8, 3),
        patch_size=2, num_output_channels=8, window_size=3)


@case
def sam():
    encoder = vit_det()
    prompts = keras_hub.layers.SAMPromptEncoder(hidden_size=8, image_embedding_size=(4, 4), input_image_size=(8, 8), mask_in_channels=8)
    decoder = keras_hub.layers.SAMMaskDecoder(hidden_size=8, num_layers=2, intermediate_dim=6, num_heads=2, embedding_dim=8,
                                              num_multimask_outputs=2, iou_head_depth=2, iou_head_hidden_dim=5)
    return keras_hub.models.SAMImageSegmenter(keras_hub.models.SAMBackbone(encoder, prompts, decoder))


@case
def depth_anything():
    encoder = keras_hub.models.DINOV2Backbone(
        patch_size=2, num_layers=3, hidden_dim=8, num_heads=2, intermediate_dim=12, image_shape=(12, 12, 2),
        position_embedding_shape=(12, 12, 2), apply_layernorm=True, name="encoder")
    backbone = keras_hub.models.DepthAnythingBackbone(encoder, [2, 1, 0.5], [4, 5, 6], 6, 4, -2, ["stem", "stage1", "stage3"])
    return keras_hub.models.DepthAnythingDepthEstimator(backbone, "metric", max_depth=9.0)


@case
def parseq():
    encoder = keras_hub.models.ViTBackbone((6, 8, 2), (3, 2), 1, 2, 8, 12, use_class_token=False)
    return keras_hub.models.PARSeqBackbone(encoder, VOCABULARY, 5, 8, 2, 2, 12)


def pali_gemma_backbone(**more):
    return keras_hub.models.PaliGemmaBackbone(VOCABULARY, 8, 2, 4, 2, 8, 12, 4, 4, 2, 6, 2, 10, **more)


@case
def pali_gemma():
    return pali_gemma_backbone(vit_classifier_activation="tanh", use_post_ffw_norm=True, attention_logit_soft_cap=5.0,
                               use_sliding_window_attention=True, sliding_window_size=3)


@case
def pali_gemma_causal_lm():
    return keras_hub.models.PaliGemmaCausalLM(None, pali_gemma_backbone(vit_name="sight", final_logit_soft_cap=4.0))


@case
def pali_gemma_mixed_bfloat16():
    return pali_gemma_backbone(dtype="mixed_bfloat16")


def blip2_sight(queries, dtype=None):
    encoder = keras_hub.models.BLIP2VisionEncoder(
        image_size=(6, 8), patch_size=(3, 2), num_layers=2, num_heads=2, hidden_dim=6, intermediate_dim=10, use_patch_bias=False,
        use_class_token=True, use_mha_bias=True, use_mlp_bias=True, dropout_rate=0.0, layer_norm_epsilon=1e-5, initializer_range=0.02,
        dtype=dtype, name="sight")
    qformer = keras_hub.models.BLIP2QFormer(
        num_query_tokens=queries, num_layers=3, num_heads=2, hidden_dim=4, intermediate_dim=7, vision_dim=6, cross_attention_frequency=2,
        dropout=0.1, layer_norm_epsilon=1e-4, dtype=dtype)
    return encoder, qformer


def blip2_opt(queries, dtype=None, **more):
    return keras_hub.models.BLIP2CustomOPT(
        vocabulary_size=VOCABULARY, num_layers=2, num_heads=2, hidden_dim=8, intermediate_dim=12, num_query_tokens=queries, dropout=0.1,
        max_sequence_length=14, qformer_hidden_dim=4, dtype=dtype, **more)


def blip2_flan_t5(queries, **more):
    return keras_hub.models.BLIP2FlanT5(
        vocabulary_size=VOCABULARY, num_layers=2, num_heads=2, hidden_dim=8, intermediate_dim=12, num_query_tokens=queries,
        qformer_hidden_dim=4, key_value_dim=3, layer_norm_epsilon=1e-5, **more)


@case
def blip2():
    return keras_hub.models.BLIP2Backbone(*blip2_sight(3), blip2_opt(3, initializer_range=0.05, layer_norm_epsilon=1e-4))


@case
def blip2_causal_lm():
    return keras_hub.models.BLIP2CausalLM(None, keras_hub.models.BLIP2Backbone(*blip2_sight(2), blip2_opt(2)))


@case
def blip2_text_causal_lm():
    return keras_hub.models.BLIP2CausalLM(None, keras_hub.models.BLIP2Backbone(None, None, blip2_opt(0)))


@case
def blip2_seq_2_seq_lm():
    return keras_hub.models.BLIP2Seq2SeqLM(keras_hub.models.BLIP2Backbone(*blip2_sight(2), blip2_flan_t5(2)))


@case
def blip2_text_seq_2_seq_lm():
    projection = L.Dense(8, use_bias=False, name="unused")
    return keras_hub.models.BLIP2Seq2SeqLM(keras_hub.models.BLIP2Backbone(
        None, None, blip2_flan_t5(0, language_projection=projection, dropout=0.0)))


@case
def blip2_mixed_bfloat16():
    dtype = "mixed_bfloat16"
    return keras_hub.models.BLIP2Backbone(*blip2_sight(3, dtype), blip2_opt(3, dtype), dtype=dtype)


def video_prism_backbone(**more):
    return keras_hub.models.VideoPrismBackbone(
        num_frames=3, patch_size=2, hidden_dim=8, intermediate_dim=12, num_heads=2, num_spatial_layers=2, num_temporal_layers=1,
        image_shape=(4, 6, 2), **more)


@case
def video_prism():
    return video_prism_backbone(num_auxiliary_layers=0, attention_logit_soft_cap=3.0, dropout_rate=0.1, layer_norm_epsilon=1e-4)


@case
def video_prism_texts():
    return video_prism_backbone(num_auxiliary_layers=1, num_text_layers=2, vocabulary_size=VOCABULARY)


@case
def video_prism_mixed_bfloat16():
    return video_prism_backbone(num_auxiliary_layers=0, num_text_layers=1, vocabulary_size=VOCABULARY, dtype="mixed_bfloat16")


def gemma3_with_images(**more):
    encoder = Gemma3VisionEncoder(image_size=8, patch_size=2, num_heads=2, hidden_dim=6, num_layers=2, intermediate_dim=10, output_dim=8,
                                  pool_size=2, layer_norm_epsilon=1e-3)
    return keras_hub.models.Gemma3Backbone(VOCABULARY, 8, 2, 4, 2, 8, 12, 4, vision_encoder=encoder, **more)


@case
def gemma3_vision():
    return gemma3_with_images(use_sliding_window_attention=True, sliding_window_size=4, use_post_attention_norm=True)


@case
def gemma3_vision_causal_lm():
    return keras_hub.models.Gemma3CausalLM(None, gemma3_with_images())


def qwen3_5_vision_encoder(**kwargs):
    sizes = dict(depth=2, hidden_size=16, num_heads=2, intermediate_size=20, patch_size=3, out_hidden_size=12, num_position_embeddings=26)
    return Qwen3_5VisionEncoder(**{**sizes, **kwargs})


@case
def qwen3_5_vision():
    return qwen3_5_backbone(num_layers=2, layer_types=["linear_attention", "full_attention"], mrope_section=[1, 1, 1],
                            vision_encoder=qwen3_5_vision_encoder())


@case
def qwen3_5_vision_mixed_bfloat16():
    return qwen3_5_backbone(num_layers=2, dtype="mixed_bfloat16", vision_encoder=qwen3_5_vision_encoder(depth=1, num_heads=4))


@case
def qwen3_5_vision_causal_lm():
    encoder = qwen3_5_vision_encoder(depth=1, in_channels=2, temporal_patch_size=1, num_position_embeddings=9)
    return keras_hub.models.Qwen3_5CausalLM(qwen3_5_backbone(num_layers=1, vision_encoder=encoder))


@case
def qwen3_5_moe_vision_causal_lm():
    return keras_hub.models.Qwen3_5MoeCausalLM(qwen3_5_moe_backbone(
        num_layers=2, layer_types=["full_attention", "linear_attention"], vision_encoder=qwen3_5_vision_encoder()))


@case
def whisper():
    return keras_hub.models.WhisperBackbone(VOCABULARY, 2, 2, 8, 12, num_mels=6, max_encoder_sequence_length=10,
                                            max_decoder_sequence_length=7)


@case
def whisper_mixed_bfloat16():
    return keras_hub.models.WhisperBackbone(VOCABULARY, 1, 2, 8, 12, num_mels=6, dropout=0.1, max_encoder_sequence_length=10,
                                            max_decoder_sequence_length=7, dtype="mixed_bfloat16")


def moonshine_backbone(**more):
    return keras_hub.models.MoonshineBackbone(
        vocabulary_size=VOCABULARY, filter_dim=8, encoder_num_layers=2, decoder_num_layers=2, hidden_dim=8, intermediate_dim=12,
        encoder_num_heads=2, decoder_num_heads=1, **more)


@case
def moonshine():
    return keras_hub.models.MoonshineAudioToText(moonshine_backbone())


@case
def moonshine_odd():
    """Heads that are padded, biases, and the other activations."""
    return moonshine_backbone(
        feedforward_expansion_factor=2, encoder_use_swiglu_activation=True, decoder_use_swiglu_activation=False,
        max_position_embeddings=64, pad_head_dim_to_multiple_of=3, partial_rotary_factor=0.9, dropout=0.1, initializer_range=0.05,
        rope_theta=100.0, attention_bias=True, attention_dropout=0.1)


@case
def hub_audio_converters():
    x = keras.Input((700,), name="x")
    return keras.Model(x, [H.WhisperAudioConverter(num_mels=7, num_fft_bins=64, stride=30, sampling_rate=500, max_audio_length=2)(x)])


@case
def gemma4_audio_converter():
    """A sound that is longer than the window, and frames that are longer than their transforms."""
    x = keras.Input((1100,), name="x")
    return keras.Model(x, [H.Gemma4AudioConverter(num_mels=7, num_fft_bins=64, stride=30, sampling_rate=500, max_audio_length=2, max_frequency=240.0,
                                                  mel_floor=1e-3, per_bin_mean=[0.5] * 7, per_bin_stddev=[2.0] * 7, frame_length=70)(x)])


@case
def classifier():
    """A backbone inside a model, called by dict and frozen."""
    backbone = keras_hub.models.BertBackbone(**BACKBONE, num_segments=VOCABULARY)
    backbone.trainable = False
    inputs = {x.name: keras.Input(x.shape[1:], dtype=x.dtype, name=x.name) for x in backbone.inputs}
    return keras.Model(inputs, L.Dense(3, activation="softmax")(backbone(inputs)["pooled_output"]))



LAYERS = {
    "rms_normalization": lambda: L.RMSNormalization(), "batch_normalization": lambda: L.BatchNormalization(momentum=0.9),
    "group_normalization": lambda: L.GroupNormalization(4), "unit_normalization": lambda: L.UnitNormalization(axis=[1, 2]),
    "concatenate": lambda: L.Concatenate(1), "dot": lambda: L.Dot(1, normalize=True), "reshape": lambda: L.Reshape((2, -1)),
    "permute": lambda: L.Permute((2, 1)), "flatten": lambda: L.Flatten(), "repeat_vector": lambda: L.RepeatVector(3),
    "zero_padding1d": lambda: L.ZeroPadding1D(2), "zero_padding2d": lambda: L.ZeroPadding2D(((1, 2), (0, 3))),
    "cropping1d": lambda: L.Cropping1D(), "cropping3d": lambda: L.Cropping3D(2), "up_sampling1d": lambda: L.UpSampling1D(),
    "up_sampling2d": lambda: L.UpSampling2D(3), "max_pooling2d": lambda: L.MaxPooling2D(),
    "average_pooling1d": lambda: L.AveragePooling1D(3, strides=1),
    "global_average_pooling1d": lambda: L.GlobalAveragePooling1D(keepdims=True), "conv1d": lambda: L.Conv1D(8, 3, padding="causal"),
    "conv2d": lambda: L.Conv2D(8, (3, 2), strides=2, data_format="channels_first"),
    "depthwise_conv2d": lambda: L.DepthwiseConv2D(3), "separable_conv1d": lambda: L.SeparableConv1D(8, 3),
    "conv2d_transpose": lambda: L.Conv2DTranspose(8, 3, strides=2, output_padding=1),
    "einsum_dense": lambda: L.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de"), "simple_rnn": lambda: L.SimpleRNN(8),
    "gru": lambda: L.GRU(8, go_backwards=True), "bidirectional": lambda: L.Bidirectional(L.LSTM(8, return_sequences=True), "sum"),
    "rnn": lambda: L.RNN([L.LSTMCell(8), L.GRUCell(4), L.SimpleRNNCell(2)], return_state=True),
    "time_distributed": lambda: L.TimeDistributed(L.Dense(8)), "re_lu": lambda: L.ReLU(6), "leaky_re_lu": lambda: L.LeakyReLU(0.2),
    "p_re_lu": lambda: L.PReLU(shared_axes=[1]), "elu": lambda: L.ELU(0.5), "softmax": lambda: L.Softmax([1, 2]),
    "rescaling": lambda: L.Rescaling(0.5, offset=[1.0, 2.0]), "normalization": lambda: L.Normalization(mean=0.5, variance=2.0, axis=None),
    "spatial_dropout2d": lambda: L.SpatialDropout2D(0.2, seed=1), "gaussian_noise": lambda: L.GaussianNoise(0.1),
    "gaussian_dropout": lambda: L.GaussianDropout(0.1), "alpha_dropout": lambda: L.AlphaDropout(0.1, noise_shape=[1, 4]),
    "activity_regularization": lambda: L.ActivityRegularization(l2=0.1),
    "reversible_embedding": lambda: H.ReversibleEmbedding(50, 8, tie_weights=False, logit_soft_cap=30.0),
    "token_and_position_embedding": lambda: H.TokenAndPositionEmbedding(50, 8, 16, embeddings_initializer="he_normal"),
    "position_embedding": lambda: H.PositionEmbedding(8, initializer="random_normal"), "rotary_embedding": lambda: H.RotaryEmbedding(),
    "gemma4_image_converter": lambda: H.Gemma4ImageConverter(patch_size=14, scale=1 / 255, offset=[0.0, 0.5, 1.0]),
    "alibi_bias": lambda: H.AlibiBias(), "transformer_encoder": lambda: H.TransformerEncoder(64, 4, dropout=0.1, activation="gelu"),
    "transformer_decoder": lambda: H.TransformerDecoder(64, 4, normalize_first=True, dtype="mixed_bfloat16"),
    "cached_multi_head_attention": lambda: H.CachedMultiHeadAttention(4, 8), "masked_lm_head": lambda: H.MaskedLMHead(50),
    "masked_lm_head_tied": lambda: H.MaskedLMHead(token_embedding=L.ReversibleEmbedding(50, 8), activation="softmax"),
}


HALF = ("mixed_bfloat16", "mixed_float16", "bfloat16", "float16")


# The frames, rows and columns of two images for each entry of the batch, 16 patches in all.
GRIDS = np.array([[[1, 2, 4], [1, 4, 2]], [[1, 4, 2], [2, 2, 2]], [[1, 2, 6], [1, 2, 2]]], "int32")


def patches_of(x, rng):
    """Patches of images of different sizes, and the positions of their rows over the whole batch."""
    if x.name == "image_grid_thw":
        return GRIDS
    if x.name == "pixel_values":
        return rng.standard_normal((BATCH, 16, *x.shape[2:])).astype("float32")
    return np.stack([12 * row + rng.permutation(12)[:4] for row in range(BATCH)]).astype("int32")


def places(columns, rows):
    """Positions of an image's patches, padded to 16."""
    out = np.full((16, 2), -1, "int32")
    out[:columns * rows] = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), -1).reshape(-1, 2)
    return out


def inputs_of(model, rng):
    out, names = {}, [x.name for x in model.inputs]
    for x in model.inputs:
        shape = [BATCH if x.shape[0] is None else x.shape[0]] + [5 if n is None else n for n in x.shape[1:]]
        if x.name == "images" and len(shape) == 5:  # Gemma 3 takes several images, and indices of their four positions
            shape[1] = 2
        if x.name in ("token_ids", "padding_mask", "position_ids", "vision_mask") and {"vision_indices", "audio_indices"} & {*names}:
            shape[1] = 12
        if x.name == "pixel_values" and x.shape[1] is None:
            shape = [BATCH, 2, 16, 12]
        if x.name == "pixel_position_ids":
            out[x.name] = np.stack([places(*size) for size in ((4, 4), (4, 2), (0, 0), (2, 4), (3, 4), (4, 4))]).reshape(BATCH, 2, 16, 2)
            continue
        if x.name == "input_features":
            shape = [BATCH, 1, 17, 8]
        if x.name == "input_features_mask":
            out[x.name] = np.array([17, 9, 12])[:, None, None] <= np.arange(17)
            continue
        if x.name == "audio_mel":
            shape = [BATCH, 1, 17, 8]
        if x.name == "audio_mel_mask":
            out[x.name] = np.array([17, 9, 0])[:, None, None] > np.arange(17)
            out[x.name] = out[x.name].astype("int32")
            continue
        if x.name == "audio_indices":  # not BATCH of them: Keras would add the numbers of rows as a bias
            rows = np.array([[10, 11, 0, 0, 0], [6, 7, 8, 9, 10], [1, 2, 3, 4, 5]], "int32")
            out[x.name] = rows if "pixel_values" in names else rows[:, :2]
            continue
        if x.name == "audio_mask":
            shape[1] = 12
        if "image_grid_thw" in names and x.name in ("image_grid_thw", "pixel_values", "vision_indices"):
            out[x.name] = patches_of(x, rng)
            continue
        if x.name == "vision_indices":
            out[x.name] = np.array([[1, 2, 3, 4, 6, 7, 8, 9], [2, 3, 4, 5, 0, 0, 0, 0], [0, 0, 0, 0, 7, 8, 9, 10]], "int32")
            continue
        if x.name == "vision_mask":
            out[x.name] = np.zeros((BATCH, 12), "int32")
            out[x.name][0, [1, 2, 3, 4, 6, 7, 8, 9]] = out[x.name][1, 2:6] = out[x.name][2, 7:11] = 1
            continue
        if x.name in ("encoder_input_values", "encoder_padding_mask") and x.shape[1] is None and "encoder_input_values" in names:
            shape[1] = 2400  # six positions of Moonshine's encoder, or fewer
        if x.name == "masks":  # SAM takes masks of four times the size of its cells
            shape = [BATCH, 1, 16, 16, 1]
        if x.dtype == "bool":
            out[x.name] = rng.random(shape) < 0.6
        elif "int" in x.dtype:
#Some padding in the middle and at the end, but no sample with only padding : its mean is 0 / 0.
            out[x.name] = rng.integers(0, VOCABULARY, shape).astype(x.dtype)
            out[x.name][..., 0] = 1
            if len(shape) > 1:
                out[x.name][0, ..., -2:] = 0
            if "mask" in x.name:
                out[x.name] = np.minimum(out[x.name], 1)
            if x.name == "at":
                out[x.name] %= 5
        elif x.name == "labels":  # SAM's points have these labels
            out[x.name] = rng.integers(-1, 2, shape).astype("float32")
        else:
            out[x.name] = rng.standard_normal(shape).astype("float32")
    return out


def run(model, inputs):
    values = inputs if len(inputs) > 1 else next(iter(inputs.values()))
    outputs = model(values, training=False)
    if not isinstance(outputs, dict):
        outputs = {f"output_{i}": y for i, y in enumerate(keras.tree.flatten(outputs))}
    return {
k: keras.ops.convert_to_numpy(keras.ops.cast(y, "float64")) for k, y in outputs.items()
}

def remade(model):
    """The logits of Gemma 3n are those of the embedding's values at the time of the constructor."""
    if type(model).__name__ != "Gemma3nCausalLM":
        return model
    return type(model)(None, model.backbone, name=model.name)


def in_float64(model):
    with ObjectSharingScope():
        text = json.dumps(keras.saving.serialize_keras_object(model))
    for policy in ("float32", *HALF):
        text = text.replace(f'"{policy}"', '"float64"')
    keras.config.set_dtype_policy("float64")
    try:
        with ObjectSharingScope():
            out = keras.saving.deserialize_keras_object(json.loads(text))
    finally:
        keras.config.set_dtype_policy("float32")
    out.set_weights(model.get_weights())
    for layer in out.layers:
        if isinstance(layer, L.Normalization):
            layer.finalize_state()
    return out


def describe(layer):
    nodes = layer._inbound_nodes  # layer.output fails for a layer that is called more than once
    shape = keras.tree.map_structure(lambda t: list(t.shape), nodes[0].output_tensors[0] if len(nodes) > 1 else layer.output)
    weights = [[w.path, list(w.shape), str(w.dtype), bool(w.trainable)] for w in layer.weights]
    return {"name": layer.name, "class": type(layer).__name__, "output_shape": shape, "params": layer.count_params(),
            "weights": weights, "config": config_of(layer)}


def config_of(layer):
    try:
        return keras.saving.serialize_keras_object(layer)
    except (AttributeError, TypeError, NotImplementedError):  # get_config of some layers fails, such as DeiTEncoder
        return None


def write_case(name, folder):
    keras.backend.clear_session()
    seed = zlib.crc32(name.encode())
    rng = np.random.default_rng(seed)
    model = CASES[name]()
#Away from 0 and 1, so that an ignored weight is detected.
    for weight in model.weights:
        if "float" in weight.dtype:
            value = 0.5 * rng.standard_normal(weight.shape)
            positive = "variance" in weight.path or weight.path.endswith(("_min", "_max"))
            value = np.abs(value) + 0.1 if positive else value
            weight.assign(-value if weight.path.endswith("_min") else value)
    for layer in model.layers:
        if isinstance(layer, L.Normalization):
            layer.finalize_state()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.json").write_text(model.to_json())
    model.save(folder / "model.keras")
    for file, options in (("summary.txt", {}), ("summary_120.txt", dict(line_length=120, expand_nested=True, show_trainable=True))):
        lines = []
        os.environ["COLUMNS"] = str(options.get("line_length", 80))
#A task of KerasHub would ignore the terminal's width.
        keras.Model.summary(model, print_fn=lambda line, line_break=True: lines.append(line), **options)
        (folder / file).write_text("\n".join(lines) + "\n")
    inputs = inputs_of(model, rng)
    single = run(remade(model), inputs)
    try:
        double = run(remade(in_float64(model)), {
      k: v.astype("float64") if v.dtype == np.float32 else v for k, v in inputs.items()})
        error = max(float(np.max(np.abs(single[k] - double[k]))) for k in single)
    except tf.errors.OpError:  # some of TensorFlow's CPU kernels are float32 only
        double, error = single, None
    np.savez(folder / "inputs.npz", **inputs)
    np.savez(folder / "outputs.npz", **{
      k: y.astype("float32") for k, y in double.items()})
    if any(f'"{policy}"' in model.to_json() for policy in HALF):
        np.savez(folder / "keras_outputs.npz", **{
      k: y.astype("float32") for k, y in single.items()})
        error = None
    (folder / "layers.json").write_text(json.dumps([describe(layer) for layer in model.layers]))
    (folder / "meta.json").write_text(json.dumps({"keras": keras.__version__, "seed": seed, "float32_error": error,
                                                  "params": model.count_params()}, indent=1))
    print(f"{name:28} {error}")


if __name__ == "__main__":
    data, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for name in names or CASES:
        if name in CASES:
            write_case(name, data / "families" / name)
    for name in names or LAYERS:
        if name in LAYERS:
            keras.backend.clear_session()
            layer = LAYERS[name]()
            (data / "layers" / f"{name}.json").write_text(json.dumps(keras.saving.serialize_keras_object(layer)))
            (data / "layers" / f"{name}.txt").write_text(f"{layer.get_config()}\n")
