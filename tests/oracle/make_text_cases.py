#!/usr/bin/env python3
"""Writes tests/data/text: the results of TensorFlow's string operations, and models that read strings.

    python tests/oracle/make_text_cases.py tests/data/text
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf
from keras import layers as L

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
random = np.random.default_rng(3)
BUCKETS = (1 << 62) - 57

# ---- operations, on bytes, which are written in hexadecimal

strings = [bytes(random.integers(0, 256, size, dtype=np.uint8)) for size in [*range(0, 70), 127, 128, 129, 191, 192, 193, 300]]
strings += ["Käse ÄÖÜ".encode(), "日本語 テキスト".encode(), "e\u0301 \U0001f600".encode(), b"[UNK]"]
texts = [b"", b" ", b"The CAT, sat!  on\tthe\nmat.", "ÀÉ Straße\u00a0x\u2003y".encode(), b"a\x0bb\x0cc\rd\x1ce\x00f  ",
         "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'¡¿—".encode(), b"\xff\xfeA", b"\xef\xbb\xbfa", b"\xed\xa0\x80x", b"\xf0\x9f\x98",
         b"\xc0\xafz", b"\xf4\x90\x80\x80", b"\xe2\x28\xa1", b"\xf0\x28\x8c\x28", b"\xe0\x80\xafq", b"\xf1\x80\x80", "日本".encode()]
hexes = lambda items: [bytes(item).hex() for item in items]
pattern = r'[!"#$%&()\*\+,-\./:;<=>?@[\\\]^_`{|}~\']'
terms = [b"a", b"b", b"c", b"", b"d e"]
operations = {
    "buckets": BUCKETS,
    "strings": hexes(strings),
    "fast": tf.strings.to_hash_bucket_fast(strings, BUCKETS).numpy().tolist(),
    "strong": [{"key": key, "buckets": tf.strings.to_hash_bucket_strong(strings, BUCKETS, key).numpy().tolist()}
               for key in ([0, 0], [7, 11], [-1, 123456789012345])],
    "texts": hexes(texts),
    "lower": hexes(tf.strings.lower(texts).numpy()),
    "strip": hexes(tf.strings.regex_replace(texts, pattern, "").numpy()),
    "whitespace": [hexes(row.numpy()) for row in tf.strings.split(texts)],
    "character": [hexes(row.numpy()) for row in tf.strings.unicode_split(texts, "UTF-8")],
    "terms": hexes(terms),
    "ngrams": [{"widths": widths, "grams": hexes(tf.strings.ngrams(terms, widths).numpy())}
               for widths in ([1], [1, 2], [2], [3, 1], [5], [6], [1, 2, 3, 4, 5, 6])],
}
(out / "operations.json").write_text(json.dumps(operations) + "\n")


# ---- models

def write(name, model, inputs):
    folder = out / name
    folder.mkdir(exist_ok=True)
    model.save(folder / "model.keras")
    model = keras.saving.load_model(folder / "model.keras")  # uses the model in the saved form
    np.savez(folder / "inputs.npz", **inputs)
    given = [tf.constant(inputs[tensor.name]) for tensor in model.inputs]
    outputs = model(given if len(given) > 1 else given[0])
    named = outputs if isinstance(outputs, dict) else {f"output_{i}": value for i, value in enumerate(keras.tree.flatten(outputs))}
    decode = np.vectorize(lambda text: text.decode(), otypes=["U"])
    np.savez(folder / "outputs.npz", **{name: decode(value) if value.dtype == tf.string else np.asarray(value)
                                        for name, value in named.items()})
    lines = []
    model.summary(line_length=80, print_fn=lambda text, **kwargs: lines.append(text))
    (folder / "summary.txt").write_text("\n".join(lines))


keras.utils.set_random_seed(11)
corpus = ["The cat sat on the mat.", "A dog!  A big dog, and a cat?", "Ünïcode Éa é, café CAFÉ", "the end", "x_y a\u00a0b"]
unseen = np.array([["The dog sat."], ["É café the END the end mat zebra"], [""], ["A\ta\nbig; mouse"]])

vectorize = L.TextVectorization(max_tokens=24, output_sequence_length=6, name="vectorize")
vectorize.adapt(corpus)
text = keras.Input((1,), dtype="string", name="text")
x = L.Embedding(24, 8, mask_zero=True, name="embed")(vectorize(text))
x = L.MultiHeadAttention(2, 4, name="attention")(x, x)
x = L.GlobalAveragePooling1D(name="pool")(x)
write("classifier", keras.Model(text, L.Dense(3, activation="softmax", name="head")(x), name="classifier"), {"text": unseen})

weigh = L.TextVectorization(output_mode="tf_idf", ngrams=2, name="weigh")
weigh.adapt(corpus)
write("weighed", keras.Sequential([keras.Input((1,), dtype="string", name="text"), weigh, L.Dense(2, name="head")], name="weighed"),
      {"text": unseen})

inner_text = keras.Input((1,), dtype="string", name="inner_text")
characters = L.TextVectorization(split="character", standardize="lower", name="characters")
characters.adapt(corpus)
inner = keras.Model(inner_text, L.Embedding(64, 4, name="embed")(characters(inner_text)), name="inner")
text = keras.Input((1,), dtype="string", name="text")
other = keras.Input((1,), dtype="string", name="other")
pooled = [L.GlobalMaxPooling1D(name=f"pool_{i}")(inner(tensor)) for i, tensor in enumerate((text, other))]
write("nested", keras.Model([text, other], L.Concatenate(name="both")(pooled), name="nested"),
      {"text": unseen, "other": unseen[::-1].copy()})

V = ["cat", "dog", "mat", "end", "é"]
text = keras.Input((), dtype="string", name="text")
row = keras.Input((4,), dtype="string", name="row")
one = keras.Input((1,), dtype="string", name="one")
T = lambda **options: L.TextVectorization(vocabulary=V, **options)
S = lambda **options: L.StringLookup(vocabulary=V, **options)
outputs = [
    T()(text), T(output_sequence_length=3)(text), T(standardize=None)(text), T(standardize="lower")(text),
    T(standardize="strip_punctuation")(text), T(output_mode="multi_hot")(text), T(output_mode="count")(text),
    T(output_mode="tf_idf", idf_weights=[1.0, 0.5, 2.0, 0.25, 3.5])(text),
    T(output_mode="tf_idf", idf_weights=[1.0, 0.5, 2.0, 0.25, 3.5], pad_to_max_tokens=True, max_tokens=9)(text),
    L.TextVectorization(vocabulary=["", "[UNK]", *V])(text), L.TextVectorization(ngrams=(2, 1), vocabulary=["the cat", *V])(text),
    L.TextVectorization(split="character", vocabulary=["c", " ", "é", "\ufffd"])(text),
    T(split=None)(row), T(split=None, output_sequence_length=2)(row), T(split=None, output_sequence_length=6)(row),
    T(split=None, ngrams=2)(row), T(split=None, output_mode="count")(row), T(split=None, output_mode="one_hot")(row),
    S()(row), S(num_oov_indices=3)(row), S(mask_token="")(row), S(mask_token="", num_oov_indices=4, salt=[5, 9])(row),
    S(output_mode="multi_hot")(row), S(mask_token="", output_mode="count")(row), S(mask_token="b", output_mode="one_hot")(row),
    S(output_mode="one_hot")(one), S(output_mode="one_hot")(text),
    S(output_mode="tf_idf", idf_weights=[1.0, 0.5, 2.0, 0.25, 3.5])(row),
    S(output_mode="count", pad_to_max_tokens=True, max_tokens=11, num_oov_indices=2)(row),
    L.StringLookup(vocabulary=["", "[UNK]", "[UNK]", "a", "b"], num_oov_indices=2, mask_token="")(row),
    L.Hashing(7)(row), L.Hashing(7, mask_value="")(row), L.Hashing(7, salt=133)(row), L.Hashing(5, salt=[1, 2], output_mode="count")(row),
    L.Hashing(5, output_mode="multi_hot")(row), L.Hashing(5, output_mode="one_hot")(row), L.Hashing(5, output_mode="one_hot")(one),
    L.Hashing(7, dtype="int32")(text), L.Hashing(1, mask_value="")(row),
]
rows = np.array([["cat", "Dog!", "", "é"], ["zebra", "dog", "dog", "a much longer term than the sixty-four bytes that one block of the hash has"],
                 ["mat", "end", "b", "é"]])
write("layers", keras.Model([text, row, one], outputs, name="layers"),
      {"text": np.array(["The Cat, the DOG", "é end end É", "a  mat\tmatt"]), "row": rows, "one": rows[:, :1].copy()})

text = keras.Input((1,), dtype="string", name="text")
number = keras.Input((1,), dtype="int64", name="number")
small = keras.Input((1,), dtype="int32", name="small")
row = keras.Input((4,), dtype="int64", name="row")
flat = keras.Input((), dtype="int64", name="flat")
real = keras.Input((2,), dtype="float32", name="real")
inner_number = keras.Input((1,), dtype="int64", name="inner_number")
inner = keras.Model(inner_number, L.Hashing(9, name="hash")(inner_number), name="inner")
outputs = [
    L.Hashing(7)(row), L.Hashing(7, mask_value=0)(row), L.Hashing(7, salt=133)(row), L.Hashing(5, output_mode="count")(row),
    L.Hashing(5, salt=[3, 4], output_mode="multi_hot", mask_value=-3)(row), L.Hashing(6, output_mode="one_hot")(number),
    L.Hashing(1000, dtype="int32")(flat), L.Hashing(1000)(real), L.Hashing(1000)(small), inner(number),
    L.HashedCrossing(1000)([text, number]), L.HashedCrossing(1000)([number, text]),
    L.HashedCrossing(5, output_mode="one_hot")([number, small]), L.HashedCrossing(1 << 40)([flat, flat]),
    L.HashedCrossing(6, output_mode="one_hot")([flat, flat]), keras.ops.add(number, 1),
]
write("hashes", keras.Model([text, number, small, row, flat, real], outputs, name="hashes"),
      {"text": np.array([["A"], [""], ["é, longer than the eight bytes of a number"]]),
       "number": np.array([[101], [-(1 << 63)], [(1 << 63) - 1]]), "small": np.array([[0], [-7], [12]], "int32"),
       "row": np.array([[0, 1, -3, 123456789], [(1 << 63) - 1, -(1 << 63), 0, 0], [10, 100, 1000, 10000]]),
       "flat": np.array([3, -4, 5]), "real": np.array([[1.9, -1.9], [0.0, 1e9], [-0.5, 3.0]], "float32")})

ids = keras.Input((5,), dtype="int64", name="ids")
learned = L.IntegerLookup(name="learned")
learned.adapt(np.array([12, 1138, 42, 42, 1000, 36, 42]))
masked = L.IntegerLookup(mask_token=0, num_oov_indices=2, output_mode="count", name="masked")
masked.adapt(np.array([5, 5, 7, 0, 9]))
weighed = L.IntegerLookup(output_mode="tf_idf", name="weighed")
weighed.adapt(np.array([[5, 5, 7], [7, 9, 9]]))
back = L.IntegerLookup(vocabulary=[7, 9], invert=True, mask_token=0, name="back")
padded = L.IntegerLookup(vocabulary=[7, 9], output_mode="multi_hot", max_tokens=6, pad_to_max_tokens=True, name="padded")
write("integers", keras.Model(ids, [layer(ids) for layer in (learned, masked, weighed, back, padded)], name="integers"),
      {"ids": np.array([[42, 7, 0, 1, 2], [5, 9, -3, 3, 1138]])})

# # ---- string outputs

scores = keras.Input((4, 9), name="scores")
ids = keras.Input((3,), dtype="int64", name="ids")
W = ["cat", "é", "日本", "a b"]
back = lambda **options: L.StringLookup(vocabulary=W, invert=True, **options)
best = keras.ops.argmax(scores, axis=-1)
words = back(mask_token="", name="words")(best)
learned = L.StringLookup(name="learned")
learned.adapt([["the", "cat", "the", "mat", "é"]])
inner_ids = keras.Input((3,), dtype="int64", name="inner_ids")
inner = keras.Model(inner_ids, L.StringLookup(vocabulary=learned.get_vocabulary(), invert=True, name="learned_back")(inner_ids), name="inner")
outputs = [
    words, scores + 1.0, back(num_oov_indices=3, mask_token="[M]", oov_token="?")(ids), back(num_oov_indices=0)(ids), inner(ids),
    L.Reshape((2, 2))(words), keras.ops.transpose(L.Identity()(words)), words[:, 1:], L.Concatenate()([words, words[:, :1]]),
    back()(scores), L.IntegerLookup(vocabulary=[7, 9], invert=True)(ids),
]
write("decoded", keras.Model([scores, ids], outputs, name="decoded"),
      {"scores": (random.normal(size=(2, 4, 9)) * 3).astype("float32"),
       "ids": np.array([[0, 1, 2], [-1, 5, 1 << 40]])})
ids = keras.Input((), dtype="int64", name="ids")
write("named", keras.Model(ids, {"word": L.StringLookup(vocabulary=W, invert=True)(ids), "twice": ids * 2}, name="named"),
      {"ids": np.array([0, 4, 2])})
