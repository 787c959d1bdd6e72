#!/usr/bin/env python3
"""Writes tests/data/images: image files, their pixels by Pillow, and results of KerasHub's ImageConverters.

    python tests/oracle/make_image_cases.py [FOLDER [CLASSIFIER…]]

It writes these files; with names of classifiers only their files. Except for large/*, images have at most 40 pixels on
a side:

    *.png, *.jpg         readable images of every kind
    pixels.npz           by the file's name: keras.utils.load_img(FILE), (height, width, 3) uint8
    refused/*            files that are not readable images
    large/*              readable images of many pixels
    converters.json      configs of converters, and the images of each
    converted.npz        by "N/FILE": the result of converter N for keras.utils.img_to_array(keras.utils.load_img(FILE))
    patchers.json        configs of converters of images of any size, and the images of each
    patched.npz          by "N/FILE/patches" and "N/FILE/grid_thw": the results of converter N
    patches.json         configs of Gemma 4's converter, with all arguments, and the images of each
    patches.npz          by "N/FILE/pixel_values" and "N/FILE/pixel_position_ids": their results
    preset, classifier.keras   a ViTImageClassifier
    classified*.npz      its inputs and its predictions for three images
    mobilenetv5/*        the same for a MobileNetV5ImageClassifier
"""

import io
import itertools
import json
import pathlib
import struct
import sys
import zlib

import keras
import keras_hub
import numpy as np
from PIL import Image

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/data/images")
RNG = np.random.default_rng(0)


def picture(height, width, channels=3):
    """Slopes with some noise, which show both a wrong position and a wrong rounding."""
    y, x = np.mgrid[0:height, 0:width]
    slopes = [255 * x / width, 255 * y / height, 255 * (x + y) / (height + width), 128 + 127 * np.sin(x * y / 40)]
    noise = RNG.integers(-20, 21, (height, width, channels))
    return np.clip(np.stack(slopes[:channels], -1) + noise, 0, 255).astype("uint8")


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, depth, color, rows, extra=b"", interlaced=0):
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    packed = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def interlaced_png(pixels, depth, color, extra=b""):
    """A PNG in the seven passes of Adam7; `pixels` are samples (height, width, channels)."""
    rows = []
    for top, left, down, right in [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]:
        part = pixels[top::down, left::right]
        if part.shape[1]:
            rows += [packed(row, depth) for row in part]
    return png(pixels.shape[1], pixels.shape[0], depth, color, rows, extra, 1)


def packed(row, depth):
    """The bytes of a row of samples."""
    samples = row.reshape(-1).astype("int64")
    bits = (samples[:, None] >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.astype("uint8").reshape(-1)).tobytes()


def plain_png(pixels, depth, color, extra=b""):
    return png(pixels.shape[1], pixels.shape[0], depth, color, [packed(row, depth) for row in pixels], extra)


def jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "jpeg", **options)
    return out.getvalue()


def readable():
    """Yields the name and the bytes of each image."""
    rgb = picture(23, 31)
    palette = chunk(b"PLTE", RNG.integers(0, 256, 9 * 3, "uint8").tobytes())
    for depth in (1, 2, 4, 8, 16):
        yield f"gray_{depth}.png", plain_png(RNG.integers(0, 2 ** min(depth, 10), (5, 13, 1)), depth, 0)
        yield f"gray_{depth}_interlaced.png", interlaced_png(RNG.integers(0, 2**depth, (9, 13, 1)), depth, 0)
        if depth < 16:
            # some of the indices are beyond the palette
            indices = RNG.integers(0, min(2**depth, 12), (6, 11, 1))
            small = palette if depth > 3 else palette[:0] + chunk(b"PLTE", bytes(range(40, 40 + 3 * 2**depth)))
            yield f"palette_{depth}.png", plain_png(indices, depth, 3, small)
            yield f"palette_{depth}_interlaced.png", interlaced_png(indices, depth, 3, small)
    for depth in (8, 16):
        for name, color, channels in (("gray_alpha", 4, 2), ("rgb", 2, 3), ("rgba", 6, 4)):
            samples = RNG.integers(0, 2**depth, (7, 10, channels))
            yield f"{name}_{depth}.png", plain_png(samples, depth, color)
            yield f"{name}_{depth}_interlaced.png", interlaced_png(samples, depth, color)
    yield "palette_transparent.png", plain_png(RNG.integers(0, 9, (6, 11, 1)), 8, 3, palette + chunk(b"tRNS", b"\0\x80"))
    yield "gray_transparent.png", plain_png(RNG.integers(0, 9, (6, 11, 1)), 8, 0, chunk(b"tRNS", b"\0\x07"))
    yield "gamma.png", plain_png(rgb, 8, 2, chunk(b"gAMA", struct.pack(">I", 30000)))
    yield "one_pixel.png", plain_png(picture(1, 1), 8, 2)
    yield "wide.png", plain_png(picture(9, 40), 8, 2)
    yield "tall.png", plain_png(picture(40, 14), 8, 2)

    image = Image.fromarray(rgb)
    for sampling in ("4:4:4", "4:2:2", "4:2:0"):
        yield f"rgb_{sampling.replace(':', '')}.jpg", jpeg(image, quality=85, subsampling=sampling)
    yield "rgb_411.jpg", jpeg(image, quality=70, subsampling="4:1:1")
    yield "progressive.jpg", jpeg(image, quality=80, progressive=True)
    yield "restarts.jpg", jpeg(image, quality=80, restart_marker_blocks=1)
    yield "worst.jpg", jpeg(image, quality=1)
    yield "gray.jpg", jpeg(Image.fromarray(picture(17, 12, 1)[..., 0]), quality=90)
    yield "cmyk.jpg", jpeg(Image.fromarray(picture(15, 18, 4), "CMYK"), quality=90)
    yield "keep_rgb.jpg", jpeg(image, quality=80, keep_rgb=True)
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees
    yield "rotated_exif.jpg", jpeg(image, quality=80, exif=exif)
    yield "trailing.jpg", jpeg(image, quality=80) + b"bytes after the image"


def refused(images):
    """Yields the name and the bytes of each file that is no readable image."""
    rgb, whole = images["rgb_8.png"], images["rgb_420.jpg"]
    yield "empty.png", b""
    yield "text.jpg", b"not an image"
    yield "cut.png", rgb[: len(rgb) * 2 // 3]
    yield "cut.jpg", whole[: len(whole) * 2 // 3]
    yield "cut_header.jpg", whole[:30]
    yield "cut_progressive.jpg", images["progressive.jpg"][:-60]
    yield "signature.png", rgb[:8]
    yield "checksum.png", rgb[:-20] + bytes([rgb[-20] ^ 1]) + rgb[-19:]
    yield "wide.png", png(30_000, 30_000, 8, 2, [])
    yield "wide_and_empty.png", png(30_000, 10, 8, 2, [])
    yield "bomb.png", png(60_000, 60_000, 1, 0, [bytes(7500)] * 2000)
    # the frame header, with a height and a width of 65,000
    frame = whole.index(b"\xff\xc0")
    yield "wide.jpg", whole[: frame + 5] + struct.pack(">HH", 65_000, 65_000) + whole[frame + 9 :]
    yield "precision.jpg", whole[: frame + 4] + b"\x0c" + whole[frame + 5 :]
    yield "no_palette.png", png(4, 1, 8, 3, [bytes(4)])
    yield "x.gif", b"GIF89a\1\0\1\0\0\0\0;"
    yield "x.webp", b"RIFF\x1a\0\0\0WEBPVP8L"
    yield "x.bmp", b"BM" + bytes(60)


def converters():
    """Yields the serialized converter and the names of its images."""
    images = ["wide.png", "tall.png", "rgb_8.png"]
    how = [{"crop_to_aspect_ratio": False}, {}, {"crop_to_aspect_ratio": False, "pad_to_aspect_ratio": True}]
    values = [
        {},
        {"scale": 1 / 255},
        {"scale": [1 / 58.4, 1 / 57.1, 1 / 57.4], "offset": [-2.118, -2.036, -1.804]},
        {"offset": -1.0},
    ]
    layers = keras_hub.layers
    number = 0
    methods = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")
    for interpolation, antialias, aspect in itertools.product(methods, (False, True), how):
        more = {**aspect, **values[number % len(values)]}
        yield written(layers.ViTImageConverter((16, 12), interpolation=interpolation, antialias=antialias, **more)), images
        number += 1
    for value in values:
        yield written(layers.ImageConverter(**value)), images  # sizes stay
    yield written(layers.ViTImageConverter((48, 50), interpolation="bicubic", scale=1 / 127.5, offset=-1)), images
    yield written(layers.BLIP2ImageConverter((20, 18))), images
    first = written(layers.ViTImageConverter((16, 12), **values[2]))
    first["config"]["data_format"] = "channels_first"
    yield first, images
    older = {"height": 16, "width": 12, "scale": 1 / 255, "mean": [0.4, 0.5, 0.6], "variance": [0.04, 0.05, 0.06]}
    yield {"module": None, "class_name": "keras_hub>ImageConverter", "config": older}, images
    # Its results have 8 bits.
    yield written(layers.ViTImageConverter((16, 12), scale=1 / 255, dtype="bfloat16")), images
    yield written(layers.Gemma3ImageConverter(image_size=(16, 12), scale=1 / 255, dtype="bfloat16")), images


def write_patches():
    """Converters that cut images of any size into patches. They make small images larger, and large ones smaller."""
    make, images = keras_hub.layers.Qwen3_5ImageConverter, ["wide.png", "tall.png", "rgb_8.png", "one_pixel.png"]
    channels = {"scale": [1 / 58.4, 1 / 57.1, 1 / 57.4], "offset": [-2.118, -2.036, -1.804]}
    made = [
        make(patch_size=4, min_pixels=100, max_pixels=2000, interpolation="bicubic", antialias=True, **channels),
        make(patch_size=3, spatial_merge_size=1, temporal_patch_size=1, min_pixels=1, max_pixels=150, scale=1 / 127.5, offset=-1),
        make(patch_size=2, spatial_merge_size=4, min_pixels=900, max_pixels=2000),
    ]
    configs, arrays = [], {}
    for converter in made:
        for name in images:
            results = converter(keras.utils.img_to_array(keras.utils.load_img(FOLDER / name)))
            for key, result in results.items():
                arrays[f"{len(configs)}/{name}/{key}"] = keras.ops.convert_to_numpy(result)
        configs.append({"converter": written(converter), "images": images})
    (FOLDER / "patchers.json").write_text(json.dumps(configs, indent=1) + "\n")
    np.savez_compressed(FOLDER / "patched.npz", **arrays)


def write_positions():
    """Images that are long, wide, smaller than a square of patches, and one with more patches than the maximum."""
    images = ["wide.png", "tall.png", "rgb_8.png", "one_pixel.png"]
    values = [dict(patch_size=4, max_soft_tokens=6, pooling_kernel_size=2, scale=1 / 255),
              dict(patch_size=3, max_soft_tokens=4, pooling_kernel_size=3, scale=[0.5, 1.0, 2.0], offset=[0.0, -1.0, 1.0]),
              dict(patch_size=4, max_soft_tokens=1, pooling_kernel_size=2)]
    configs, arrays = [], {}
    for number, value in enumerate(values):
        converter = keras_hub.layers.Gemma4ImageConverter(**value)
        config = written(converter)
        config["config"].update(value)  # its get_config leaves out two arguments
        for name in images:
            result = converter(keras.utils.img_to_array(keras.utils.load_img(FOLDER / name))[None])
            for part, array in result.items():
                arrays[f"{number}/{name}/{part}"] = keras.ops.convert_to_numpy(array)[0]
        configs.append({"converter": config, "images": images})
    (FOLDER / "patches.json").write_text(json.dumps(configs, indent=1) + "\n")
    np.savez_compressed(FOLDER / "patches.npz", **arrays)


def written(layer):
    return keras.saving.serialize_keras_object(layer)


def vit():
    backbone = keras_hub.models.ViTBackbone(
        image_shape=(16, 16, 3), patch_size=4, num_layers=2, num_heads=2, hidden_dim=8, mlp_dim=16
    )
    converter = keras_hub.layers.ViTImageConverter((16, 16), scale=1 / 127.5, offset=-1, antialias=True)
    preprocessor = keras_hub.models.ViTImageClassifierPreprocessor(image_converter=converter)
    return keras_hub.models.ViTImageClassifier(backbone, num_classes=5, preprocessor=preprocessor)


def mobilenetv5():
    sizes = dict(num_filters=16, strides=2, act_layers="gelu", exp_ratios=2.0, se_ratios=0.0, dw_kernel_sizes=3, dw_start_kernel_sizes=3,
                 dw_end_kernel_sizes=0, exp_kernel_sizes=3, pw_kernel_sizes=1, num_heads=2, key_dims=8, value_dims=8, kv_strides=2,
                 use_cpe=True)
    backbone = keras_hub.models.MobileNetV5Backbone(
        stackwise_block_types=[["er"], ["uir", "mqa"]], stackwise_num_blocks=[1, 2], num_features=8, msfa_output_resolution=4,
        layer_scale_init_value=0.1, image_shape=(32, 32, 3), **{f"stackwise_{key}": [[value], [value] * 2] for key, value in sizes.items()}
    )
    converter = keras_hub.layers.MobileNetV5ImageConverter(image_size=(32, 32), scale=1 / 255)
    preprocessor = keras_hub.models.MobileNetV5ImageClassifierPreprocessor(image_converter=converter)
    return keras_hub.models.MobileNetV5ImageClassifier(backbone, num_classes=5, preprocessor=preprocessor)


CLASSIFIERS = {"vit": (vit, FOLDER), "mobilenetv5": (mobilenetv5, FOLDER / "mobilenetv5")}


def write_classifier(name):
    """A small classifier with its preprocessor, as a preset and as an archive, and what it gives for three images."""
    make, folder = CLASSIFIERS[name]
    folder.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(0)
    classifier = make()
    preprocessor = classifier.preprocessor
    # Weights that are large enough for different predictions.
    classifier.set_weights([RNG.normal(0, 0.3, w.shape) + (w.path.endswith("gamma")) for w in classifier.weights])
    classifier.save_to_preset(folder / "preset")
    (folder / "preset" / "metadata.json").unlink()  # it has the date
    classifier.save(folder / "classifier.keras")
    names = ["wide.png", "rgb_420.jpg", "gray.jpg"]
    images = [keras.utils.img_to_array(keras.utils.load_img(FOLDER / name)) for name in names]
    batch = np.concatenate([keras.ops.convert_to_numpy(preprocessor(image[None])) for image in images])
    np.savez(folder / "classified_inputs.npz", **{classifier.layers[0].name: batch})
    np.savez(folder / "classified.npz", **{classifier.layers[-1].name: classifier(batch)})


def large():
    """Yields the name and the bytes of each black image of many pixels."""
    yield "square.png", png(4000, 4000, 1, 0, [bytes(500)] * 4000)
    yield "long.png", png(2000, 1, 1, 0, [bytes(250)])
    yield "narrow.png", png(1, 2000, 1, 0, [bytes(1)] * 2000)


def main():
    for folder in ("refused", "large"):
        (FOLDER / folder).mkdir(parents=True, exist_ok=True)
    images = dict(readable())
    pixels = {}
    for name, data in images.items():
        (FOLDER / name).write_bytes(data)
        pixels[name] = np.array(keras.utils.load_img(FOLDER / name))
    np.savez_compressed(FOLDER / "pixels.npz", **pixels)
    for name, data in refused(images):
        (FOLDER / "refused" / name).write_bytes(data)
    for name, data in large():
        (FOLDER / "large" / name).write_bytes(data)

    configs, arrays = [], {}
    for config, names in converters():
        converter = keras.saving.deserialize_keras_object(config)
        for name in names:
            image = keras.utils.img_to_array(keras.utils.load_img(FOLDER / name))
            if converter.data_format == "channels_first":
                image = image.transpose(2, 0, 1)
            result = converter(keras.ops.convert_to_tensor(image[None]))
            arrays[f"{len(configs)}/{name}"] = keras.ops.convert_to_numpy(keras.ops.cast(result, "float32"))[0]
        configs.append({"converter": config, "images": names})
    (FOLDER / "converters.json").write_text(json.dumps(configs, indent=1) + "\n")
    np.savez_compressed(FOLDER / "converted.npz", **arrays)
    write_patches()
    write_positions()
    for name in CLASSIFIERS:
        write_classifier(name)
    print(len(images), "images,", len(configs), "converters,", len(arrays), "results")


for classifier_name in sys.argv[2:]:
    write_classifier(classifier_name)
if len(sys.argv) < 3:
    main()
