"""Writes tests/data/probe/*_int8 and *_int4: what attn probe shows of quantized models.

usage: make_probe_cases.py [CASE...]
       (needs: pip install keras==3.15.1 tensorflow-cpu keras-hub==0.32.0)

The maps of the models are KerasHub's quantized layers, called one by one; everything else, and every operation, is NumPy. The
names and shapes of the arrays are those of the other cases (tests/data/README.md).
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras_hub
import numpy as np

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
CASES = {"gpt2_int8": 21, "llama3_int8": 22, "llama3_int4": 23}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


class Model:
    """A decoder of KerasHub. Points are edited by functions of the layer and the value, in float64."""

    def __init__(self, name):
        task = keras_hub.models.CausalLM.from_preset(str(DATA / "generation" / name / "preset"), preprocessor=None)
        self.backbone = task.backbone
        self.is_gpt2 = name.startswith("gpt2")
        self.blocks = self.backbone.transformer_layers
        self.heads = self.backbone.num_heads if self.is_gpt2 else self.backbone.num_query_heads
        self.final = self.backbone.layer_norm

    @staticmethod
    def call(layer, x, **named):
        x = np.asarray(x)
        return np.asarray(layer(x if x.dtype.kind == "i" else x.astype("float32"), **named)).astype(float)

    def norm(self, block, of_mlp):
        if self.is_gpt2:
            return block._feedforward_layer_norm if of_mlp else block._self_attention_layer_norm
        return block._feedforward_layernorm if of_mlp else block._self_attention_layernorm

    def attend(self, attention, x, keep, layer, edit):
        """Returns z (T,N,H)."""
        q, k, v = (self.call(getattr(attention, f"_{name}_dense"), x) for name in ("query", "key", "value"))
        q, k, v = (edit(name, layer, value) for name, value in (("q", q), ("k", k), ("v", v)))
        keep(layer, q=q, k=k, v=v)
        if not self.is_gpt2:
            q, k = (self.call(attention.rotary_embedding_layer, each) for each in (q, k))
        share = q.shape[2] // k.shape[2]
        k, v = np.repeat(k, share, axis=2), np.repeat(v, share, axis=2)
        scores = np.einsum("bqnh,bknh->bnqk", q, k) / np.sqrt(q.shape[-1])
        length = scores.shape[-1]
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        pattern = edit("pattern", layer, softmax(scores))
        keep(layer, pattern=pattern)
        return np.einsum("bnqk,bknh->bqnh", pattern, v)

    def mlp_post(self, block, x):
        up = self.call(block._feedforward_intermediate_dense, x)
        if self.is_gpt2:
            return up
        gate = self.call(block._feedforward_gate_dense, x)
        return up * (gate / (1 + np.exp(-gate)))

    def run(self, ids, edits=()):
        """Returns the points of a pass, each (L,T,…), or (T,…). `edits` are (point, layer, function) tuples."""
        ids = np.asarray(ids, "int32").reshape(1, -1)
        points = {}

        def keep(layer, **values):
            for name, value in values.items():
                points.setdefault(name, []).append(value[0])

        def edit(name, layer, value):
            for point, at, change in edits:
                if point == name and at == layer:
                    value = change(value)
            return value

        points["embed"] = self.call(self.backbone.token_embedding, ids)[0]
        stream = points["embed"][None]
        if self.is_gpt2:
            stream = stream + np.asarray(self.backbone.position_embedding.position_embeddings, float)[: ids.shape[1]]
        for layer, block in enumerate(self.blocks):
            attention = block._self_attention_layer
            stream = edit("resid_pre", layer, stream)
            z = edit("z", layer, self.attend(attention, self.call(self.norm(block, False), stream), keep, layer, edit))
            out = edit("attn_out", layer, self.call(attention._output_dense, z))
            mid = edit("resid_mid", layer, stream + out)
            post = self.mlp_post(block, self.call(self.norm(block, True), mid))
            mlp = edit("mlp_out", layer, self.call(block._feedforward_output_dense, post))
            keep(layer, resid_pre=stream, z=z, attn_out=out, resid_mid=mid, mlp_post=post, mlp_out=mlp)
            stream = edit("resid_post", layer, mid + mlp)
            keep(layer, resid_post=stream)
        points["final_norm"] = self.call(self.final, stream)[0]
        points["logits"] = self.unembed(points["final_norm"])
        return {name: np.asarray(value) for name, value in points.items()}

    def unembed(self, x):
        return self.call(self.backbone.token_embedding, x[None], reverse=True)[0]

    def lens(self, stream):
        return self.unembed(self.call(self.final, stream[None])[0])


def metric_of(logits, meta):
    return logits[-1, meta["token_a"]] - logits[-1, meta["token_b"]]


def changes(model, ids, plain, meta, edits):
    logits = model.run(ids, edits)["logits"]
    before, after = log_softmax(plain["logits"]), log_softmax(logits)
    loss = [-log_p[np.arange(len(ids) - 1), ids[1:]].mean() for log_p in (before, after)]
    return {"metric": metric_of(logits, meta) - metric_of(plain["logits"], meta), "loss": loss[1] - loss[0],
            "kl": (np.exp(before) * (before - after)).sum(-1).mean()}


def of_head(head, value):
    """Replaces a head of z (1,T,N,H) by `value`, which broadcasts to (T,H)."""
    def change(z):
        z = z.copy()
        z[:, :, head] = value
        return z
    return change


def ablation(model, inputs, plain, meta):
    ids, layers = inputs["ids"][0], range(meta["layers"])
    references = [model.run(row) for row in inputs["reference"]]
    out = {"metric": metric_of(plain["logits"], meta)}
    for how in ("zero", "mean_own", "mean_reference", "mean_reference_by_position"):
        def other(point, layer):
            own = plain[point][layer]
            if how == "zero":
                return np.zeros_like(own)
            if how == "mean_own":
                return np.broadcast_to(own.mean(0), own.shape)
            all_of = np.stack([reference[point][layer] for reference in references])
            return all_of.mean(0) if how.endswith("position") else np.broadcast_to(all_of.mean((0, 1)), own.shape)

        found = {"head": [[changes(model, ids, plain, meta, [("z", layer, of_head(n, other("z", layer)[:, n]))])
                           for n in range(meta["heads"])] for layer in layers]}
        for site, point in (("attn", "attn_out"), ("mlp", "mlp_out")):
            found[site] = [changes(model, ids, plain, meta, [(point, layer, lambda _, v=other(point, layer): v[None])])
                           for layer in layers]
        for site, grid in found.items():
            for what in ("metric", "loss", "kl"):
                out[f"{site}_{how}_{what}"] = np.vectorize(lambda cell, key=what: cell[key])(np.asarray(grid, object))
    return out


def patching(model, inputs, meta):
    clean, corrupt = (model.run(inputs[name][0]) for name in ("clean", "corrupt"))
    length, layers = inputs["clean"].shape[1], range(meta["layers"])

    def at(point, layer, index):
        def change(value):
            value = value.copy()
            value[(0, *index)] = clean[point][layer][index]
            return value
        return metric_of(model.run(inputs["corrupt"][0], [(point, layer, change)])["logits"], meta)

    every = slice(None)
    out = {"metric_clean": metric_of(clean["logits"], meta), "metric_corrupt": metric_of(corrupt["logits"], meta)}
    for point in ("resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out"):
        out[point] = [[at(point, layer, (t,)) for t in range(length)] for layer in layers]
    for point, heads in (("z", meta["heads"]), ("q", meta["heads"]), ("k", meta["key_value_heads"]),
                         ("v", meta["key_value_heads"])):
        out[point] = [[at(point, layer, (every, n)) for n in range(heads)] for layer in layers]
    out["pattern"] = [[at("pattern", layer, (n,)) for n in range(meta["heads"])] for layer in layers]
    out["z_by_position"] = [[[at("z", layer, (t, n)) for t in range(length)] for n in range(meta["heads"])]
                            for layer in layers]
    return out


def lens(model, plain, ids):
    streams = [plain["resid_pre"][0]]
    for mid, post in zip(plain["resid_mid"], plain["resid_post"]):
        streams += [mid, post]
    log_p = np.stack([log_softmax(model.lens(stream)) for stream in streams])
    p, final = np.exp(log_p), log_p[-1]
    order = np.argsort(-log_p, axis=-1, kind="stable")[..., :5]
    following = np.take_along_axis(log_p[:, :-1], ids[None, 1:, None], -1)
    return {"top_ids": order.astype("int32"), "top_log_probs": np.take_along_axis(log_p, order, -1),
            "entropy": -(p * log_p).sum(-1), "kl_to_final": (np.exp(final) * (final - log_p)).sum(-1),
            "next_token_rank": (log_p[:, :-1] > following).sum(-1).astype("int32"),
            "next_token_log_prob": following[..., 0]}


def rollout(plain):
    out = {}
    for name, fuse in (("mean", np.mean), ("max", np.max), ("min", np.min)):
        product, all_of = None, []
        for pattern in plain["pattern"]:
            a = fuse(pattern, 0) + np.eye(pattern.shape[-1])
            a /= a.sum(-1, keepdims=True)
            product = a if product is None else a @ product
            all_of.append(product)
        out[name] = np.stack(all_of)
    return out


def heads(plain, ids):
    length = len(ids)
    same = (ids[:, None] == ids[None]) & np.tri(length, k=-1, dtype=bool)
    masks = {"previous": np.eye(length, k=-1, dtype=bool), "duplicate": same,
             "induction": np.pad(same, ((0, 0), (1, 0)))[:, :length]}
    out = {}
    for name, mask in masks.items():
        on_mask = (plain["pattern"] * mask).sum(-1)
        out[name] = on_mask[..., mask.any(-1)].mean(-1)
        out[name + "_share"] = on_mask.sum(-1) / plain["pattern"].sum((-1, -2))
    return out


def sinks(plain):
    to_key = plain["pattern"][:, :, 1:].mean(2)
    flat = np.abs(plain["resid_post"]).reshape(len(plain["resid_post"]), -1)
    median = np.median(flat, -1)
    order = np.argsort(-flat, -1, kind="stable")[:, :5]
    width = plain["resid_post"].shape[-1]
    values = np.take_along_axis(plain["resid_post"].reshape(flat.shape), order, -1)
    count = lambda least, ratio: ((flat > least) & (flat > ratio * median[:, None])).sum(-1)
    return {"to_key": to_key, "to_first": to_key[..., 0], "median": median, "top_values": values,
            "top_positions": order // width, "top_dims": order % width, "top_ratios": np.abs(values) / median[:, None],
            "massive": count(100, 1000), "massive_min2_ratio5": count(2, 5)}


def compare(model, ids, plain):
    other = model.run(ids, [("mlp_out", 0, lambda value: 0.5 * value)])
    out = {name: [] for name in ("max_abs", "relative", "cosine", "cka")}
    for layer in range(len(plain["attn_out"])):
        for name in out:
            out[name].append([])
        for point in ("attn_out", "mlp_out", "resid_post"):
            a, b = plain[point][layer], other[point][layer]
            ca, cb = a - a.mean(0), b - b.mean(0)
            out["max_abs"][-1].append(np.abs(b - a).max())
            out["relative"][-1].append(np.linalg.norm(b - a) / np.linalg.norm(a))
            out["cosine"][-1].append((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))
            out["cka"][-1].append(np.linalg.norm(cb.T @ ca) ** 2 / np.linalg.norm(ca.T @ ca) / np.linalg.norm(cb.T @ cb))
    return out


def steering(model, inputs, meta):
    point = lambda name: [model.run(row)["resid_post"][meta["steering_layer"]] for row in inputs[name]]
    positive, negative = point("positive"), point("negative")
    difference = lambda pick: np.mean([pick(x) for x in positive], 0) - np.mean([pick(x) for x in negative], 0)
    return {"vector_last": difference(lambda x: x[-1]), "vector_mean": difference(lambda x: x.mean(0))}


def write(name, seed):
    model, r = Model(name), np.random.default_rng(seed)
    draw = lambda *shape: r.integers(3, model.backbone.vocabulary_size, shape).astype("int32")
    inputs = {"ids": draw(1, 12), "clean": draw(1, 10), "reference": draw(4, 12), "positive": draw(3, 5),
              "negative": draw(3, 6)}
    inputs["corrupt"] = inputs["clean"].copy()
    inputs["corrupt"][0, [2, 6]] = draw(2)
    half = r.permutation(np.arange(3, model.backbone.vocabulary_size))[:12].astype("int32")
    inputs["repeated"] = np.tile(half, 2)[None]
    ids, plain = inputs["ids"][0], model.run(inputs["ids"][0])
    a, b = np.argsort(-plain["logits"][-1])[:2]
    meta = {"model": f"generation/{name}/preset", "seed": seed, "layers": len(model.blocks), "heads": model.heads,
            "key_value_heads": plain["k"].shape[2], "token_a": int(a), "token_b": int(b), "steering_layer": 0}
    meta["lens_points"] = ["resid_pre.0"] + [f"{point}.{layer}" for layer in range(meta["layers"])
                                             for point in ("resid_mid", "resid_post")]
    folder = DATA / "probe" / name
    folder.mkdir(exist_ok=True)
    files = {"inputs": inputs, "activations": plain, "lens": lens(model, plain, ids),
             "ablation": ablation(model, inputs, plain, meta), "patching": patching(model, inputs, meta),
             "rollout": rollout(plain), "heads": heads(model.run(inputs["repeated"][0]), inputs["repeated"][0]),
             "sinks": sinks(plain), "compare": compare(model, ids, plain), "steering": steering(model, inputs, meta)}
    for file, arrays in files.items():
        np.savez_compressed(folder / f"{file}.npz", **{key: np.asarray(value) for key, value in arrays.items()})
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        write(case, CASES[case])
        print(case)
