"""Writes tests/data/embed/sentence: small models of sentence-transformers with random weights, and the vectors of texts, computed in float64.

    python tests/oracle/make_sentence_cases.py tests/data/embed (needs: sentence-transformers, tokenizers)

Each folder is one that the library saved. `texts.json` has the texts, and `vectors.npz` their vectors, by folder, and by
folder and prompt.
"""
import json
import os
import pathlib
import shutil
import sys

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np
import tokenizers
import torch
import transformers
from sentence_transformers import SentenceTransformer, models

LETTERS = "abcdefghijklmnopqrstuvwxyz"
# The last text is longer than every model's length. The second one is empty.
TEXTS = ["Mars is the red planet.", "", "hello", "Äpfel, a twin", "a b c " * 20]


def bert_tokenizer():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, ".", ",", ":"] + ["##" + letter for letter in LETTERS]
    vocabulary = {word: i for i, word in enumerate(words + ["the", "mars", "red", "planet"])}
    return transformers.BertTokenizerFast(vocab=vocabulary)


def unigram_tokenizer():
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), ("▁the", -3.0), ("▁planet", -3.5)]
    pieces += [(letter, -4.0 - i / 10) for i, letter in enumerate(LETTERS + LETTERS.upper() + ".,:")]
    return transformers.XLMRobertaTokenizerFast(vocab=pieces + [("<mask>", 0.0)])


def byte_pair_tokenizer():
    letters = {letter: i for i, letter in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(letters, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", tokenizer.token_to_id("<|endoftext|>"))])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|endoftext|>",
                                                padding_side="left")


SIZES = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16)
CASES = {
    "bert": (transformers.BertConfig(max_position_embeddings=40, **SIZES), bert_tokenizer,
             dict(pooling_mode="mean"), True, dict(prompts={"query": "the red: ", "document": ""})),
    "xlm_roberta": (transformers.XLMRobertaConfig(max_position_embeddings=42, pad_token_id=1, type_vocab_size=1,
                                                  layer_norm_eps=1e-5, **SIZES), unigram_tokenizer, dict(pooling_mode="cls"), False, {}),
    "qwen3": (transformers.Qwen3Config(num_key_value_heads=1, head_dim=6, max_position_embeddings=40, **SIZES),
              byte_pair_tokenizer, dict(pooling_mode="lasttoken"), True,
              dict(prompts={"query": "Q: "}, default_prompt_name="query")),
    # Like EmbeddingGemma: attention in both directions, windows in five of six layers, and two dense layers.
    "gemma3": (transformers.Gemma3TextConfig(**{**SIZES, "num_hidden_layers": 7}, num_key_value_heads=1, head_dim=6,
                                             query_pre_attn_scalar=6, max_position_embeddings=40, sliding_window=6,
                                             use_bidirectional_attention=True),
               lambda: with_specials(byte_pair_tokenizer(), "<bos>", "<eos>"), dict(pooling_mode="mean"), True, {}),
}
DENSE = {"gemma3": (20, 10)}


def with_specials(tokenizer, start, end):
    """Adds the template <bos> text <eos> to a byte-pair tokenizer."""
    inner = tokenizer.backend_tokenizer
    inner.add_special_tokens([start, end])
    inner.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(token, inner.token_to_id(token)) for token in (start, end)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token=start, eos_token=end, pad_token="<|endoftext|>")


def fill(model, r):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.from_numpy(r.standard_normal(tuple(parameter.shape)).astype("float32"))
            is_norm = "norm" in name.lower() and name.endswith("weight")
            parameter.copy_(1 + 0.2 * drawn if is_norm else 0.4 * drawn)


def main():
    out = pathlib.Path(sys.argv[1]) / "sentence"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "texts.json").write_text(json.dumps(TEXTS))
    vectors = {}
    for name, (config, make_tokenizer, pooling, normalize, prompts) in CASES.items():
        start, tokenizer = out / "start", make_tokenizer()
        config.vocab_size = len(tokenizer)
        model = transformers.AutoModel.from_config(config)
        fill(model, np.random.default_rng(5))
        model.save_pretrained(start)
        tokenizer.save_pretrained(start)
        transformer = models.Transformer(str(start), max_seq_length=24)
        chain = [transformer, models.Pooling(config.hidden_size, **pooling)]
        width = config.hidden_size
        for units in DENSE.get(name, ()):
            chain.append(models.Dense(width, units, bias=False, activation_function=torch.nn.Identity()))
            width = units
        chain += [models.Normalize()] if normalize else []
        embedder = SentenceTransformer(modules=chain, device="cpu", **prompts)
        embedder.save(str(out / name), create_model_card=False)
        shutil.rmtree(start)
        embedder = SentenceTransformer(str(out / name), device="cpu").double()
        one_by_one = lambda **more: np.concatenate([embedder.encode([text], **more) for text in TEXTS]).astype("float32")
        vectors[name] = one_by_one()
        for prompt, text in prompts.get("prompts", {}).items():
            if text:
                vectors[f"{name}/{prompt}"] = one_by_one(prompt_name=prompt)
    np.savez(out / "vectors.npz", **vectors)


if __name__ == "__main__":
    main()
