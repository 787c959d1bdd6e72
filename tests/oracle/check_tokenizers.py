"""Compares `attn tokenize` with KerasHub and Hugging Face's tokenizers on random texts.

    python tests/oracle/check_tokenizers.py ATTN [--texts 2000] [--seed 1] [FOLDER…]

A FOLDER is a preset of KerasHub or a Hugging Face folder; the default is all of tests/data/tokenizers. Texts are drawn from
difficult parts: words, spaces of all kinds, digits, punctuation, special tokens, combining marks, emoji, every plane of
Unicode, and parts of the vocabulary. They have no characters that are newer than Unicode 15, because the libraries' tables
differ for them. Ids and decoded texts must be equal. The first differences of each folder are printed.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

WORDS = "the model reads tokens; it's don't WE'LL I'M naïve Straße ΟΔΟΣ İstanbul ﬁne Ⅷ x² 東京 한국어 नमस्ते 12345 3.14".split(" ")
SPACES = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\u0085", "\u2028", "\u180e"]
SIGNS = list("!?.,;:'\"()[]{}<>-_/\\@#$%^&*+=|~`") + ["…", "—", "«", "」", "।", "'s", "'T", "``", "''"]
ODD = ["e\u0301", "\u0301", "\u200d", "👩‍👩‍👧", "🇩🇪", "🙂", "\ufeff", "\ufffd", "\u00ad", "ß", "ſ", "\u0345", "\U0001f9d1\U0001f3fd", "\x7f", "\x1c"]
SPECIAL = ["<|endoftext|>", "<s>", "</s>", "<pad>", "[CLS]", "[MASK]", "<bos>", "<unk>", "<0x41>", "<|begin_of_text|>", "##", "▁", "Ġ"]


def random_character(draw):
    while True:
        high = draw.choice([0x80, 0x250, 0x3000, 0x3000, 0xFFFF, 0x20000, 0x110000])
        character = chr(draw.randrange(1, high)) if high else " "
        if unicodedata.category(character) not in ("Cn", "Cs", "Co"):
            return character


def random_text(draw, vocabulary):
    parts = []
    for _ in range(draw.choice([1, 2, 4, 8, 16, 40])):
        kind = draw.random()
        if kind < 0.3:
            parts.append(draw.choice(WORDS))
        elif kind < 0.5:
            parts.append(draw.choice(SPACES))
        elif kind < 0.6:
            parts.append(draw.choice(SIGNS))
        elif kind < 0.7:
            parts.append(draw.choice(ODD))
        elif kind < 0.74:
            parts.append(draw.choice(SPECIAL))
        elif kind < 0.85:
            parts.append(draw.choice(vocabulary).replace("Ġ", " ").replace("▁", " ").replace("##", ""))
        else:
            parts.append("".join(random_character(draw) for _ in range(draw.randrange(1, 6))))
    return "".join(parts)


def attn_rows(attn, folder, texts, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(texts, file)
        file.flush()
        done = subprocess.run([attn, "tokenize", str(folder), "--texts", file.name, "--json", *options], capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
    return [(row["ids"], row["decoded"]) for row in json.loads(done.stdout)["results"]]


def keras_tokenizer(folder):
    import keras
    import keras_hub

    object = json.loads((folder / "tokenizer.json").read_text())
    object["module"], object["registered_name"] = "keras_hub.tokenizers", None
    tokenizer = getattr(keras_hub.tokenizers, object["class_name"])
    config = {key: value for key, value in object["config"].items() if key not in ("dtype", "vocabulary", "merges")}
    made = tokenizer(**({"proto": None} if "proto" in config else {"vocabulary": None}) | {k: v for k, v in config.items() if k != "proto"})
    made.load_assets(str(folder / "assets/tokenizer"))
    return made


def compare(name, texts, expected, found):
    wrong = [i for i, (a, b) in enumerate(zip(expected, found)) if a != b]
    print(f"{name:60} {len(texts) - len(wrong)} of {len(texts)}")
    for i in wrong[:3]:
        print(f"    {texts[i]!r}\n      expected {expected[i]}\n      found    {found[i]}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attn")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_intermixed_args()
    import tokenizers

    folders = options.folders or sorted(p.parent for p in ROOT.glob("tests/data/tokenizers/*/*/tokenizer.json"))
    wrong = 0
    for folder in folders:
        draw = random.Random(f"{options.seed} {folder.parent.name}")
        text = (folder / "tokenizer.json").read_text() if (folder / "tokenizer.json").exists() else "{}"
        if '"class_name"' in text[:500]:
            tokenizer = keras_tokenizer(folder)
            texts = [random_text(draw, list(tokenizer.get_vocabulary())) for _ in range(options.texts)]
            expected = []
            for one in texts:
                ids = [int(i) for i in tokenizer.tokenize(one)]
                expected.append((ids, str(tokenizer.detokenize(ids)) if ids else ""))
            wrong += compare(f"{folder} ({type(tokenizer).__name__})", texts, expected, attn_rows(options.attn, folder, texts))
        else:
            tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            texts = [random_text(draw, list(tokenizer.get_vocab())) for _ in range(options.texts)]
            for special in (False, True):
                encoded = [tokenizer.encode(one, add_special_tokens=special).ids for one in texts]
                expected = [(ids, tokenizer.decode(ids, skip_special_tokens=False)) for ids in encoded]
                found = attn_rows(options.attn, folder, texts, *(["--add-special"] if special else []))
                wrong += compare(f"{folder} (tokenizer.json, {'with' if special else 'without'} special tokens)", texts, expected, found)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
