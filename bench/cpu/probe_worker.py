"""Runs one operation of TransformerLens on a Hugging Face folder, from the start of the process to its result.

usage: probe_worker.py OPERATION FOLDER RESULT.npz THREADS

OPERATION is lens, ablate or patch. FOLDER was prepared by probe_peers.py. Prints a line of JSON with the seconds of the
operation after the model was loaded.
"""
import json
import os
import pathlib
import sys
import time

OPERATION, FOLDER, RESULT, THREADS = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(THREADS)
os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402
from transformer_lens.model_bridge import TransformerBridge  # noqa: E402


def lens(model, about):
    """The log-probabilities of every position at every point; the top five and the entropy are kept."""
    logits, cache = model.run_with_cache(torch.tensor([about["lens"]]))
    layers = model.cfg.n_layers
    streams = [cache["blocks.0.hook_resid_pre"]] + [cache[f"blocks.{i}.hook_resid_post"] for i in range(layers)]
    out = {"top": [], "entropy": []}
    for stream in streams:
        log_p = torch.log_softmax(model.unembed(model.ln_final(stream))[0], -1)
        out["top"].append(log_p.topk(5).values.numpy())
        out["entropy"].append(-(log_p.exp() * log_p).sum(-1).numpy())
    return out


def ablate(model, about):
    """The change of the loss without each head."""
    ids = torch.tensor([about["ablate"]])

    def loss_of(logits):
        return torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:]).item()

    plain, out = loss_of(model(ids)), []
    for layer in range(model.cfg.n_layers):
        for head in range(model.cfg.n_heads):
            def zero(z, hook, head=head):
                z = z.clone()
                z[:, :, head] = 0
                return z
            out.append(loss_of(model.run_with_hooks(ids, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", zero)])) - plain)
    return {"change": out}


def patch(model, about):
    """The difference of two logits with each position of each layer's input taken from the clean prompt."""
    clean, corrupt = (torch.tensor([about[name]]) for name in ("clean", "corrupt"))
    cache, out = model.run_with_cache(clean)[1], []
    a, b = about["token"], about["versus"]
    for layer in range(model.cfg.n_layers):
        name = f"blocks.{layer}.hook_resid_pre"
        for position in range(clean.shape[1]):
            def take(stream, hook, position=position, name=name):
                stream = stream.clone()
                stream[:, position] = cache[name][:, position]
                return stream
            logits = model.run_with_hooks(corrupt, fwd_hooks=[(name, take)])[0, -1]
            out.append((logits[a] - logits[b]).item())
    return {"value": out}


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    about = json.loads((FOLDER / "about.json").read_text())
    with torch.inference_mode():
        model = TransformerBridge.boot_transformers(str(FOLDER / "hf"), device="cpu", dtype=torch.float32)
        start = time.perf_counter()
        result = {"lens": lens, "ablate": ablate, "patch": patch}[OPERATION](model, about)
        print(json.dumps({"seconds": time.perf_counter() - start}))
    np.savez(RESULT, **result)
