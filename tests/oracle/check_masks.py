"""Checks `attn summary --masks --expand-nested --json` against the masks on the tensors of real Keras.

usage: check_masks.py ATTN [MODEL.json…]      (needs: pip install keras tensorflow-cpu)

The default models are tests/data/keras, and models made here. For every call these are compared: which of its inputs and
results have a mask, the shapes of the masks, and whether the call removed the masks of its inputs.
"""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from keras import layers as L

BATCH, LENGTH, OTHER_LENGTH = 2, 7, 5


def mask_of(x):
    mask = getattr(x, "_keras_mask", None)
    return None if mask is None else list(mask.shape)


def is_tensor(x):
    return hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, np.ndarray)


class Recorder:
    """Replaces the __call__ of layers and operations while a model runs."""

    def __init__(self):
        self.rows, self.stack = [], []
        self.tensors = {}  # values of the model by id; not the constants of its config

    def wrap(self, original):
        recorder = self

        def call(op, *args, **kwargs):
            outer = recorder.stack[-1] if recorder.stack else None
            if outer is op:  # a layer's __call__ calls the operation's
                return original(op, *args, **kwargs)
            seen = outer is None or isinstance(outer, (keras.Sequential, keras.src.models.Functional))
            if isinstance(op, L.InputLayer):
                seen = False
            given = {k: v for k, v in kwargs.items() if k != "mask" and not k.endswith("_mask")}
            read = [t for t in keras.tree.flatten([args, given]) if is_tensor(t) and id(t) in recorder.tensors]
            before = [mask_of(t) for t in read]
            row = None
            if seen and recorder.stack:
                row = {"name": op.name, "in": before}
                recorder.rows.append(row)
            recorder.stack.append(op)
            out = original(op, *args, **kwargs)
            recorder.stack.pop()
            recorder.tensors.update((id(t), t) for t in keras.tree.flatten(out))
            if row is not None:
                row["out"] = [mask_of(t) for t in keras.tree.flatten(out)]
                row["takes_off"] = any(b is not None and mask_of(t) is None for b, t in zip(before, read))
            return out

        return call

    def run(self, model, inputs):
        from keras.src.ops.operation import Operation

        self.tensors = {id(t): t for t in keras.tree.flatten(inputs)}
        saved = Operation.__call__, keras.Layer.__call__
        Operation.__call__, keras.Layer.__call__ = (self.wrap(f) for f in saved)
        try:
            model(inputs)
        finally:
            Operation.__call__, keras.Layer.__call__ = saved
        return self.rows


def draw(tensor, length):
    shape = [BATCH if i == 0 else d or length for i, d in enumerate(tensor.shape)]
    if tensor.dtype == "bool":
        return keras.ops.convert_to_tensor(np.ones(shape, bool))
    if tensor.dtype.startswith("int"):
        return keras.ops.convert_to_tensor(np.arange(np.prod(shape)).reshape(shape) % 2, tensor.dtype)
    return keras.ops.convert_to_tensor(np.random.normal(size=shape), tensor.dtype)


def same_masks(mine, real):
    """A summary has the outputs of Keras's compute_output_shape; a call may return more."""
    mine = mine + [None] * (len(real) - len(mine))
    return len(mine) == len(real) and all(map(same_mask, mine, real))


def same_mask(mine, real):
    if mine is None or real is None:
        return mine is None and real is None
    return len(mine) == len(real) and all(a is None or a == b for a, b in zip(mine, real))


def compare(attn, path, length):
    text = pathlib.Path(path).read_text()
    keras.backend.clear_session()  # restarts the numbering of operations
    model = keras.models.model_from_json(text)
    inputs = [draw(t, length) for t in model.inputs]
    if isinstance(getattr(model, "_inputs_struct", None), dict):
        inputs = dict(zip([t.name for t in model.inputs], inputs))
    real = Recorder().run(model, inputs if len(model.inputs) > 1 or isinstance(inputs, dict) else inputs[0])
    out = subprocess.run([attn, "summary", "--masks", "--expand-nested", "--json", path], capture_output=True, text=True)
    if out.returncode:
        return [out.stderr.strip()]
    mine = json.loads(out.stdout)["masks"]
    problems = []
    if [r["name"] for r in mine] != [r["name"] for r in real]:
        return [f"calls differ: {[r['name'] for r in mine]} and {[r['name'] for r in real]}"]
    for a, b in zip(mine, real):
        for key, masks in (("in", [t["mask"] for t in a["inputs"]]), ("out", [t["mask"] for t in a["outputs"]])):
            if not same_masks(masks, b[key]):
                problems.append(f"{a['name']}: masks {key} {masks}, in Keras {b[key]}")
        if a["takes_off"] != b["takes_off"]:
            problems.append(f"{a['name']}: takes off {a['takes_off']}, in Keras {b['takes_off']}")
    return problems


def made():
    tokens = lambda name: keras.Input((LENGTH,), dtype="int32", name=name)

    def block(x, d=8, add=True, pre=False):
        y = L.LayerNormalization()(x) if pre else x
        a = L.MultiHeadAttention(2, d // 2, dropout=0.1)(y, y)
        x = L.Add()([x, a]) if add else x + a
        x = x if pre else L.LayerNormalization()(x)
        return L.Add()([x, L.Dense(d)(x)]) if add else x + L.Dense(d)(x)

    for add in (True, False):
        for pre in (True, False):
            i = tokens("i")
            x = L.Embedding(9, 8, mask_zero=True)(i)
            yield keras.Model(i, block(block(x, add=add, pre=pre), add=add, pre=pre))
    i, j = tokens("i"), tokens("j")
    x, y = L.Embedding(9, 8, mask_zero=True)(i), L.Embedding(9, 8, mask_zero=True)(j)
    a = L.MultiHeadAttention(2, 4)(x, y, use_causal_mask=True)
    b = L.GroupedQueryAttention(4, 4, 2)(x, y) if hasattr(L, "GroupedQueryAttention") else a
    c = L.Attention()([x, y])
    yield keras.Model([i, j], [L.Concatenate()([a, b, c]), L.Concatenate(axis=1)([x, y]), L.Dot(axes=2)([x, y])])
    i = keras.Input((LENGTH, 4), name="i")
    x = L.Masking()(i)
    x = L.Bidirectional(L.LSTM(3, return_sequences=True))(x)
    x = L.TimeDistributed(L.Dense(4))(L.Dropout(0.1)(x))
    yield keras.Model(i, [L.GRU(3)(x), L.Conv1D(3, 2)(x), L.GlobalMaxPooling1D()(x), L.Flatten()(x), L.Softmax()(x[:, 0])])
    i = tokens("i")
    inner = keras.Input((LENGTH, 8), name="inner")
    sub = keras.Model(inner, L.LayerNormalization()(L.Add()([inner, L.Dense(8)(inner)])), name="sub")
    chain = keras.Sequential([L.Dense(8), L.Reshape((LENGTH, 4, 2))], name="chain")
    x = L.Embedding(9, 8, mask_zero=True)(i)
    yield keras.Model(i, chain(sub(sub(x))))
    i = keras.Input((3, LENGTH, 4), name="i")
    yield keras.Model(i, L.MultiHeadAttention(2, 3, attention_axes=(2,))(L.Masking()(i), i))


def main():
    attn, paths = sys.argv[1], sys.argv[2:]
    folder = tempfile.mkdtemp()
    if not paths:
        here = pathlib.Path(__file__).parent.parent
        paths = sorted(glob.glob(str(here / "data/keras/*/*/model.json")))
        for n, model in enumerate(made()):
            paths.append(f"{folder}/made_{n}.json")
            pathlib.Path(paths[-1]).write_text(model.to_json())
    failed = 0
    for path in paths:
        try:
            try:
                problems = compare(attn, path, LENGTH)
            except Exception:  # an unknown length may have to be the same as a known one
                problems = compare(attn, path, OTHER_LENGTH)
        except Exception as error:  # Keras itself cannot run it
            print(f"{path}: not compared: {' '.join(str(error).split())[:400]}")
            continue
        failed += bool(problems)
        for problem in problems:
            print(f"{path}: {problem}")
    print(f"{len(paths)} models, {failed} differ")
    sys.exit(failed > 0)


main()
