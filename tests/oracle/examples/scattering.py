"""A Scattering Vision Transformer (Patro and Agneeswaran, "Scattering Vision Transformer: Spectral Mixing Matters", NeurIPS
2023): a dual-tree complex wavelet transform as fixed convolutions, gates on its results, and attention in later stages.

    python tests/oracle/examples/scattering.py svt.keras

writes SVT-H-S and counts its parameters, for the script of `attn flatten-script` and then `attn summary --costs`.
"""
import sys

import keras
import numpy as np
from keras import layers, ops

# Kingsbury's near-symmetric filters of 13 and 19 taps (near_sym_b), from the middle outwards; all are symmetric.
LOW = [0.55546875, 0.296875, -0.0482421875, -0.046875, 0.022265625, 0.0, -0.0017578125]
HIGH = [0.5594308035714286, -0.29975760323660716, -0.05168805803571428, 0.05564313616071428, 0.023856026785714284, -0.007156808035714285,
        -0.0018833705357142855, 0.0013419015066964285, 0.0, -7.062639508928571e-05]
ANALYSIS = (LOW, HIGH)
SYNTHESIS = tuple([tap * (-1) ** i for i, tap in enumerate(taps)] for taps in (HIGH, LOW))


def filtered(x, taps, axis):
    """Filters x (B,H,W,C) with symmetric taps along its rows (axis 1) or columns (axis 2), mirrored at its ends."""
    whole = np.array(taps[:0:-1] + taps, "float32")
    margin = [[0, 0]] * 4
    margin[axis] = [len(taps) - 1] * 2
    shape = (-1, 1, 1, 1) if axis == 1 else (1, -1, 1, 1)
    kernel = np.repeat(whole.reshape(shape), x.shape[-1], axis=2)
    return ops.depthwise_conv(ops.pad(x, margin, mode="symmetric"), kernel, padding="valid")


def to_complex(x):
    """Squares of four numbers as two complex ones each: ((real, imaginary), (real, imaginary))."""
    a, b, c, d = (x[:, i::2, j::2] for i in (0, 1) for j in (0, 1))
    half = 0.5**0.5
    return ((a - d) * half, (b + c) * half), ((a + d) * half, (b - c) * half)


def from_complex(first, second):
    half = 0.5**0.5
    top, bottom = [(first[i] + second[i]) * half for i in (0, 1)], [(first[i] - second[i]) * half for i in (0, 1)]
    rows = [ops.stack(pair, axis=3) for pair in (top, (bottom[1], -bottom[0]))]
    _, height, width, _, channels = rows[0].shape
    return ops.reshape(ops.stack(rows, axis=2), (-1, 2 * height, 2 * width, channels))


def wavelets(x):
    """One level: the low frequencies (B,H,W,C), and real and imaginary parts of six directions (B,6,H/2,W/2,C)."""
    low, high = (filtered(x, taps, 1) for taps in ANALYSIS)
    bands = [None] * 6
    for first, second, rows, taps in ((0, 5, high, LOW), (2, 3, low, HIGH), (1, 4, high, HIGH)):
        bands[first], bands[second] = to_complex(filtered(rows, taps, 2))
    return filtered(low, LOW, 2), *(ops.stack([band[part] for band in bands], axis=1) for part in (0, 1))


def from_wavelets(low, real, imaginary):
    band = lambda first, second: from_complex(*((real[:, i], imaginary[:, i]) for i in (first, second)))
    g_low, g_high = SYNTHESIS
    left = filtered(low, g_low, 1) + filtered(band(0, 5), g_high, 1)
    right = filtered(band(2, 3), g_low, 1) + filtered(band(1, 4), g_high, 1)
    return filtered(left, g_low, 2) + filtered(right, g_high, 2)


@keras.saving.register_keras_serializable()
class SpectralGate(layers.Layer):
    """A number for each low frequency, and two complex layers for the directions, in blocks of channels, by einsum."""

    def __init__(self, blocks=4, **kwargs):
        super().__init__(**kwargs)
        self.blocks = blocks

    def build(self, shapes):
        size = shapes[0][-1] // self.blocks
        make = lambda name, shape: self.add_weight(shape=shape, initializer=keras.initializers.RandomNormal(stddev=0.02), name=name)
        self.low = make("low", shapes[0][1:])
        self.kernels = [make(f"kernel_{i}", (2, self.blocks, size, size)) for i in (1, 2)]
        self.biases = [make(f"bias_{i}", (2, self.blocks, size)) for i in (1, 2)]

    def call(self, inputs):
        low, real, imaginary = inputs
        apart = (*real.shape[1:-1], self.blocks, real.shape[-1] // self.blocks)
        whole = real.shape[1:]
        real, imaginary = (ops.reshape(x, (-1, *apart)) for x in (real, imaginary))
        times = lambda x, kernel: ops.einsum("...bd,bdk->...bk", x, kernel)
        for i, act in ((0, ops.relu), (1, lambda x: x)):
            (kr, ki), (br, bi) = ((w[0], w[1]) for w in (self.kernels[i], self.biases[i]))
            real, imaginary = (act(times(real, kr) - times(imaginary, ki) + br), act(times(real, ki) + times(imaginary, kr) + bi))
        return [low * self.low, *(ops.reshape(x, (-1, *whole)) for x in (real, imaginary))]

    def get_config(self):
        return {**super().get_config(), "blocks": self.blocks}


def tokens(x):
    return layers.Reshape((-1, x.shape[-1]))(x)


def strided(x, filters, window, **options):
    return layers.Conv2D(filters, window, strides=2, **options)(layers.ZeroPadding2D(window // 2)(x))


def stem(x, hidden, width):
    x = strided(x, hidden, 7, use_bias=False)
    for i in range(3):
        if i:
            x = layers.Conv2D(hidden, 3, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization(epsilon=1e-5)(x))
    return layers.LayerNormalization(epsilon=1e-5)(strided(x, width, 3))


def block(x, heads, ratio, scatters):
    """x (B,H,W,C)."""
    _, height, width, channels = x.shape
    norm = layers.LayerNormalization(epsilon=1e-6)(x)
    if scatters:
        mixed = from_wavelets(*SpectralGate()(list(wavelets(norm))))
    else:
        flat = tokens(norm)
        mixed = layers.Reshape((height, width, channels))(layers.MultiHeadAttention(heads, channels // heads)(flat, flat))
    x = layers.Add()([x, mixed])
    y = layers.Dense(channels * ratio)(layers.LayerNormalization(epsilon=1e-6)(x))
    y = layers.Activation("gelu")(layers.DepthwiseConv2D(3, padding="same")(y))
    return layers.Add()([x, layers.Dense(channels)(y)])


def svt(size, hidden, widths, heads, ratios, depths, classes, scattering=1):
    image = keras.Input((size, size, 3), name="image")
    x = image
    for stage, (width, count, ratio, depth) in enumerate(zip(widths, heads, ratios, depths)):
        x = stem(x, hidden, width) if stage == 0 else layers.LayerNormalization(epsilon=1e-5)(strided(x, width, 3))
        for _ in range(depth):
            x = block(x, count, ratio, stage < scattering)
        if stage + 1 < len(widths):
            x = layers.LayerNormalization(epsilon=1e-6)(x)
    x = tokens(x)
    first = ops.mean(x, axis=1, keepdims=True)
    norm = layers.LayerNormalization(epsilon=1e-6)(layers.Concatenate(axis=1)([first, x]))
    first = layers.Add()([first, layers.MultiHeadAttention(heads[-1], widths[-1] // heads[-1])(norm[:, :1], norm)])
    y = layers.Dense(widths[-1] * ratios[-1], activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(first))
    first = layers.Add()([first, layers.Dense(widths[-1])(y)])
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Concatenate(axis=1)([first, x]))
    # The head of the class token, and half of the highest score of any token (token labelling).
    scores = layers.Dense(classes, name="head")(x[:, 0]) + 0.5 * ops.max(layers.Dense(classes, name="aux_head")(x[:, 1:]), axis=1)
    return keras.Model(image, scores)


def svt_h_s():
    """The authors' svt_s, which has 22 million parameters according to the paper."""
    return svt(224, 32, (64, 128, 320, 448), (2, 4, 10, 14), (8, 8, 4, 4), (3, 4, 6, 3), 1000)


def scattering_vision_transformer():
    return svt(48, 8, (16, 24), (2, 3), (2, 2), (2, 1), 7)


MODELS = [scattering_vision_transformer]

if __name__ == "__main__":
    model = svt_h_s()
    model.save(sys.argv[1])
    print(f"{model.count_params():,} parameters; the paper says 22M")
