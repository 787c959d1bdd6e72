"""Cases of make_layer_cases.py with operations: Fourier transforms, matrices, bits and images, and layers that use
them. Each function returns a model."""
import keras
import numpy as np
from keras import layers as L
from keras import ops
from keras_hub import layers as H

image = ops.image
CASES = {}


def case(build):
    CASES[build.__name__] = build
    return build


@case
def fourier():
    """Lengths with a single product, composite ones, and primes; complex and real transforms."""
    outputs, inputs = [], []
    for size in (1, 2, 15, 128, 360, 509, 1031):
        re, im = keras.Input((2, size), name=f"re_{size}"), keras.Input((2, size), name=f"im_{size}")
        inputs += [re, im]
        outputs += [*ops.fft((re, im)), *ops.rfft(re)]
        if size > 1:
            outputs += [ops.irfft((re, im)), ops.irfft(ops.rfft(re), size)]
    a, b = keras.Input((3, 12, 150), name="a"), keras.Input((3, 12, 150), name="b")
    turned = ops.fft2((a, b))
    return keras.Model([*inputs, a, b], [*outputs, *turned, *ops.ifft2(turned), *ops.ifft2((b, a)), *ops.rfft(a, 200),
                                         *ops.rfft(a, 64), ops.irfft((a, b), 31), ops.irfft((a, b), 400)])


@case
def short_time_fourier():
    x, batch = keras.Input((2, 300), name="x"), keras.Input((160,), name="batch")
    window = [0.1 * i for i in range(1, 13)]
    odd = dict(sequence_length=12, sequence_stride=5, fft_length=17)
    pairs = [(dict(sequence_length=64, sequence_stride=16, fft_length=64), {}),
             (dict(sequence_length=30, sequence_stride=7, fft_length=32, window="hamming", center=False), {}),
             (dict(odd, window=window), dict(length=90)), (dict(odd, window=None, center=False), {}), (odd, dict(length=150))]
    outputs = [ops.extract_sequences(x, 12, 5), ops.extract_sequences(batch, 160, 1), ops.extract_sequences(batch, 7, 9)]
    for forth, back in pairs:
        for signal in (x, batch):
            parts = ops.stft(signal, **forth)
            outputs += [*parts, ops.istft(parts, **forth, **back)]
    return keras.Model([x, batch], outputs)


@case
def spectrograms():
    x, stereo = keras.Input((400,), name="x"), keras.Input((120, 2), name="stereo")
    first = keras.Input((2, 120), name="first")
    spectrogram = lambda **options: L.STFTSpectrogram(frame_length=24, **options)
    outputs = [L.MelSpectrogram(64, 20, num_mel_bins=9, sampling_rate=4000)(x),
               L.MelSpectrogram(128, 50, sequence_length=90, window="hamming", num_mel_bins=5, min_freq=0, max_freq=6000, mag_exp=1.0,
                                power_to_db=False)(x),
               L.MelSpectrogram(64, 33, num_mel_bins=4, top_db=20, ref_power=3.0, mag_exp=1.5)(x)]
    for mode in ("log", "magnitude", "psd", "real", "imag", "stft"):
        outputs += [spectrogram(mode=mode)(stereo), spectrogram(mode=mode, padding="same", expand_dims=True, frame_step=7)(stereo)]
    outputs += [spectrogram(mode="psd", data_format="channels_first", fft_length=40, window="hamming", periodic=True)(first),
                spectrogram(mode="magnitude", data_format="channels_first", expand_dims=True, scaling="spectrum", window=None)(first)]
    return keras.Model([x, stereo, first], outputs)


@case
def fnet():
    ids, wide = keras.Input((6,), dtype="int32", name="ids"), keras.Input((10, 140), name="wide")
    x = L.Embedding(9, 8)(ids)
    y = H.FNetEncoder(12, dropout=0.1, activation="gelu")(H.FNetEncoder(7, layer_norm_epsilon=1e-3)(x))
    return keras.Model([ids, wide], [y, H.FNetEncoder(5, bias_initializer="ones")(wide)])


@case
def conv_lstm():
    line, film = keras.Input((None, 7, 3), name="line"), keras.Input((4, 6, 5, 2), name="film")
    first, cube = keras.Input((3, 2, 6, 5), name="first"), keras.Input((2, 3, 4, 3, 2), name="cube")
    half = dict(return_sequences=True, padding="same")
    h, c = keras.Input((4, 4, 3), name="h"), keras.Input((4, 4, 3), name="c")
    return keras.Model([line, film, first, cube, h, c], [
        L.ConvLSTM1D(2, 3)(line), L.ConvLSTM1D(3, 2, strides=2, go_backwards=True, **half)(line),
        *L.ConvLSTM2D(3, (3, 2), return_state=True)(film, initial_state=[h, c]),
        L.ConvLSTM2D(2, 3, dilation_rate=2, use_bias=False, activation="relu", recurrent_activation="hard_sigmoid", **half)(film),
        *L.ConvLSTM2D(2, 3, data_format="channels_first", unit_forget_bias=False, return_state=True, **half)(first),
        L.ConvLSTM3D(2, 2)(cube), L.ConvLSTM3D(1, (1, 2, 3), data_format="channels_first", **half)(cube)])


@case
def conv_lstm_masked():
    film = keras.Input((6, 4, 5, 2), name="film")
    mask = keras.Input((6,), dtype="bool", name="seen")
    outputs = [L.ConvLSTM2D(2, 2)(film, mask=mask), L.ConvLSTM2D(2, 2, return_sequences=True, go_backwards=True)(film, mask=mask),
               *L.ConvLSTM2D(3, 3, return_sequences=True, return_state=True, zero_output_for_mask=True)(film, mask=mask)]
    return keras.Model([film, mask], outputs)


@case
def matrices():
    x, right, one = keras.Input((5, 5), name="x"), keras.Input((5, 3), name="right"), keras.Input((5,), name="one")
    single = keras.Input(batch_shape=(4, 4), name="single")
    tall, broad = keras.Input((6, 4), name="tall"), keras.Input((2, 3, 7), name="broad")
    positive = ops.matmul(x, ops.transpose(x, (0, 2, 1))) + 2.0 * ops.eye(5)
    lower = ops.cholesky(positive)
    outputs = [lower, ops.cholesky(positive, upper=True), ops.cholesky_inverse(lower), ops.cholesky_inverse(ops.transpose(lower, (0, 2, 1)), upper=True),
               ops.det(x), ops.inv(positive), ops.logdet(positive), *ops.slogdet(x), ops.solve(positive, right), ops.solve(positive, one),
               ops.solve_triangular(positive, right), ops.solve_triangular(positive, one, lower=True), *ops.lu_factor(single),
               ops.inv(single + 3.0 * ops.eye(4))]
    for y in (x, tall, broad):
        outputs += [*ops.qr(y), *ops.qr(y, mode="complete")]
    return keras.Model([x, right, one, single, tall, broad], outputs)


@case
def bits():
    ids, more = keras.Input((6,), dtype="int32", name="ids"), keras.Input((6,), dtype="int32", name="more")
    outputs = []
    for dtype in ("int32", "int8", "uint8", "int64", "uint32"):
        signs = 0 if dtype.startswith("u") else 100
        x, y = (ops.cast(37 * z - signs, dtype) for z in (ids, more))
        places = ops.cast(more, dtype)
        outputs += [ops.bitwise_and(x, y), ops.bitwise_or(x, y), ops.bitwise_xor(x, y), ops.bitwise_left_shift(x, places),
                    ops.bitwise_right_shift(x, places)]
        if dtype != "uint32":  # its inverse is not exact in float32
            outputs.append(ops.bitwise_invert(x))
    return keras.Model([ids, more], [ops.cast(y, "float32") for y in outputs])


@case
def images():
    x, first, one = keras.Input((6, 7, 3), name="x"), keras.Input((3, 6, 7), name="first"), keras.Input(batch_shape=(5, 4, 3), name="one")
    outputs = []
    for pictures, where in ((x, {}), (first, dict(data_format="channels_first")), (one, {})):
        colours = ops.sigmoid(pictures)
        outputs += [image.rgb_to_grayscale(pictures, **where), image.rgb_to_hsv(colours, **where), image.hsv_to_rgb(colours, **where),
                    image.gaussian_blur(pictures, (3, 3), (0.7, 1.5), **where), image.gaussian_blur(pictures, (5, 2), (2.0, 1.0), **where),
                    image.pad_images(pictures, 1, 2, 0, 3, **where), image.pad_images(pictures, top_padding=2, left_padding=1, target_height=11, target_width=9, **where),
                    image.crop_images(pictures, 1, 1, 2, 1, **where), image.crop_images(pictures, bottom_cropping=1, right_cropping=0, target_height=3, target_width=2, **where)]
    outputs += [image.sobel_edges(x), image.sobel_edges(first, data_format="channels_first")]
    for interpolation in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
        outputs += [image.resize(x, size, interpolation=interpolation, antialias=True) for size in ((3, 9), (4, 2))]
    outputs += [image.resize(x, size, **{to: True}) for to in ("crop_to_aspect_ratio", "pad_to_aspect_ratio") for size in ((4, 9), (9, 4), (5, 5))]
    outputs += [image.resize(one, (9, 3), pad_to_aspect_ratio=True, fill_value=2.5), L.Resizing(4, 9, crop_to_aspect_ratio=True)(x),
                L.Resizing(3, 8, pad_to_aspect_ratio=True, fill_value=1.0, antialias=True)(x)]
    return keras.Model([x, first, one], outputs)


@case
def warped_images():
    x, one = keras.Input((6, 7, 2), name="x"), keras.Input(batch_shape=(5, 4, 3), name="one")
    first, how = keras.Input((2, 6, 7), name="first"), keras.Input((8,), name="how")
    # Interpolates between the identity and the drawn matrix, far enough to leave the images.
    each = ops.array([1.0, 0.0, -2.0, 0.0, 1.0, 1.5, 0.0, 0.0]) + ops.array([0.4, 0.4, 3.0, 0.4, 0.4, 3.0, 0.01, 0.01]) * how
    outputs = []
    for mode in ("constant", "nearest", "wrap", "reflect"):
        for interpolation in ("nearest", "bilinear"):
            outputs.append(image.affine_transform(x, each, interpolation, mode, 0.5))
    outputs += [image.affine_transform(one, ops.array([0.9, 0.2, 1.0, -0.3, 1.1, 0.0, 0.0, 0.0])),
                image.affine_transform(first, each, data_format="channels_first")]
    plane, at = keras.Input(batch_shape=(5, 6), name="plane"), keras.Input(batch_shape=(2, 4, 3), name="places")
    middle = ops.array([[[2.0]], [[2.5]]])
    for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
        # TensorFlow's mirror mode reads one cell beyond the end.
        spots = middle + (0.5 if mode == "mirror" else 4.0) * at
        outputs += [image.map_coordinates(plane, spots, order, mode, 1.5) for order in (0, 1)]
    for method in ("linear", "cubic", "lanczos3", "lanczos5"):
        outputs += [image.scale_and_translate(one, (8, 3, 3), ops.array([1.6, 0.7]), ops.array([0.3, -0.2]), (0, 1), method, anti) for anti in (True, False)]
    return keras.Model([x, one, first, how, plane, at], outputs)


@case
def scattered():
    """Places that occur twice, named by one, two and all axes; segments that no row is in, and rows that are in none."""
    table, ids = keras.Input(batch_shape=(4, 5, 3), name="table"), keras.Input(batch_shape=(6,), dtype="int32", name="ids")
    rows, cells = keras.Input(batch_shape=(6, 5, 3), name="rows"), keras.Input(batch_shape=(6, 3), name="cells")
    numbers, more = keras.Input(batch_shape=(6,), name="numbers"), keras.Input(batch_shape=(6,), dtype="int64", name="more")
    at = lambda *axes: ops.stack([x % size for x, size in axes], axis=-1)
    one, two, three = at((ids, 4)), at((ids, 4), (more, 5)), at((more, 4), (ids, 5), (ids, 3))
    outputs = [ops.scatter(one, rows, (4, 5, 3)), ops.scatter(two, cells, (4, 5, 3)), ops.scatter(three, numbers, (4, 5, 3)),
               ops.scatter(ops.reshape(one, (2, 3, 1)), ops.reshape(cells, (2, 3, 3)), (7, 3))]
    for reduction in (None, "add", "max", "min", "mul"):
        outputs += [ops.scatter_update(table, one, rows, reduction), ops.scatter_update(table, two, cells, reduction),
                    ops.scatter_update(table, three, numbers, reduction)]
    whole = ops.cast(10.0 * numbers, "int32")
    outputs += [ops.cast(ops.scatter_update(whole, [[1], [4]], [7, 8]), "float32")]
    for segment in (ops.segment_sum, ops.segment_prod):
        outputs += [segment(x, ids - 2, num_segments=8) for x in (rows, cells, numbers)]
    for segment in (ops.segment_max, ops.segment_min):
        outputs += [segment(x, ids % 2, num_segments=2) for x in (rows, cells, numbers)]
    return keras.Model([table, ids, rows, cells, numbers, more], outputs)


@case
def searched():
    x, row = keras.Input((6,), name="x"), keras.Input(batch_shape=(11,), name="row")
    ids, targets = keras.Input((6,), dtype="int32", name="ids"), keras.Input(batch_shape=(11,), dtype="int32", name="targets")
    scores = keras.Input(batch_shape=(11, 7), name="scores")
    bins = np.array([-1.0, -0.5, 0.0, 0.5, 3.0], "float32")
    outputs = [ops.digitize(x, bins), ops.digitize(ids, bins), ops.searchsorted(bins, row), ops.searchsorted(bins, row, side="right"),
               ops.searchsorted(np.array([0, 1, 1, 5], "int32"), targets), *ops.unravel_index(targets, (2, 3, 4)), *ops.unravel_index(ids, (3, 4))]
    outputs += [ops.in_top_k(targets, scores, k) for k in (1, 3, 7)]
    return keras.Model([x, row, ids, targets, scores], [ops.cast(y, "float32") for y in outputs])


@case
def spaced():
    x, y, row = keras.Input((4,), name="x"), keras.Input((4,), name="y"), keras.Input(batch_shape=(5,), name="row")
    first, last = ops.abs(x) + 0.5, ops.abs(y) + 2.0
    points = [0.0, 0.5, 2.0, 2.25]
    return keras.Model([x, y, row], [
        ops.linspace(x, y, 6), ops.linspace(x, 3.0, 5, endpoint=False, axis=-1), ops.linspace(x, y, 1), ops.logspace(x, y, 4, axis=1),
        ops.logspace(x, 1, 3, base=2.5, endpoint=False), ops.geomspace(first, last, 5), ops.geomspace(-first, -last, 4),
        ops.vander(row), ops.vander(row, 3), ops.vander(row, 4, increasing=True), ops.trapezoid(x), ops.trapezoid(x, dx=0.25),
        ops.trapezoid(x, axis=0), ops.trapezoid(x, x=points)])


@case
def vectors():
    x, y = keras.Input((4, 3), name="x"), keras.Input((4, 3), name="y")
    flat, rows, few = keras.Input((4, 2), name="flat"), keras.Input(batch_shape=(5, 7), name="rows"), keras.Input(batch_shape=(4,), name="few")
    tall, row = keras.Input((3, 4), name="tall"), keras.Input(batch_shape=(9,), name="row")
    outputs = [ops.cross(x, y), ops.cross(x, flat), ops.cross(flat, x), ops.cross(flat, flat + 1.0), ops.cross(x, tall, axisb=1),
               ops.cross(x, tall, axisb=1, axisc=1), ops.cross(tall, tall * 2.0 + 1.0, axis=1), ops.cdist(x, y), ops.cdist(x, y[:, :2]),
               ops.corrcoef(rows)]
    return keras.Model([x, y, flat, rows, few, tall, row],
                       [*outputs, *(ops.correlate(row, few, mode) for mode in ("valid", "same", "full")), ops.correlate(few, row, "full")])


@case
def divisors():
    ids, more, x = (keras.Input((6,), dtype=dtype, name=name) for name, dtype in (("ids", "int32"), ("more", "int64"), ("x", "float32")))
    wide, small = 37 * ids - 100, ops.cast(more, "int8")
    share = ops.tanh(x)
    outputs = [ops.gcd(wide, 6 * ids), ops.gcd(wide, more), ops.gcd(ids, 0), ops.gcd(small, 6 * small), ops.lcm(wide, ids),
               ops.lcm(more, 4), ops.ldexp(x, ids), ops.ldexp(x, 3 - ids), ops.erfinv(share), ops.erfinv(share * 0.999), ops.allclose(x, x + 1e-9), ops.allclose(x, share)]
    return keras.Model([ids, more, x], [ops.cast(y, "float32") for y in outputs])


@case
def blocks():
    first = keras.Input((3, 7, 6), name="first")
    columns, few = keras.Input((12, 20), name="columns"), keras.Input((8, 6), name="few")
    outputs = [ops.unfold(first, 2), ops.unfold(first, (3, 2), dilation=2, padding=1), ops.unfold(first, 3, padding=(1, 0), stride=(2, 3)),
               ops.fold(columns, (5, 6), 2), ops.fold(few, (4, 7), (2, 2), dilation=2, padding=(1, 0), stride=2),
               ops.fold(ops.unfold(first, 2, stride=3), (7, 6), 2, stride=3)]
    return keras.Model([first, columns, few], outputs)


@case
def numbers_only():
    """Rows with numbers and NaN, and rows of NaN."""
    x = keras.Input(batch_shape=(5, 4, 3), name="x")
    empty = np.array([[[True, False, False]] * 4] + [[[False] * 3] * 4] * 4)
    y = ops.where(ops.logical_or(x > 0.8, empty), ops.sqrt(-1.0 - ops.square(x)), x)
    outputs = []
    for options in (dict(), dict(axis=1), dict(axis=-1, keepdims=True)):
        outputs += [ops.cast(ops.nanargmax(y, **options), "float32"), ops.cast(ops.nanargmin(y, **options), "float32")]
    for options in (dict(axis=1), dict(axis=(0, 2), keepdims=True), dict(axis=-1, keepdims=True)):
        outputs += [ops.nanmedian(y, **options), ops.nanquantile(y, 0.3, **options), ops.nanpercentile(y, 85.0, **options)]
    outputs += [ops.nanquantile(y, 0.4, axis=1, method=how) for how in ("lower", "higher", "nearest", "midpoint")]
    return keras.Model(x, [*outputs, ops.nanmedian(y), ops.nanquantile(x, 0.7)])


@case
def integers():
    """Activations of integers and of bool, where TensorFlow has them."""
    ids, more = keras.Input((6,), dtype="int32", name="ids"), keras.Input((6,), dtype="int64", name="more")
    flags = keras.Input((6,), dtype="bool", name="flags")
    outputs = [L.Activation(name)(flags) for name in ("exponential", "tanh")]
    for x in (ids - 4, more - 4):
        outputs += [L.Activation(name)(x) for name in ("relu", "relu6", "leaky_relu", "exponential", "tanh", "linear")]
        outputs += [f(x) for f in (ops.relu, ops.relu6, ops.leaky_relu, L.LeakyReLU(0.5), L.ReLU(negative_slope=0.25),
                                   L.ReLU(max_value=2.0), L.ReLU(threshold=1.0), ops.exp, ops.tanh, ops.square, ops.sign)]
    return keras.Model([ids, more, flags], outputs)


@case
def augmented():
    """Layers that change images in training only, and one that does so in every run."""
    x, bytes_ = keras.Input((6, 7, 3), name="x"), keras.Input((6, 7, 3), dtype="uint8", name="bytes")
    first = keras.Input((3, 6, 7), name="first")
    make = [lambda: L.RandomCrop(4, 5), lambda: L.Solarization(0.2, 0.5, (0, 1)), lambda: L.MaxNumBoundingBoxes(3), lambda: L.AutoContrast(),
            lambda: L.AutoContrast((0, 1)), lambda: L.RandomFlip(), lambda: L.RandomHue(0.2), lambda: L.CutMix(), lambda: L.MixUp()]
    outputs = [layer()(images) for layer in make for images in (x, bytes_)]
    return keras.Model([x, bytes_, first], [*outputs, L.Rescaling(2.0)(L.RandomCrop(9, 4, data_format="channels_first")(first))])


@case
def images_of_integers():
    """Layers and operations of images that are integers, and of other integers and bool."""
    ids = keras.Input((6, 7, 3), dtype="int32", name="ids")
    more, flags = keras.Input((4, 3), dtype="int32", name="more"), keras.Input((4, 3), dtype="bool", name="flags")
    outputs, numbers = [], 32 * ops.minimum(ids, 7)  # no interpolated number is half between two integers
    for images in (ops.cast(numbers, "uint8"), numbers - 100):
        outputs += [image.resize(images, (4, 9), interpolation=how) for how in ("nearest", "bilinear", "bicubic", "lanczos3")]
        outputs += [image.resize(images, (4, 3), antialias=True), L.Resizing(9, 5, "bicubic", crop_to_aspect_ratio=True)(images),
                    L.UpSampling2D((2, 3), interpolation="bilinear")(images), L.CenterCrop(4, 5)(images),
                    L.GlobalAveragePooling2D()(images)]
    small = ops.cast(30 * more, "int8")
    outputs += [L.Average()([more, more + 1]), L.Dot(axes=2)([small, small]), L.Masking()(flags), L.GlobalAveragePooling1D()(flags),
                ops.select([more > 5, flags], [more, -more], 2.5), ops.select([more > 5], [flags], 3),
                ops.select([flags], [ops.cast(more, "float32")], 7)]
    return keras.Model([ids, more, flags], [ops.cast(y, "float32") for y in outputs])
