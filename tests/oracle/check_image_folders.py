"""Compares attn with random small image models of transformers, in both directions.

    python tests/oracle/check_image_folders.py ATTN [--models 3] [--seed 1] [--only FAMILY] [--keep FOLDER]
    (needs: pip install torch transformers pillow)

save_pretrained writes each model with random weights, sizes and options. attn's results for random images, and texts for
CLIP and SigLIP, must agree with those of transformers within 1e-4 of the largest. Then `attn convert --to hf` writes the
folder again, from the folder and from a preset of it. transformers must load both without a missing or superfluous array,
with the same results. With an image processor of the folder's family, the results for a PNG must agree within 5 % of the
largest, because transformers rounds resized pixels to integers.

--keep writes each model and its arrays as tests/data/hugging_face_images has them.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import numpy as np
import torch
import transformers

transformers.utils.logging.disable_progress_bar()

FAMILIES = {}


def family(make):
    FAMILIES[make.__name__] = make
    return make


def yes(r):
    return bool(r.random() < 0.5)


def tower(r, **more):
    heads = int(r.choice([2, 3, 5]))
    return {"hidden_size": heads * 4 * int(r.choice([1, 2])), "num_hidden_layers": int(r.integers(1, 4)), "num_attention_heads": heads,
            "intermediate_size": int(r.integers(9, 40)), **more}


def patches(r):
    patch = int(r.choice([3, 4]))
    return {"patch_size": patch, "image_size": patch * int(r.integers(2, 5))}


@family
def vit(r):
    return transformers.ViTForImageClassification(transformers.ViTConfig(**tower(r, **patches(r)), num_labels=5))


@family
def deit(r):
    config = transformers.DeiTConfig(**tower(r, **patches(r)), num_labels=5, layer_norm_eps=1e-5)
    return transformers.DeiTForImageClassification(config) if yes(r) else transformers.DeiTModel(config, add_pooling_layer=False)


@family
def dinov2(r):
    sizes = tower(r, **patches(r))
    del sizes["intermediate_size"]
    kind = "Dinov2WithRegisters" if yes(r) else "Dinov2"
    more = {"num_register_tokens": 3} if kind != "Dinov2" else {}
    return getattr(transformers, kind + "Model")(getattr(transformers, kind + "Config")(
        **sizes, **more, mlp_ratio=int(r.choice([2, 3, 4])), use_swiglu_ffn=yes(r), layerscale_value=0.5))


@family
def dinov3(r):
    return transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(
        **tower(r, **patches(r)), num_register_tokens=int(r.integers(1, 4)), use_gated_mlp=yes(r), query_bias=yes(r), key_bias=yes(r),
        value_bias=yes(r), proj_bias=yes(r), mlp_bias=yes(r), hidden_act=str(r.choice(["gelu", "silu"])), layerscale_value=0.5))


@family
def swin(r):
    window = int(r.choice([2, 3]))
    config = transformers.SwinConfig(image_size=8 * window, patch_size=2, embed_dim=12, depths=[2, int(r.integers(1, 4))], num_heads=[3, 2],
                                     window_size=window, mlp_ratio=2.0, qkv_bias=yes(r), num_labels=5)
    return transformers.SwinForImageClassification(config) if yes(r) else transformers.SwinModel(config, add_pooling_layer=False)


def both(r, text, vision):
    return {"text_config": {**tower(r), **text}, "vision_config": {**tower(r, **patches(r)), **vision}}


@family
def clip(r):
    act = {"hidden_act": str(r.choice(["quick_gelu", "gelu"]))}
    text = {"vocab_size": 40, "max_position_embeddings": 9, "eos_token_id": 39, "bos_token_id": 0, **act}
    return transformers.CLIPModel(transformers.CLIPConfig(**both(r, text, act), projection_dim=7))


@family
def metaclip_2(r):
    text = {"vocab_size": 40, "max_position_embeddings": 9, "eos_token_id": 2, "bos_token_id": 0, "hidden_act": "gelu"}
    return transformers.MetaClip2Model(transformers.MetaClip2Config(**both(r, text, {"hidden_act": "gelu"}), projection_dim=7))


@family
def siglip(r):
    made = both(r, {"vocab_size": 40, "max_position_embeddings": 9, "eos_token_id": 39, "bos_token_id": 0}, {})
    for part in made.values():  # their results are compared
        part["hidden_size"], part["num_attention_heads"] = 24, 3
    return transformers.SiglipModel(transformers.SiglipConfig(**made))


def fill(model, r):
    with torch.no_grad():
        for name, weight in model.named_parameters():
            scale = 0.2 if weight.ndim < 2 else 1.0 / np.sqrt(max(int(np.prod(weight.shape[1:])), 1))
            weight.add_(torch.tensor(r.normal(0, scale, tuple(weight.shape)).astype("float32")))
    return model.eval()


def inputs_of(model, r):
    side = getattr(model.config, "vision_config", model.config).image_size
    out = {"pixel_values": torch.tensor(r.standard_normal((2, 3, side, side)).astype("float32"))}
    if hasattr(model.config, "text_config"):
        ids = r.integers(4, 39, (2, 9))
        ids[:, 0], ids[0, -1], ids[1, -1] = 0, model.config.text_config.eos_token_id or 1, model.config.text_config.eos_token_id or 1
        out["input_ids"] = torch.tensor(ids)
    return out


def results(model, inputs):
    with torch.no_grad():
        out = model(**inputs)
    if "logits_per_image" in out:
        return out.logits_per_image.numpy()
    return (out.logits if "logits" in out else out.last_hidden_state).numpy()


def attn(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"attn {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def by_attn(program, folder, inputs, wanted, place):
    arrays = {"pixel_values": inputs["pixel_values"].numpy().transpose(0, 2, 3, 1)}
    if "input_ids" in inputs:
        arrays["token_ids"] = inputs["input_ids"].numpy().astype("int32")
    names = json.loads(attn(program, "run", folder, "--json"))["inputs"]
    image = next(x["name"] for x in names if x["name"] != "token_ids")
    arrays[image] = arrays.pop("pixel_values")
    np.savez_compressed(place / "x.npz", **arrays)
    np.savez_compressed(place / "y.npz", **wanted_arrays(wanted, "token_ids" in arrays))
    attn(program, "run", folder, "--input", place / "x.npz", "-o", place / "y.npz")
    return like(np.load(place / "y.npz"), wanted)


def wanted_arrays(wanted, compares):
    return {"vision_logits": wanted, "text_logits": wanted.T} if compares else {"y": wanted}


def like(found, wanted):
    """The result with the shape of transformers'."""
    if "vision_logits" in found:
        return found["vision_logits"]
    return next(found[name].reshape(wanted.shape) for name in found.files if found[name].size == wanted.size)


def processor(model, side, r):
    kinds = {"clip": transformers.CLIPImageProcessor, "metaclip_2": transformers.CLIPImageProcessor, "siglip": transformers.SiglipImageProcessor,
             "dinov2": transformers.BitImageProcessor, "dinov2_with_registers": transformers.BitImageProcessor,
             "deit": transformers.DeiTImageProcessor}
    kind = kinds.get(model.config.model_type, transformers.ViTImageProcessor)
    larger = side + int(r.integers(0, 4)) if kind in (transformers.BitImageProcessor, transformers.DeiTImageProcessor) else side
    if kind in (transformers.CLIPImageProcessor, transformers.BitImageProcessor):
        return kind(size={"shortest_edge": larger}, crop_size=side)
    return kind(size={"height": larger, "width": larger}, crop_size={"height": side, "width": side})


def check_picture(program, model, r, place, inputs):
    """The error for a smooth picture that is larger than the model's."""
    from PIL import Image
    side = inputs["pixel_values"].shape[-1]
    y, x = np.mgrid[0:5 * side, 0:15 * side]  # transformers rounds the longer side, which these proportions leave as it is
    picture = np.stack([127 + 60 * np.sin(x / side + c) + 50 * np.cos((y + c * x) / (2 * side)) for c in range(3)], -1).astype("uint8")
    Image.fromarray(picture).save(place / "x.png")
    made = processor(model, side, r)
    made.save_pretrained(place / "hf")
    pixels = made(Image.fromarray(picture), return_tensors="pt").pixel_values
    wanted = results(model, {"pixel_values": pixels, **({"input_ids": inputs["input_ids"][:1]} if "input_ids" in inputs else {})})
    more = []
    if "input_ids" in inputs:
        np.savez(place / "ids.npz", token_ids=inputs["input_ids"][:1].numpy().astype("int32"))
        more = ["--input", place / "ids.npz"]
    attn(program, "run", place / "hf", "--image", place / "x.png", *more, "-o", place / "picture.npz")
    got = like(np.load(place / "picture.npz"), wanted)
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def check(program, model, r, place):
    inputs = inputs_of(fill(model, r), r)
    wanted = results(model, inputs)
    model.save_pretrained(place / "hf")
    largest = np.abs(wanted).max()
    error = lambda got: float(np.abs(got.reshape(wanted.shape) - wanted).max() / largest)
    errors = {"read": error(by_attn(program, place / "hf", inputs, wanted, place))}
    attn(program, "convert", place / "hf", "-o", place / "preset", "--to", "preset")
    for name, source in (("written", place / "hf"), ("from a preset", place / "preset")):
        attn(program, "convert", source, "-o", place / name, "--to", "hf")
        again, report = type(model).from_pretrained(place / name, output_loading_info=True)
        report["missing_keys"] = [key for key in report["missing_keys"] if "pooler." not in key]  # KerasHub's DeiT has none
        unknown = {kind: report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") if report[kind]}
        if unknown:
            raise RuntimeError(f"{name}: {unknown}")
        errors[name] = error(results(again.eval(), inputs))
    # The common limit of 1e-4 stands for 5 %.
    errors["picture / 500"] = check_picture(program, model, r, place, inputs) / 500
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attn")
    parser.add_argument("--models", type=int, default=3, help="of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    wrong = total = 0
    for name, make in FAMILIES.items():
        for i in range(options.models if options.only in name else 0):
            r = np.random.default_rng([options.seed, i, *name.encode()])
            torch.manual_seed(i)
            total += 1
            with tempfile.TemporaryDirectory() as place:
                try:
                    errors = check(options.attn, make(r), r, pathlib.Path(place))
                    if options.keep:
                        kept = options.keep / (name if options.models == 1 else f"{name}_{i}")
                        shutil.copytree(pathlib.Path(place) / "hf", kept, dirs_exist_ok=True)
                        for file in ("x.npz", "y.npz"):
                            shutil.copy(pathlib.Path(place) / file, kept)
                    good = max(errors.values()) < 1e-4
                    print(f"{name:12} {'ok' if good else 'WRONG'} " + ", ".join(f"{way} {error:.1e}" for way, error in errors.items()))
                except Exception as problem:
                    good = False
                    print(f"{name:12} FAILED {type(problem).__name__}: {str(problem)[:600]}")
            wrong += not good
    print(f"{total - wrong} of {total} models are equal")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
