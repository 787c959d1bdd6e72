"""Writes the random models and the inputs of media_peers.py.

usage: media_models.py ATTN FOLDER
"""
import json
import pathlib
import shutil
import subprocess
import sys
import wave

import ctranslate2.converters
import numpy as np
import tokenizers
import torch
import transformers
from onnxruntime.transformers import optimizer
from PIL import Image
from sentence_transformers import SentenceTransformer, models
from transformers.models.whisper.tokenization_whisper import LANGUAGES

LANGUAGES = list(LANGUAGES)[:99]


class LastState(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state


def bert(folder, r):
    config = transformers.BertConfig()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [f"w{i}" for i in range(config.vocab_size - len(words))]
    model = transformers.BertModel(config).eval()
    model.config._attn_implementation = "eager"
    model.save_pretrained(folder / "start")
    transformers.BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}).save_pretrained(folder / "start")
    chain = [models.Transformer(str(folder / "start"), max_seq_length=128), models.Pooling(768, pooling_mode="mean"), models.Normalize()]
    SentenceTransformer(modules=chain, device="cpu").save(str(folder / "bert"), create_model_card=False)
    shutil.rmtree(folder / "start")
    texts = [" ".join(f"w{i}" for i in r.integers(0, 30000, 126)) for _ in range(128)]
    (folder / "texts.json").write_text(json.dumps(texts))
    (folder / "few.json").write_text(json.dumps(texts[:32]))

    peer = folder / "fastembed"
    peer.mkdir()
    ids = torch.randint(5, 30000, (2, 128))
    names, axes = ["input_ids", "attention_mask", "token_type_ids"], {0: "batch", 1: "length"}
    torch.onnx.export(LastState(model), (ids, torch.ones_like(ids), torch.zeros_like(ids)), str(peer / "exported.onnx"), input_names=names,
                      output_names=["last_hidden_state"], opset_version=17, dynamo=False,
                      dynamic_axes={name: axes for name in [*names, "last_hidden_state"]})
    optimizer.optimize_model(str(peer / "exported.onnx"), model_type="bert", num_heads=12,
                             hidden_size=768).save_model_to_file(str(peer / "model.onnx"))
    (peer / "exported.onnx").unlink()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / "bert" / name, peer)
    specials = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "unk", "mask")}
    (peer / "special_tokens_map.json").write_text(json.dumps(specials))


def vit(attn, folder, r):
    transformers.ViTForImageClassification(transformers.ViTConfig(num_labels=1000)).save_pretrained(folder / "vit")
    subprocess.run([attn, "convert", folder / "vit", folder / "vit_preset", "--to", "preset", "--quiet"], check=True)
    converter = {"module": "keras_hub.src.models.vit.vit_image_converter", "class_name": "ViTImageConverter",
                 "config": {"name": "vit_image_converter", "image_size": [224, 224], "scale": 1 / 127.5, "offset": -1.0,
                            "interpolation": "bilinear", "antialias": False, "crop_to_aspect_ratio": False},
                 "registered_name": "keras_hub>ViTImageConverter"}
    (folder / "vit_preset/image_converter.json").write_text(json.dumps(converter))
    for i in range(9):
        blocks = np.kron(r.integers(0, 255, (48, 64, 3)), np.ones((10, 10, 1)))
        Image.fromarray(blocks.astype("uint8")).save(folder / f"{i}.jpg", quality=90)


def whisper_tokenizer(path):
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate(letters)} | {f"Ġw{i}": i for i in range(len(letters), 50257)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tasks = ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    tokenizer.add_special_tokens([f"<|{name}|>" for name in ["endoftext", "startoftranscript", *LANGUAGES, *tasks]])
    tokenizer.add_tokens([tokenizers.AddedToken(f"<|{i * 0.02:.2f}|>", normalized=False) for i in range(1501)])
    tokenizer.save(str(path))


def whisper(folder, r):
    place = folder / "whisper"
    config = transformers.WhisperConfig(vocab_size=51865, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
                                        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, bos_token_id=50257,
                                        eos_token_id=50257, pad_token_id=50257, decoder_start_token_id=50258)
    model = transformers.WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():  # so that tokens differ
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(3)
    model.save_pretrained(place)
    whisper_tokenizer(place / "tokenizer.json")
    transformers.WhisperFeatureExtractor().save_pretrained(place)
    (place / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "WhisperTokenizer", "eos_token": "<|endoftext|>"}))
    (place / "generation_config.json").write_text(json.dumps({
        "bos_token_id": 50257, "eos_token_id": 50257, "pad_token_id": 50257, "decoder_start_token_id": 50258,
        "no_timestamps_token_id": 50363, "task_to_id": {"translate": 50358, "transcribe": 50359}, "is_multilingual": True,
        "lang_to_id": {f"<|{name}|>": 50259 + i for i, name in enumerate(LANGUAGES)}, "suppress_tokens": [50257, *range(50364, 51865)],
        "begin_suppress_tokens": [], "max_length": 448, "max_initial_timestamp_index": 50}))
    ctranslate2.converters.TransformersConverter(str(place)).convert(str(folder / "ctranslate2"), force=True)
    seconds = np.arange(480000) / 16000
    samples = 0.1 * np.sin(2 * np.pi * 440 * seconds) + 0.02 * r.standard_normal(480000)
    with wave.open(str(folder / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes((samples * 32767).astype("<i2").tobytes())


def main():
    attn, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    r = np.random.default_rng(0)
    bert(folder, r)
    vit(attn, folder, r)
    whisper(folder, r)
    (folder / "ready").touch()


if __name__ == "__main__":
    main()
