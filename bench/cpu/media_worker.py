"""Runs the work of media_peers.py with another runtime.

usage: media_worker.py WORK RUNTIME FOLDER RESULT.npy THREADS

Prints a line of JSON with the seconds after the model was loaded and has run once.
"""
import json
import os
import pathlib
import sys
import time

WORK, RUNTIME, FOLDER, RESULT, THREADS = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(THREADS)

import numpy as np  # noqa: E402

CPU = ["CPUExecutionProvider"]


def measured(run, first, rest):
    run(first)
    start = time.perf_counter()
    result = run(rest)
    print(json.dumps({"seconds": time.perf_counter() - start}))
    return result


def onnx_runtime(texts):
    """The graph that ONNX Runtime's own optimizer made of PyTorch's export."""
    import onnxruntime
    import tokenizers
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(str(FOLDER / "fastembed/model.onnx"), options, providers=CPU)
    tokenizer = tokenizers.Tokenizer.from_file(str(FOLDER / "bert/tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()

    def run(some):
        vectors = []
        for begin in range(0, len(some), 32):
            encoded = tokenizer.encode_batch(some[begin:begin + 32])
            ids = np.array([text.ids for text in encoded], "int64")
            mask = np.array([text.attention_mask for text in encoded], "int64")
            hidden = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
            weight = mask[:, :, None].astype("float32")
            pooled = (hidden * weight).sum(1) / weight.sum(1)
            vectors.append(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
        return np.concatenate(vectors)

    return measured(run, texts[:32], texts[32:])


def fastembed(texts):
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType
    TextEmbedding.add_custom_model(model="bench/bert", pooling=PoolingType.MEAN, normalization=True, dim=768, model_file="model.onnx",
                                   sources=ModelSource(hf="bench/bert"))
    model = TextEmbedding("bench/bert", specific_model_path=str(FOLDER / "fastembed"), threads=THREADS, providers=CPU)
    return measured(lambda some: np.array(list(model.embed(some, batch_size=32))), texts[:32], texts[32:])


def torch_compile():
    import torch
    import transformers
    from PIL import Image
    torch.set_num_threads(THREADS)
    model = torch.compile(transformers.ViTForImageClassification.from_pretrained(FOLDER / "vit").eval())

    def pixels(path):
        """The converter of KerasHub: bilinear without antialiasing, from -1 to 1."""
        image = torch.from_numpy(np.asarray(Image.open(path).convert("RGB"))).permute(2, 0, 1)[None].float()
        return torch.nn.functional.interpolate(image, (224, 224), mode="bilinear", align_corners=False) / 127.5 - 1

    def run(paths):
        with torch.inference_mode():
            return model(pixel_values=torch.cat([pixels(path) for path in paths])).logits.numpy()

    paths = [FOLDER / f"{i}.jpg" for i in range(1, 9)]
    run(paths)
    return measured(run, paths, paths)


def ctranslate2():
    import wave

    import ctranslate2 as runtime
    import tokenizers
    from faster_whisper.feature_extractor import FeatureExtractor
    model = runtime.models.Whisper(str(FOLDER / "ctranslate2"), device="cpu", compute_type="float32", intra_threads=THREADS)
    extractor = FeatureExtractor()
    tokenizer = tokenizers.Tokenizer.from_file(str(FOLDER / "whisper/tokenizer.json"))

    def run(paths):
        for path in paths:
            with wave.open(str(path)) as file:
                samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype("float32") / 32768
            features = np.ascontiguousarray(extractor(samples)[None, :, :3000], "float32")
            encoded = model.encode(runtime.StorageView.from_array(features))
            prompt = [[50258, 50259, 50359, 50363]]  # English, transcribe, without times
            ids = model.generate(encoded, prompt, beam_size=1, max_length=200, suppress_tokens=[50257, *range(50364, 51865)],
                                 suppress_blank=False)[0].sequences_ids[0]
        return np.frombuffer(tokenizer.decode(ids).encode(), "uint8")

    path = FOLDER / "sound.wav"
    return measured(run, [path], [path, path])


def main():
    if WORK == "embed":
        texts = json.loads((FOLDER / "texts.json").read_text())
        result = onnx_runtime(texts) if RUNTIME == "ONNX Runtime" else fastembed(texts)
    else:
        result = torch_compile() if WORK == "image" else ctranslate2()
    np.save(RESULT, result)


if __name__ == "__main__":
    main()
