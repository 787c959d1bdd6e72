"""Writes cases of tests/data/tokenizers: tokenizers of KerasHub with small vocabularies, and their results.

usage: make_tokenizer_cases.py DATA_DIR [NAME…]
       (DATA_DIR is tests/data/tokenizers; needs: pip install keras tensorflow-cpu keras-hub sentencepiece transformers)

tests/oracle/make_layer_cases.py has the cases of layers and models.
"""
import io
import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras_hub
import sentencepiece
import tensorflow as tf

SENTENCES = ["the model reads tokens", "a model of the sequence of tokens", "attention reads the whole sequence",
             "Paris and London are cities.", "don't stop, it's 3.14!"]
TEXTS = ["", " ", *SENTENCES, "The MODEL readsthe tokens", "tokens  of\tthe\nmodel ", "naïve Straße 東京 🙂", "unknownword the",
         "[CLS] the [SEP] <s> <unk> [MASK] model", "MKTAYIAK", "M K T A Y", "M K T<mask>A <cls> X", "MKa Tx-A."]
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def pieces(specials, **options):
    """A SentencePiece model of the sentences."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 4), model_writer=model, vocab_size=60, model_type="unigram", hard_vocab_limit=False,
        normalization_rule_name="identity", **specials, **{"user_defined_symbols": [], **options})
    return model.getvalue()


@case
def roformer_v2():
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    letters = sorted({letter for word in words for letter in word})
    tokens = [*words, *letters, *("##" + letter for letter in letters), "##the"]
    return keras_hub.tokenizers.RoformerV2Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(tokens)])


@case
def esm():
    return keras_hub.tokenizers.ESMTokenizer(["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO", ".", "-", "<null_1>", "<mask>"])


@case
def f_net():
    return keras_hub.tokenizers.FNetTokenizer(pieces(
        dict(pad_id=3, unk_id=0, bos_id=4, eos_id=5, pad_piece="<pad>", unk_piece="<unk>", bos_piece="[CLS]", eos_piece="[SEP]"),
        control_symbols=["[MASK]"]))


@case
def deberta_v3():
    """Its pieces lack the mask, which is then appended."""
    return keras_hub.tokenizers.DebertaV3Tokenizer(pieces(
        dict(pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")))


@case
def parseq():
    return keras_hub.tokenizers.PARSeqTokenizer()


@case
def rwkv7():
    """All bytes, words in both forms of Python's literals, and a hole in the ids."""
    words = {word for sentence in SENTENCES for word in sentence.split()} | {"\n\n", " the", "don't", 'a "quote"', "\\", "東京", "ï"}
    tokens = [bytes([byte]) for byte in range(256)] + sorted(words) + ["🙂".encode()[:3]]
    tokens = [token.decode() if isinstance(token, bytes) and token < b"\x80" else token for token in tokens]
    lines = [f"{id} {token!r} {len(token if isinstance(token, bytes) else token.encode())}\n" for id, token in enumerate(tokens, 3)]
    return keras_hub.tokenizers.RWKVTokenizer(lines)


def clip_vocabulary():
    """Letters, letters that end a word, and merges of some words."""
    letters = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 324))]
    merges = ["t h", "th e</w>", "m o", "mo d", "mod e", "mode l</w>", "o f</w>", "1 4</w>", "t o", "to k", "n t</w>"]
    tokens = [*letters, *(letter + "</w>" for letter in letters), *("".join(merge.split()) for merge in merges)]
    return {token: i for i, token in enumerate([*tokens, "<|startoftext|>", "<|endoftext|>"])}, merges


@case
def clip():
    return keras_hub.tokenizers.CLIPTokenizer(*clip_vocabulary())


@case
def metaclip_2():
    return keras_hub.models.MetaCLIP2Tokenizer(pieces(dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1)))


@case
def siglip():
    return keras_hub.tokenizers.SigLIPTokenizer(pieces(dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1)))


@case
def pali_gemma():
    return keras_hub.tokenizers.PaliGemmaTokenizer(pieces(
        dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3, bos_piece="<bos>", eos_piece="<eos>")))


GEMMA = dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", bos_piece="<bos>", eos_piece="<eos>")


@case
def gemma3n():
    return keras_hub.tokenizers.Gemma3nTokenizer(pieces(GEMMA, user_defined_symbols=[
        "<mask>", "[multimodal]", "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<image_soft_token>", "<end_of_image>",
        "<start_of_audio>", "<audio_soft_token>", "<end_of_audio>"]))


@case
def gemma4():
    return keras_hub.tokenizers.Gemma4Tokenizer(pieces(GEMMA, user_defined_symbols=[
        "<|turn>", "<turn|>", "<|image>", "<|image|>", "<image|>"]), has_video_tokens=False)


def write_esm_folder(tokenizer, folder):
    import transformers

    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(tokenizer.get_vocabulary()) + "\n")
    (folder / "config.json").write_text(json.dumps({"model_type": "esm", "architectures": ["EsmForMaskedLM"]}) + "\n")
    transformers.EsmTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    theirs = transformers.EsmTokenizer.from_pretrained(folder)
    rows = []
    for text in TEXTS:
        plain = theirs.encode(text, add_special_tokens=False)
        rows.append({"text": text, "ids": theirs.encode(text), "ids_plain": plain,
                     "decoded": theirs.decode(plain, clean_up_tokenization_spaces=False)})
    return rows


def write_case(name, folder):
    tokenizer = CASES[name]()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_to_preset(str(folder / "preset"))
    for path in (folder / "preset").iterdir():
        if path.is_file() and path.name != "tokenizer.json":
            path.unlink()
    special = {}
    for key in dir(tokenizer):
        if key.endswith(("_token", "_placeholder")) and isinstance(getattr(tokenizer, key + "_id", None), int) and key != "oov_token":
            special[key] = [getattr(tokenizer, key), getattr(tokenizer, key + "_id")]
    if name == "rwkv7":
        special["end_token"] = [tokenizer.id_to_token(tokenizer.end_token_id).decode(), tokenizer.end_token_id]
    rows = []
    for text in TEXTS:
        ids = [int(i) for i in tokenizer.tokenize(text)]
        decoded = tokenizer.detokenize(ids) if ids else ""
        if name == "parseq":
            decoded = "".join(decoded)
        row = {"text": text, "ids": ids, "decoded": str(decoded[0] if isinstance(decoded, list) else decoded)}
        in_graph = [int(i) for i in next(iter(tf.data.Dataset.from_tensors(text).map(tokenizer)))]
        if in_graph != ids:
            row["ids_tf"] = in_graph
        rows.append(row)
    write = lambda file, value: (folder / file).write_text(json.dumps(value, ensure_ascii=False) + "\n")
    write("tokens.json", {"class": type(tokenizer).__name__, "special": special, "vocabulary_size": tokenizer.vocabulary_size(), "rows": rows})
    if name == "esm":
        write("hf_tokens.json", {"rows": write_esm_folder(tokenizer, folder / "hf")})
    print(name, len(rows))


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        write_case(name, pathlib.Path(sys.argv[1]) / name)
