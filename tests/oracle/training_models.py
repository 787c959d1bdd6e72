"""Random small models with random compile settings and data, for check_training.py.

Number i of seed s is always the same, including failed attempts. Layers that draw random numbers in training have a seed, so that
Keras's numbers are known.
"""
import keras
import numpy as np

LENGTH, WIDTH, VOCABULARY, CLASSES, BATCH = 5, 6, 11, 4, 4
POLICIES = ["float32"] * 8 + ["mixed_bfloat16", "mixed_float16"]

L = keras.layers


class Settings:
    """The data and options of one training."""

    def __init__(self):
        self.policy = "float32"
        self.steps = []           # description of the drawn steps
        self.data, self.validation = {}, None  # names as read by `attn train`
        self.class_weight = None
        self.targets = []         # names of the outputs; None means plain "y"

    def targets_of(self, arrays):
        """Returns (y, sample weights) for fit()."""
        names = [suffix(name) for name in self.targets]
        y = [arrays["y" + name] for name in names]
        weights = [arrays.get("sample_weight" + name) for name in names]
        if len(names) == 1:
            return y[0], weights[0]
        return y, weights if weights[0] is not None else None


def suffix(name):
    return f":{name}" if name else ""


# # ---- first layers


def tokens(rng):
    x = keras.Input((LENGTH,), dtype="int32", name="x")
    masked = bool(rng.integers(2))
    return x, L.Embedding(VOCABULARY, WIDTH, mask_zero=masked, embeddings_regularizer=regularizer(rng))(x)


def summed_tokens(rng):
    """A table with two lookups, one of them shifted."""
    x = keras.Input((LENGTH,), dtype="int32", name="x")
    table = L.Embedding(VOCABULARY, WIDTH)
    return x, L.Add()([table(x), L.Dense(WIDTH)(table(x))])


def numbers(_):
    x = keras.Input((LENGTH, WIDTH), name="x")
    return x, x


def masked_numbers(_):
    x = keras.Input((LENGTH, WIDTH), name="x")
    return x, L.Masking(0.0)(x)


def image(rng):
    x = keras.Input((5, 4, 3), name="x")
    kind, y = rng.integers(4), x
    if kind == 0:
        y = L.Conv2D(WIDTH, 3, padding="same", strides=int(rng.integers(1, 3)), activation="relu")(y)
    elif kind == 1:
        y = L.SeparableConv2D(WIDTH, (2, 3), padding="same", depth_multiplier=2)(y)
    elif kind == 2:
        y = L.Conv2D(WIDTH, 1, use_bias=False)(L.DepthwiseConv2D(2, padding="same")(y))
    else:
        y = L.Conv2DTranspose(WIDTH, 2, strides=2, padding="same")(y)
    if rng.integers(2):
        y = L.BatchNormalization(momentum=0.9)(y)
    pool = [L.MaxPooling2D, L.AveragePooling2D][rng.integers(2)]
    return x, L.Reshape((-1, WIDTH))(pool(2, padding="same")(y))


TRUNKS = [tokens, tokens, summed_tokens, numbers, numbers, numbers, masked_numbers, image]


# # ---- middle layers


def regularizer(rng):
    r = keras.regularizers
    return [None, None, None, r.L2(0.01), r.L1(0.003), r.L1L2(0.001, 0.004)][rng.integers(6)]


def constraint(rng):
    c = keras.constraints
    return [None, None, None, None, c.MaxNorm(1.5), c.UnitNorm(), c.NonNeg(), c.MinMaxNorm(0.5, 1.2, 0.8)][rng.integers(8)]


def activation(rng):
    return str(rng.choice(["relu", "gelu", "tanh", "silu", "selu", "linear", "elu", "softplus", "sigmoid", "mish"]))


def rate(rng, most):
    return most if rng.integers(2) else 0.0


BLOCKS = {}


def block(function):
    BLOCKS[function.__name__] = function
    return function


@block
def dense(rng, y):
    more = {"activity_regularizer": keras.regularizers.L2(0.002)} if rng.integers(6) == 0 else {}
    return L.Dense(WIDTH, activation(rng), use_bias=bool(rng.integers(4)), kernel_regularizer=regularizer(rng),
                   kernel_constraint=constraint(rng), bias_regularizer=regularizer(rng), **more)(y)


@block
def einsum(rng, y):
    return L.EinsumDense("btd,de->bte", (None, WIDTH), bias_axes="e", activation=activation(rng),
                         kernel_constraint=constraint(rng))(y)


@block
def activated(rng, y):
    if rng.integers(3) == 0:
        return L.PReLU(shared_axes=[1])(y)
    return [L.LeakyReLU(0.2), L.ELU(), L.Softmax(), L.ReLU(6.0, 0.1), L.Activation(activation(rng))][rng.integers(5)](y)


def recurrent(rng):
    kind = rng.integers(3)
    more = {"return_sequences": True, "use_bias": bool(rng.integers(4)), "kernel_regularizer": regularizer(rng)}
    if kind == 2:  # SimpleRNN accepts a seed but does not save it, so its trainings differ
        return L.SimpleRNN(WIDTH, activation=str(rng.choice(["tanh", "relu"])), **more)
    more.update(seed=int(rng.integers(1000)), dropout=rate(rng, 0.2))
    if rng.integers(3) == 0:
        more["recurrent_dropout"] = 0.25
    if kind == 0:
        return L.LSTM(WIDTH, unit_forget_bias=bool(rng.integers(2)), **more)
    return L.GRU(WIDTH, reset_after=bool(rng.integers(2)), **more)


@block
def recurrence(rng, y):
    layer = recurrent(rng)
    layer.go_backwards = bool(rng.integers(4) == 0)
    return layer(y)


@block
def bidirectional(rng, y):
    layer = recurrent(rng)
    if rng.integers(2):
        return L.Dense(WIDTH)(L.Bidirectional(layer, merge_mode="concat")(y))
    return L.Bidirectional(layer, merge_mode=str(rng.choice(["sum", "ave", "mul"])))(y)


@block
def cells(_, y):
    return L.RNN([L.LSTMCell(WIDTH), L.GRUCell(WIDTH), L.SimpleRNNCell(WIDTH)], return_sequences=True)(y)


@block
def last_state(rng, y):
    return L.RepeatVector(LENGTH)([L.LSTM, L.GRU][rng.integers(2)](WIDTH)(y))


@block
def attention(rng, y):
    layer = L.MultiHeadAttention(2, 3, value_dim=int(rng.integers(2, 5)), dropout=rate(rng, 0.2),
                                 use_bias=bool(rng.integers(3)), seed=int(rng.integers(1000)))
    return L.Add()([y, layer(y, y, use_causal_mask=bool(rng.integers(2)))])


@block
def grouped_attention(rng, y):
    return L.GroupQueryAttention(3, 4, 2, dropout=rate(rng, 0.2), seed=int(rng.integers(1000)))(y, y)


@block
def dot(rng, y):
    layer = L.AdditiveAttention if rng.integers(2) else L.Attention
    more = {"score_mode": "concat"} if layer is L.Attention and rng.integers(3) == 0 else {}
    return layer(use_scale=True, dropout=rate(rng, 0.3), seed=int(rng.integers(1000)), **more)(
        [y, y], use_causal_mask=bool(rng.integers(2)))


@block
def convolution(rng, y):
    kind = rng.integers(6)
    if kind == 0:
        return L.Conv1D(WIDTH, 3, padding="same", groups=int(rng.choice([1, 2, 3])), activation="relu")(y)
    if kind == 1:
        return L.Conv1D(WIDTH, 2, padding="causal", dilation_rate=2, kernel_constraint=constraint(rng))(y)
    if kind == 2:
        return L.SeparableConv1D(WIDTH, 3, padding="same", activation=activation(rng))(y)
    if kind == 3:
        return L.DepthwiseConv1D(3, padding="same")(y)
    if kind == 4:
        return L.Conv1DTranspose(WIDTH, 3, padding="same")(y)
    return L.Conv1D(WIDTH, 3, padding="same", strides=2, kernel_regularizer=regularizer(rng))(y)


@block
def pooled(rng, y):
    return [L.MaxPooling1D, L.AveragePooling1D][rng.integers(2)](2, int(rng.integers(1, 3)), padding="same")(y)


@block
def norm(rng, y):
    kind = rng.integers(5)
    if kind == 0:
        return L.GroupNormalization(int(rng.choice([1, 2, 3, 6])))(y)
    if kind == 1:
        return L.RMSNormalization()(y)
    if kind == 2:
        return L.UnitNormalization()(y)
    return L.LayerNormalization(gamma_regularizer=regularizer(rng), scale=bool(rng.integers(3)))(y)


@block
def batch(rng, y):
    return L.BatchNormalization(momentum=0.8, scale=bool(rng.integers(3)), center=bool(rng.integers(3)))(y)


@block
def dropped(rng, y):
    kind = rng.integers(4)
    seed = int(rng.integers(1000))
    if kind == 0:
        return L.SpatialDropout1D(0.3, seed=seed)(y)
    return L.Dropout(float(rng.choice([0.0, 0.3])), seed=seed)(y)


@block
def noise(rng, y):
    return [L.GaussianNoise, L.GaussianDropout, L.AlphaDropout][rng.integers(3)](0.2, seed=int(rng.integers(1000)))(y)


@block
def merged(rng, y):
    z = L.Dense(WIDTH, activation(rng))(y)
    kind = rng.integers(5)
    if kind == 4:
        return L.Dense(WIDTH)(L.Concatenate()([y, z]))
    return [L.Multiply, L.Maximum, L.Average, L.Subtract][kind]()([y, z])


@block
def nested(rng, y):
    parts = [L.Dense(WIDTH + 1, activation(rng)), L.LayerNormalization(), L.Dense(WIDTH)]
    return keras.Sequential(parts[: int(rng.integers(1, 4))] + [L.Dense(WIDTH)])(y)


@block
def shared(rng, y):
    layer = L.Dense(WIDTH, activation(rng), kernel_regularizer=regularizer(rng))
    return L.Add()([layer(layer(y)), y])


@block
def distributed(rng, y):
    return L.TimeDistributed(L.Dense(WIDTH, activation(rng)))(y)


@block
def moved(rng, y):
    kind = rng.integers(4)
    if kind == 0 and y.shape[1]:
        return L.Permute((2, 1))(L.Dense(int(y.shape[1]))(L.Permute((2, 1))(y)))
    if kind == 1:
        return L.Cropping1D((0, 2))(L.ZeroPadding1D((1, 1))(y))
    if kind == 2:
        return L.AveragePooling1D(2)(L.UpSampling1D(2)(y))
    return L.Reshape((-1, WIDTH))(y)


# ---- losses, optimizers


def head(rng, y, name, kind):
    """(output, loss, metrics, the kind of its targets)"""
    if kind != "sequence":
        pool = [L.GlobalAveragePooling1D, L.GlobalMaxPooling1D][rng.integers(2)]
        y = L.Flatten()(y) if rng.integers(2) and y.shape[1] else pool()(y)
    dense = lambda units, function=None: L.Dense(units, function, name=name, dtype="float32" if rng.integers(2) else None)(y)
    losses = keras.losses
    if kind == "numbers":
        loss = ["mse", "mae", "huber", "log_cosh", "mean_squared_logarithmic_error", "mean_absolute_percentage_error",
                losses.Huber(0.5), losses.MeanSquaredError(reduction="sum"), "poisson", "tversky"][rng.integers(9)]
        return dense(2, "softplus" if loss == "poisson" else None), loss, ["mae", "root_mean_squared_error"], "numbers"
    if kind == "binary":
        loss = ["binary_crossentropy", losses.BinaryCrossentropy(label_smoothing=0.2), "binary_focal_crossentropy", "hinge",
                "squared_hinge", "dice"][rng.integers(6)]
        return dense(1, "sigmoid"), loss, ["accuracy", "auc", "precision", "recall"], "binary"
    if kind == "one_hot":
        loss = ["categorical_crossentropy", losses.CategoricalCrossentropy(label_smoothing=0.1), "kl_divergence",
                "categorical_focal_crossentropy", "cosine_similarity", "categorical_hinge"][rng.integers(6)]
        return dense(CLASSES, "softmax"), loss, ["accuracy", "categorical_crossentropy"], "one_hot"
    if rng.integers(2):
        return dense(CLASSES, "softmax"), "sparse_categorical_crossentropy", ["accuracy"], "classes"
    ignored = 1 if rng.integers(4) == 0 else None
    loss = losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=ignored)
    return dense(CLASSES), loss, ["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2)], "classes"


def schedule(rng, value):
    s = keras.optimizers.schedules
    return [s.CosineDecay(value, 6, warmup_target=0.02, warmup_steps=2), s.ExponentialDecay(value, 3, 0.8),
            s.PiecewiseConstantDecay([1, 4], [value, value / 2, value / 3]), s.PolynomialDecay(value, 5, 1e-3, 2.0),
            s.InverseTimeDecay(value, 2, 0.5, staircase=True), s.CosineDecayRestarts(value, 2, 1.5, 0.8)][rng.integers(6)]


def optimizer(rng):
    o, more = keras.optimizers, {}
    value = float(rng.choice([0.01, 0.003]))
    lower = value / 10
    if rng.integers(3) == 0:
        value = lower = schedule(rng, value)
    clip = rng.integers(6)
    if clip < 3:
        more[["clipnorm", "clipvalue", "global_clipnorm"][clip]] = 0.5
    if rng.integers(4) == 0:
        more.update(use_ema=True, ema_momentum=0.9)
        if rng.integers(3) == 0:
            more["ema_overwrite_frequency"] = 2
    if rng.integers(4) == 0:
        more["gradient_accumulation_steps"] = int(rng.integers(2, 4))
    if rng.integers(4) == 0:
        more["weight_decay"] = 0.01
    coin = lambda: bool(rng.integers(2))
    makers = [
        lambda: o.SGD(value, momentum=0.9, nesterov=coin(), **more),
        lambda: o.SGD(value, **more),
        lambda: o.Adam(value, amsgrad=coin(), **more),
        lambda: o.AdamW(value, **{"weight_decay": 0.01, **more}),
        lambda: o.RMSprop(value, momentum=float(rng.choice([0.0, 0.9])), centered=coin(), **more),
        lambda: o.Adagrad(value, **more),
        lambda: o.Adadelta(value, **more),
        lambda: o.Adamax(value, **more),
        lambda: o.Nadam(value, **more),
        lambda: o.Ftrl(value, l1_regularization_strength=float(rng.choice([0.0, 0.001])),
                       l2_regularization_strength=float(rng.choice([0.0, 0.01])), **more),
        lambda: o.Lion(lower, **more),
        lambda: o.Adafactor(value, relative_step=coin(), **more),
        lambda: o.Lamb(value, **more),
        lambda: o.Muon(value, **more),
        lambda: o.ScheduleFreeAdamW(value, **more),
    ]
    return makers[rng.integers(len(makers))]()


# ---- data


def inputs_of(rng, model, rows, masked):
    shape = (rows, *model.inputs[0].shape[1:])
    if keras.backend.standardize_dtype(model.inputs[0].dtype) == "int32":
        x = rng.integers(0, VOCABULARY, shape).astype("int32")
        x[:, 0] = rng.integers(1, VOCABULARY, rows)
        return x
    x = rng.normal(size=shape).astype("float32")
    if masked:
        x[rng.uniform(size=shape[:2]) < 0.3] = 0.0
        x[:, 0] = 1.0
    return x


def targets_for(rng, kind, shape):
    if kind == "classes":
        return rng.integers(0, CLASSES, shape[:-1]).astype("int32")
    if kind == "binary":
        return rng.integers(0, 2, shape).astype("float32")
    if kind == "one_hot":
        return np.eye(CLASSES, dtype="float32")[rng.integers(0, CLASSES, shape[:-1])]
    return np.abs(rng.normal(size=shape)).astype("float32")


def make(seed, index, attempt):
    """(compiled model, settings)"""
    rng = np.random.default_rng([seed, index, attempt])
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(int(rng.integers(1 << 30)))
    out = Settings()
    out.policy = str(rng.choice(POLICIES))
    keras.config.set_dtype_policy(out.policy)
    trunk = TRUNKS[rng.integers(len(TRUNKS))]
    x, y = trunk(rng)
    names = list(BLOCKS)
    drawn = [str(rng.choice(names)) for _ in range(rng.integers(1, 5))]
    for name in drawn:
        y = BLOCKS[name](rng, y)
    count = 2 if rng.integers(4) == 0 else 1
    out.targets = ["first", "second"][:count] if count > 1 else [None]
    heads = [head(rng, y, name or "out", str(rng.choice(["numbers", "classes", "one_hot", "binary", "sequence"])))
             for name in out.targets]
    model = keras.Model(x, [row[0] for row in heads] if count > 1 else heads[0][0])
    if rng.integers(4) == 0:
        layers = [layer for layer in model.layers if layer.weights]
        layers[rng.integers(len(layers))].trainable = False
        if not model.trainable_weights:
            model.layers[-1].trainable = True
    weights = str(rng.choice(["none", "none", "sample", "class"]))
    if weights == "class" and (count > 1 or heads[0][3] == "numbers" or len(heads[0][0].shape) > 2):
        weights = "none"
    numbers = heads[0][3] in ("numbers", "one_hot", "binary") and count == 1
    chosen = {
        "loss": [row[1] for row in heads] if count > 1 else heads[0][1],
        "metrics": [row[2] for row in heads] if count > 1 else heads[0][2],
        "weighted_metrics": ["mae"] if weights != "none" and rng.integers(2) and numbers else None,
        "loss_weights": [0.7, 1.6] if count > 1 and rng.integers(2) else None,
    }
    if count > 1 and rng.integers(2):  # by name
        for key in ("loss", "metrics", "loss_weights"):
            if chosen[key]:
                chosen[key] = dict(zip(out.targets, chosen[key]))
    made = optimizer(rng)
    model.compile(made, jit_compile=False, **chosen)
    out.steps = [trunk.__name__, *drawn, *[row[3] for row in heads], type(made).__name__, weights, out.policy]

    def arrays(rows):
        data = {"x": inputs_of(rng, model, rows, trunk is masked_numbers)}
        for name, (output, _, _, kind) in zip(out.targets, heads):
            shape = (rows, *output.shape[1:])
            if None in shape:
                shape = (rows, *model(data["x"][:1]).shape[1:]) if count == 1 else shape
            data["y" + suffix(name)] = targets_for(rng, kind, shape)
            if weights == "sample":
                data["sample_weight" + suffix(name)] = rng.uniform(0.5, 2.0, shape[:-1]).astype("float32")
        return data

    out.data = arrays(int(rng.integers(9, 15)))
    if rng.integers(3) == 0:
        out.validation = arrays(6)
    if weights == "class":
        classes = 2 if heads[0][3] == "binary" else CLASSES
        out.class_weight = {i: float(w) for i, w in enumerate(rng.uniform(0.5, 3.0, classes).round(2))}
    return model, out
