"""Writes tests/data/embed: small text embedders of KerasHub with random weights, and the vectors of some texts.

    python tests/oracle/make_embedder_cases.py tests/data (needs keras-hub)

The tokenizers of Qwen 3 and Gemma 3 are those of tests/data/generation.
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras_hub.models as hub  # noqa: E402
import numpy as np  # noqa: E402

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# The last text is longer than every model's length.
TEXTS = ["Mars is the red planet.", "Venus, a twin.", "hello", "[CLS] the model reads [PAD] x", "a b c " * 40]


def bert(_):
    words = SPECIALS + list(LETTERS + ".,") + ["##" + letter for letter in LETTERS] + ["the", "mars", "red", "planet"]
    preprocessor = hub.BertTextEmbedderPreprocessor(hub.BertTokenizer(vocabulary=words), sequence_length=40)
    backbone = hub.BertBackbone(vocabulary_size=len(words), num_layers=2, num_heads=2, hidden_dim=12, intermediate_dim=16,
                                max_sequence_length=64)
    return hub.BertTextEmbedder(backbone, preprocessor)


def qwen3(generation):
    tokenizer = hub.Tokenizer.from_preset(str(generation / "qwen3/preset"))
    backbone = hub.Qwen3Backbone(vocabulary_size=tokenizer.vocabulary_size(), num_layers=2, num_query_heads=4,
                                 num_key_value_heads=2, head_dim=4, hidden_dim=12, intermediate_dim=16)
    return hub.Qwen3TextEmbedder(backbone, hub.Qwen3TextEmbedderPreprocessor(tokenizer, sequence_length=32))


def gemma3(generation):
    """A model like EmbeddingGemma: attention in both directions, and a head that pools."""
    tokenizer = hub.Tokenizer.from_preset(str(generation / "gemma3/preset"))
    backbone = hub.Gemma3Backbone(
        vocabulary_size=tokenizer.vocabulary_size(), image_size=None, num_layers=7, num_query_heads=2,
        num_key_value_heads=1, hidden_dim=8, intermediate_dim=12, head_dim=4, use_sliding_window_attention=True,
        sliding_window_size=6, use_bidirectional_attention=True, is_embedding_model=True, pooling_intermediate_dim=10,
        embedding_dim=6)
    return hub.Gemma3TextEmbedder(backbone, hub.Gemma3TextEmbedderPreprocessor(tokenizer, sequence_length=32))


def main():
    data = pathlib.Path(sys.argv[1])
    out = data / "embed"
    out.mkdir(exist_ok=True)
    (out / "texts.json").write_text(json.dumps(TEXTS))
    for make in (bert, qwen3, gemma3):
        model = make(data / "generation")
        rng = np.random.default_rng(1)
        for weight in model.weights:
            if "float" in weight.dtype:
                weight.assign(0.3 * rng.normal(size=weight.shape))
        if make is gemma3:
            model.save(out / "gemma3.keras")
        else:
            model.save_to_preset(str(out / make.__name__))
        np.savez(out / f"{make.__name__}.npz", embeddings=np.asarray(model(model.preprocessor(TEXTS))))


if __name__ == "__main__":
    main()
