"""Writes tests/data/keras2: models of Keras 2 with inputs and outputs, made by tf_keras.

usage: make_keras2_cases.py OUT_DIR [CASE…]      (needs: pip install tf_keras tensorflow-cpu)

Every case is a folder: model.json (to_json), model.h5 (config and weights in one file), model.keras (tf_keras's own archive;
only for the cases in KERAS), inputs.npz, outputs.npz and meta.json. tf_keras computes the outputs in the model's own dtypes.
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import tf_keras as keras

L = keras.layers
KERAS = {"encoder", "encoder_layers", "nested", "bidirectional", "batch_norm", "rnn_sequential", "mixed_bfloat16"}


def sequence(*shape, name=None, dtype="float32"):
    return keras.Input(shape, name=name, dtype=dtype)


def encoder():
    """Post-norm, with + between tensors, as in Keras 2 notebooks."""
    i = sequence(6, 8, name="x")
    x = i
    for _ in range(2):
        a = L.MultiHeadAttention(num_heads=2, key_dim=4, dropout=0.1)(query=x, value=x, key=x)
        x = L.LayerNormalization(epsilon=1e-6)(x + L.Dropout(0.1)(a))
        f = L.Dense(16, activation="relu")(x)
        x = L.LayerNormalization(epsilon=1e-6)(x + L.Dense(8)(f))
    return keras.Model(i, L.Dense(5, activation="softmax")(x), name="encoder")


def encoder_layers():
    """Padding masks: Keras 2 leaves them on the inputs of attention, and Add keeps them."""
    i = sequence(6, name="tokens", dtype="int32")
    x = L.Embedding(11, 8, mask_zero=True)(i)
    for _ in range(2):
        a = L.MultiHeadAttention(2, 4)(x, x)
        x = L.LayerNormalization()(L.Add()([x, a]))
        x = L.LayerNormalization()(L.Add()([x, L.Dense(8, activation="gelu")(x)]))
    return keras.Model(i, [L.GlobalAveragePooling1D()(x), x], name="encoder_layers")


def cross_attention():
    q, v, m = sequence(4, 8, name="q"), sequence(5, 6, name="v"), sequence(4, 5, name="m", dtype="bool")
    y, scores = L.MultiHeadAttention(2, 3, value_dim=5, output_shape=7, use_bias=False)(
        q, value=v, attention_mask=m, return_attention_scores=True
    )
    z = L.MultiHeadAttention(2, 3)(y, y, use_causal_mask=True)
    return keras.Model({"q": q, "v": v, "m": m}, {"z": z, "scores": scores}, name="cross_attention")


def masked_merges():
    """Masks of merge layers, of which only some inputs have one."""
    a, b = sequence(5, name="a", dtype="int32"), sequence(5, 4, name="b")
    x = L.Embedding(7, 4, mask_zero=True)(a)
    y = L.Masking(mask_value=0.5)(b)
    sums = [L.Add()([x, y]), L.Multiply()([x, y]), L.Maximum()([x, b]), L.Average()([x, y, b]), L.Subtract()([x, b])]
    joined = [L.Concatenate()([x, y]), L.Concatenate()([x, b]), L.Concatenate(axis=1)([x, y])]
    return keras.Model([a, b], [L.GlobalAveragePooling1D()(t) for t in sums + joined], name="masked_merges")


def masked_attention_layers():
    i, j = sequence(5, name="i", dtype="int32"), sequence(6, name="j", dtype="int32")
    table = L.Embedding(9, 4, mask_zero=True)
    q, v = table(i), table(j)
    a = L.Attention(use_scale=True)([q, v])
    c = L.Attention(score_mode="concat")([q, v, v], use_causal_mask=True)
    d = L.AdditiveAttention()([q, v])
    return keras.Model([i, j], [L.GlobalAveragePooling1D()(t) for t in (a, c, d)], name="masked_attention_layers")


def masked_softmax():
    x, m = sequence(4, 5, name="x"), sequence(4, 5, name="m", dtype="bool")
    return keras.Model([x, m], L.Softmax(axis=-1)(x, mask=m), name="masked_softmax")


def rnn_sequential():
    return keras.Sequential(
        [
            L.Embedding(12, 5, mask_zero=True, input_length=7),
            L.LSTM(4, return_sequences=True),
            L.Dropout(0.2),
            L.GRU(3, reset_after=False, return_sequences=True),
            L.SimpleRNN(6),
            L.Dense(2, activation="sigmoid", kernel_regularizer="l2"),
        ],
        name="rnn_sequential",
    )


def bidirectional():
    """Its layers return zeros for masked steps if they return sequences."""
    i = sequence(6, name="tokens", dtype="int32")
    x = L.Embedding(9, 4, mask_zero=True)(i)
    x = L.Bidirectional(L.LSTM(3, return_sequences=True))(x)
    y = L.Bidirectional(L.GRU(2, return_sequences=True), merge_mode="sum")(x)
    z = L.Bidirectional(L.LSTM(3), merge_mode="ave", backward_layer=L.LSTM(3, go_backwards=True))(y)
    return keras.Model(i, [y, z], name="bidirectional")


def encoder_decoder_rnn():
    """States are further inputs of the next LSTM; the mask stays with the first."""
    s, t = sequence(5, name="source", dtype="int32"), sequence(4, name="target", dtype="int32")
    _, h, c = L.LSTM(6, return_state=True)(L.Embedding(9, 5, mask_zero=True)(s))
    x = L.LSTM(6, return_sequences=True)(L.Embedding(8, 5, mask_zero=True)(t), initial_state=[h, c])
    return keras.Model([s, t], L.TimeDistributed(L.Dense(8, activation="softmax"))(x), name="encoder_decoder_rnn")


def hard_sigmoid():
    """max(0, min(1, x/5 + 1/2)), which Keras 3 changed."""
    i = sequence(5, 3, name="x")
    x = L.LSTM(4, recurrent_activation="hard_sigmoid", return_sequences=True)(i)
    x = L.GRU(4, recurrent_activation="hard_sigmoid", return_sequences=True)(x)
    return keras.Model(i, L.Dense(4, activation="hard_sigmoid")(L.Activation("hard_sigmoid")(x)), name="hard_sigmoid")


def activations():
    i = sequence(4, 6, name="x")
    layers = [
        L.LeakyReLU(0.2), L.ELU(0.7), L.PReLU(shared_axes=[1]), L.ThresholdedReLU(0.5), L.ReLU(2.0, 0.1, 0.3),
        L.Softmax(axis=1), L.Activation("swish"), L.Activation("mish"), L.Activation(tf.nn.leaky_relu),
        L.Dense(3, activation=L.LeakyReLU(alpha=0.4)), L.Dense(3, activation=tf.nn.gelu),
        L.Dense(3, activation=tf.nn.softmax), L.Activation("exponential"), L.Activation("softsign"),
    ]
    return keras.Model(i, L.Concatenate()([layer(i) for layer in layers]), name="activations")


def batch_norm():
    i = sequence(8, 8, 3, name="image")
    x = L.Conv2D(4, 3, padding="same", use_bias=False, kernel_initializer="he_normal")(i)
    x = L.ReLU()(L.BatchNormalization(momentum=0.9, renorm=False)(x))
    x = L.DepthwiseConv2D(3, strides=2, padding="same")(x)
    x = L.BatchNormalization(axis=-1, scale=False)(x)
    x = L.SeparableConv2D(5, 3)(x)
    x = L.Conv2DTranspose(3, 2, strides=2)(x)
    x = L.MaxPooling2D()(L.ZeroPadding2D()(x))
    return keras.Model(i, L.Dense(4)(L.Flatten()(x)), name="batch_norm")


def conv1d():
    return keras.Sequential(
        [
            keras.Input((12, 3), name="series"),
            L.Conv1D(6, 3, padding="causal", dilation_rate=2, activation="relu"),
            L.SpatialDropout1D(0.1),
            L.AveragePooling1D(2),
            L.UpSampling1D(2),
            L.Cropping1D(1),
            L.Conv1DTranspose(4, 3, strides=2),
            L.GaussianNoise(0.1),
            L.GlobalMaxPooling1D(),
            L.RepeatVector(3),
            L.Permute((2, 1)),
            L.Reshape((6, 2)),
        ],
        name="conv1d",
    )


def nested():
    """Models inside models, called twice: their calls count from 1 in Keras 2."""
    b = sequence(5, 6)
    block = keras.Model(b, L.LayerNormalization()(L.Add()([b, L.MultiHeadAttention(2, 3)(b, b)])), name="block")
    head = keras.Sequential([keras.Input((5, 6)), L.Dense(6, activation="tanh"), L.Dense(6)], name="head")
    plain = keras.Sequential([L.Dense(6)], name="plain")
    i = sequence(5, 6, name="x")
    x = head(block(head(block(i))))
    return keras.Model(i, [block(plain(x)), x], name="nested")


def sequential_of_models():
    first = keras.Sequential([keras.Input((4, 3)), L.Dense(5)], name="first")
    i = sequence(4, 5)
    second = keras.Model(i, L.Dense(2)(i) * 2.0, name="second")
    return keras.Sequential([keras.Input((4, 3)), first, second, L.Flatten()], name="sequential_of_models")


def shared_layers():
    a, b = sequence(4, 6, name="a"), sequence(4, 6, name="b")
    dense, norm = L.Dense(6, activation="relu"), L.LayerNormalization(axis=[1, 2])
    x = L.Add()([norm(dense(a)), norm(dense(b))])
    return keras.Model([a, b], dense(x), name="shared_layers")


def tf_functions():
    """Functions of TensorFlow on tensors of the graph, as hand-written attention uses them."""
    i = sequence(None, 12, name="x")
    b, t = tf.shape(i)[0], tf.shape(i)[1]

    def heads(x):
        return tf.transpose(tf.reshape(x, (b, -1, 3, 4)), [0, 2, 1, 3])

    q, k, v = (heads(L.Dense(12)(i)) for _ in range(3))
    scores = tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(4.0)
    x = tf.matmul(tf.nn.softmax(scores, axis=-1), v)
    x = tf.reshape(tf.transpose(x, [0, 2, 1, 3]), (b, t, 12))
    x = tf.concat([x, i], axis=-1)
    parts = tf.split(x, [4, 8, 12], axis=-1)
    y = tf.reduce_mean(parts[2] * 2.0 - 1.0, axis=1, keepdims=True) + parts[2]
    z = tf.nn.gelu(y, approximate=True) + tf.nn.leaky_relu(tf.cast(y, tf.float32))
    return keras.Model(i, [z, parts[0][:, 1:3, ::2], x[..., tf.newaxis, -1]], name="tf_functions")


def tf_elementwise():
    x, y = sequence(4, 3, name="x"), sequence(4, 3, name="y")
    outs = [
        1.0 - x, 2.0 / (y * y + 1.0), -x, abs(x), x**2, x // 0.5, x % 0.75, tf.maximum(x, y), tf.minimum(x, 0.25),
        tf.where(x > y, x, y), tf.where((x > 0) & ~(y > 0), x, 0.0), tf.clip_by_value(x, -0.5, 0.5), tf.square(x - y),
        tf.math.squared_difference(x, y), tf.add_n([x, y, x]), tf.nn.silu(x), tf.nn.relu(x), tf.sigmoid(y), tf.tanh(y),
        tf.math.l2_normalize(x, -1), tf.cumsum(x, 1), tf.reverse(x, [1]), tf.roll(x, 1, 1), tf.stop_gradient(x),
        tf.nn.bias_add(x, tf.constant([1.0, 2.0, 3.0])), tf.exp(x), tf.math.rsqrt(abs(x) + 0.1),
    ]  # fmt: skip
    return keras.Model([x, y], tf.concat(outs, -1), name="tf_elementwise")


def tf_shapes():
    x, i = sequence(4, 3, name="x"), sequence(5, name="i", dtype="int32")
    outs = [
        tf.stack([x, x], 1), tf.unstack(x, axis=1)[2], tf.expand_dims(x, -1), tf.squeeze(x[:, :1], 1),
        tf.pad(x, [[0, 0], [1, 2], [0, 0]], constant_values=0.5), tf.tile(x, [1, 2, 1]), tf.repeat(x, 2, axis=1),
        tf.gather(x, [0, 2], axis=1), tf.one_hot(i, 4), tf.argmax(x, -1), tf.reduce_max(x, axis=[1, 2]),
        tf.math.reduce_std(x, -1), tf.reduce_logsumexp(x, -1), tf.reshape(x, (-1, 12)), x @ tf.ones((3, 2)),
        tf.tensordot(x, tf.ones((3, 2)), 1), tf.zeros_like(x) + tf.ones_like(x), tf.identity(x),
        tf.split(x, 2, axis=1)[1],
    ]  # fmt: skip
    return keras.Model([x, i], outs, name="tf_shapes")


def initializers():
    i = sequence(4, name="x")
    names = ["glorot_uniform", "he_normal", "lecun_uniform", "orthogonal", "random_normal", "truncated_normal", "ones"]
    x = [L.Dense(3, kernel_initializer=n, bias_initializer="ones", kernel_constraint="max_norm")(i) for n in names]
    v = keras.initializers.VarianceScaling(2.0, "fan_out", "untruncated_normal")
    x.append(L.Dense(3, kernel_initializer=v, bias_regularizer=keras.regularizers.L1L2(0.1, 0.2))(i))
    x.append(L.Dense(3, kernel_initializer=keras.initializers.RandomUniform(-1, 2), activity_regularizer="l1")(i))
    x.append(L.EinsumDense("ab,bc->ac", 3, bias_axes="c", kernel_initializer="identity")(i))
    return keras.Model(i, L.Concatenate()(x), name="initializers")


def mixed(policy):
    keras.mixed_precision.set_global_policy(policy)
    i = sequence(5, name="tokens", dtype="int32")
    x = L.Embedding(9, 8, mask_zero=True)(i)
    x = L.LayerNormalization()(x + L.MultiHeadAttention(2, 4)(x, x))
    x = L.LayerNormalization()(L.Add()([x, L.Dense(8, activation="gelu")(x)]))
    x = L.Bidirectional(L.GRU(4, return_sequences=True))(x)
    y = L.Dense(3, activation="softmax", dtype="float32")(x)
    model = keras.Model(i, [x, y], name=policy)
    keras.mixed_precision.set_global_policy("float32")
    return model


def mixed_float16():
    return mixed("mixed_float16")


def mixed_bfloat16():
    return mixed("mixed_bfloat16")


def normalization_layers():
    i = sequence(4, 6, name="x")
    n = L.Normalization(mean=[0.1] * 6, variance=[2.0] * 6)(i)
    x = L.Rescaling(0.5, offset=-1.0)(n)
    x = L.GroupNormalization(groups=3)(x)
    x = L.UnitNormalization()(x)
    return keras.Model(i, L.LayerNormalization(axis=1, center=False)(x), name="normalization_layers")


def stacked_cells():
    i = sequence(5, 3, name="x")
    x = L.RNN([L.LSTMCell(4), L.GRUCell(3)], return_sequences=True)(i)
    x = L.RNN(L.SimpleRNNCell(2), go_backwards=True)(x)
    return keras.Model(i, x, name="stacked_cells")


CASES = [
    encoder, encoder_layers, cross_attention, masked_merges, masked_attention_layers, masked_softmax, rnn_sequential,
    bidirectional, encoder_decoder_rnn, hard_sigmoid, activations, batch_norm, conv1d, nested, sequential_of_models,
    shared_layers, tf_functions, tf_elementwise, tf_shapes, initializers, mixed_float16, mixed_bfloat16,
    normalization_layers, stacked_cells,
]  # fmt: skip


def draw_input(tensor, rng):
    shape = [2] + [5 if d is None else d for d in tensor.shape[1:]]
    dtype = tensor.dtype.name
    if dtype == "bool":
        return rng.random(shape) < 0.7
    if dtype == "int32" or "tokens" in tensor.name or "embedding" in tensor.name:
        values = rng.integers(1, 4, shape)
        if len(shape) == 2:  # padded rows, one of them shorter
            values[0, -2:] = 0
            values[1, -1:] = 0
        return values.astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def as_list(x):
    return x if isinstance(x, (list, tuple)) else [x]


def randomize(model, rng):
    """Biases start at zero and norms at one, which hides mistakes."""
    for weight in model.weights:
        value = weight.numpy()
        if value.dtype.kind == "f" or value.dtype.name == "bfloat16":
            spread = rng.normal(0, 0.3, value.shape)
            positive = "variance" in weight.name
            weight.assign((np.abs(value + spread) + 0.1 if positive else value + spread).astype(value.dtype))


def write(make, out):
    keras.backend.clear_session()
    name = make.__name__
    rng = np.random.default_rng(sum(map(ord, name)))
    keras.utils.set_random_seed(7)
    model = make()
    if not model.built:
        model.build((None, 7))
    randomize(model, rng)
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    inputs = {t.name.split(":")[0]: draw_input(t, rng) for t in model.inputs}
    names = model.input_names
    inputs = dict(zip(names, inputs.values()))
    fed = inputs if isinstance(model.input, dict) else [inputs[n] for n in names]
    results = model(fed if len(names) > 1 else fed[0] if isinstance(fed, list) else fed, training=False)
    if isinstance(results, dict):
        outputs = {k: v.numpy() for k, v in results.items()}
    else:
        outputs = {f"output_{n}": v.numpy() for n, v in enumerate(as_list(results))}
    outputs = {k: v.astype("float32") if v.dtype.name == "bfloat16" else v for k, v in outputs.items()}
    (folder / "model.json").write_text(model.to_json())
    model.save(folder / "model.h5")
    if name in KERAS:
        model.save(folder / "model.keras")
    np.savez(folder / "inputs.npz", **inputs)
    np.savez(folder / "outputs.npz", **outputs)
    trainable = int(sum(np.prod(w.shape) for w in model.trainable_weights))
    meta = {
        "keras_version": keras.__version__,
        "total_params": int(model.count_params()),
        "trainable_params": trainable,
        "dtype": name.split("_")[1] if name.startswith("mixed") else "float32",
    }
    (folder / "meta.json").write_text(json.dumps(meta) + "\n")
    print(name, model.count_params())


def main():
    out = pathlib.Path(sys.argv[1])
    chosen = sys.argv[2:]
    for make in CASES:
        if not chosen or make.__name__ in chosen:
            write(make, out)


main()
