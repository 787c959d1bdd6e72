"""Compares the models that `attn convert --to` writes with KerasHub and transformers.

    python tests/oracle/check_folders.py ATTN [--library keras_hub|transformers] [FOLDER…]

A FOLDER is a preset of KerasHub or a Hugging Face folder; the default is those of tests/data/generation. Each is converted
to every form, and the library loads the forms that it can read. Its logits or classes for random tokens must agree with
attn's within 1e-4 of the largest, and its token ids for a text must be equal. transformers needs PyTorch.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXT = "The model reads tokens, and it's 12 of them."


def attn(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def inputs_for(program, model, draw):
    """Returns tokens without padding for each input of the model."""
    summary = json.loads(attn(program, "summary", model, "--json", "--quiet"))
    names = [layer["name"] for layer in summary["layers"] if layer["class_name"] == "InputLayer"]
    made = {}
    for name in names:
        if name.endswith("token_ids"):
            made[name] = draw.integers(3, 300, (2, 12)).astype("int32")
        elif name == "mask_positions":
            made[name] = draw.integers(0, 12, (2, 3)).astype("int32")
        else:
            made[name] = (np.zeros if name == "segment_ids" else np.ones)((2, 12), "int32")
    return summary["class_name"], made


def attn_outputs(program, model, inputs, folder):
    np.savez(folder / "in.npz", **inputs)
    attn(program, "run", model, "--input", folder / "in.npz", "-o", folder / "out.npz", "--quiet")
    return dict(np.load(folder / "out.npz"))


def by_keras_hub(path, class_name, inputs):
    import keras
    import keras_hub

    if (path / "model.safetensors").exists() and not class_name.endswith("CausalLM"):
        # KerasHub reads no head of an encoder: the model is its backbone, for attn too.
        config = json.loads((path / "config.json").read_text())
        del config["architectures"]
        (path / "config.json").write_text(json.dumps(config))
        backbone = keras_hub.models.Backbone.from_preset(str(path))
        inputs.pop("mask_positions", None)
        return keras.ops.convert_to_numpy(backbone(inputs)["sequence_output"]), None
    task = keras.saving.load_model(path, compile=False) if path.suffix == ".keras" else None
    task = task or getattr(keras_hub.models, class_name).from_preset(str(path))
    output = keras.ops.convert_to_numpy(task({name: keras.ops.convert_to_tensor(array) for name, array in inputs.items()}))
    tokenizer = task.preprocessor.tokenizer if task.preprocessor else None
    ids = None
    if tokenizer is not None:
        ids = [int(i) for i in np.array(tokenizer(TEXT)).reshape(-1)]
    return output, ids


def by_transformers(path, class_name, inputs):
    import torch
    import transformers

    kinds = {"CausalLM": "AutoModelForCausalLM", "TextClassifier": "AutoModelForSequenceClassification",
             "MaskedLM": "AutoModelForMaskedLM", "Seq2SeqLM": "AutoModelForSeq2SeqLM"}
    kind = next(kind for end, kind in kinds.items() if class_name.endswith(end))
    model, report = getattr(transformers, kind).from_pretrained(path, output_loading_info=True, dtype=torch.float32)
    lacking = [key for key in report["missing_keys"] if "position_ids" not in key and "final_logits_bias" not in key]
    further = [key for key in report["unexpected_keys"] if "pooler" not in key]  # not in a masked LM of transformers
    if lacking or further:
        raise RuntimeError(f"missing {lacking}, unexpected {further}")
    model.eval()
    with torch.no_grad():
        names = {"token_ids": "input_ids", "encoder_token_ids": "input_ids", "decoder_token_ids": "decoder_input_ids"}
        given = {names[name]: torch.tensor(array, dtype=torch.long) for name, array in inputs.items() if name in names}
        output = model(**given).logits.numpy()
    if "mask_positions" in inputs:
        output = np.take_along_axis(output, inputs["mask_positions"][..., None], axis=1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    return output, tokenizer(TEXT, add_special_tokens=False)["input_ids"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attn")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--library", choices=["keras_hub", "transformers"], default="keras_hub")
    options = parser.parse_intermixed_args()
    folders = options.folders or sorted(ROOT.glob("tests/data/generation/*/preset")) + sorted(ROOT.glob("tests/data/generation/*/hf"))
    load = by_keras_hub if options.library == "keras_hub" else by_transformers
    forms = ["preset", "keras", "hf"] if options.library == "keras_hub" else ["hf"]
    wrong = 0
    for folder in folders:
        for form in forms:
            with tempfile.TemporaryDirectory() as place:
                place = pathlib.Path(place)
                target = place / ("model.keras" if form == "keras" else "model")
                name = f"{folder.parent.name}/{folder.name} to {form}"
                try:
                    class_name, inputs = inputs_for(options.attn, folder, np.random.default_rng(1))
                    attn(options.attn, "convert", folder, target, "--to", form, "--quiet")
                    expected, ids = load(target, class_name, inputs)
                    outputs = attn_outputs(options.attn, target, inputs, place)
                    found = outputs.get("sequence_output", next(iter(outputs.values())))
                    error = float(np.abs(found - expected).max() / np.abs(expected).max())
                    own = json.loads(attn(options.attn, "tokenize", target, "--text", TEXT, "--json"))["results"][0]["ids"]
                    # The head of KerasHub's masked LM uses the exact gelu, whatever its backbone.
                    most = 1e-3 if options.library == "transformers" and class_name.endswith("MaskedLM") else 1e-4
                    good = error < most and ids in (None, own)
                    print(f"{name:50} {'ok' if good else 'WRONG'} {error:.1e}" + ("" if ids in (None, own) else f" {ids} {own}"))
                except Exception as problem:
                    good = False
                    print(f"{name:50} FAILED {type(problem).__name__}: {str(problem)[:300]}")
                wrong += not good
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
