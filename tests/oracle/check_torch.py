"""Checks that a model computes the same in attn as in PyTorch, after `attn convert --from torch`.

usage: check_torch.py ATTN      (needs: pip install torch safetensors numpy; transformers for BERT)

Uses random models; outputs must agree within 1e-5 of the largest value, the usual difference between two implementations
of float32 sums with this length. Exits with 1 on a difference.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

D, HEADS, FF, LENGTH = 24, 4, 40, 7


def attn(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"attn {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}")


def shaken(model):
    """Sets biases and scales to values other than 0 and 1."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def compare(program, name, config, model, inputs, expected):
    with tempfile.TemporaryDirectory() as folder:
        path = lambda file: os.path.join(folder, file)  # noqa: E731
        with open(path("model.json"), "w") as file:
            json.dump(config, file)
        save_file({key: value.contiguous() for key, value in model.state_dict().items()}, path("torch.safetensors"))
        np.savez(path("in.npz"), **inputs)
        np.savez(path("out.npz"), **expected)
        size = str(1e-5 * max(abs(value).max() for value in expected.values()))
        for weights in "w.weights.h5", "w.keras", "w.safetensors":
            attn(program, "convert", "--from", "torch", path("torch.safetensors"), path(weights), "--model", path("model.json"))
            attn(program, "run", path("model.json"), "--weights", path(weights), "--input", path("in.npz"), "--expect",
                 path("out.npz"), "--rtol", "0", "--atol", size)
    print(f"{name}: equal", flush=True)


def encoder_config(layers, **more):
    return {"name": "encoder", "input_shape": [LENGTH, D], "num_layers": layers, "num_heads": HEADS,
            "intermediate_dim": FF, "layer_norm_epsilon": 1e-5, **more}


def functional(layers, inputs, output):
    """Returns a Keras model as JSON: layers are tuples (class, name, config, arguments)."""
    shapes = dict(inputs)

    def tensor(name):
        return {"class_name": "__keras_tensor__",
                "config": {"shape": [None, *shapes[name]], "dtype": "float32", "keras_history": [name, 0, 0]}}

    out = [{"module": "keras.layers", "class_name": "InputLayer", "name": name, "registered_name": None,
            "config": {"batch_shape": [None, *shape], "dtype": "float32", "name": name}, "inbound_nodes": []}
           for name, shape in inputs.items()]
    for class_name, name, config, arguments, shape in layers:
        out.append({"module": "keras.layers", "class_name": class_name, "name": name, "registered_name": None,
                    "config": {"name": name, **config},
                    "inbound_nodes": [{"args": [tensor(a) for a in arguments], "kwargs": {}}]})
        shapes[name] = shape
    return {"module": "keras.src.models.functional", "class_name": "Functional", "registered_name": "Functional",
            "config": {"name": "functional", "trainable": True, "layers": out,
                       "input_layers": [[name, 0, 0] for name in inputs], "output_layers": [[output, 0, 0]]}}


class Classifier(nn.Module):
    """Layers in a list, and a head."""

    def __init__(self, norm_first):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(D, HEADS, FF, dropout=0, activation="gelu", batch_first=True, norm_first=norm_first)
            for _ in range(11))
        self.norm = nn.LayerNorm(D) if norm_first else nn.Identity()
        self.head = nn.Linear(D, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def check_encoders(program):
    x = torch.randn(2, LENGTH, D)

    def check(name, model, layers, **options):
        shaken(model)
        compare(program, name, encoder_config(layers, **options), model, {"input_layer": x.numpy()},
                {"output_0": model(x).detach().numpy()})

    for norm_first in False, True:
        for activation in "relu", "gelu":
            layer = nn.TransformerEncoderLayer(D, HEADS, FF, dropout=0, activation=activation, batch_first=True,
                                               norm_first=norm_first)
            # The encoder of the short config ends with a normalization if each block begins with one.
            norm = nn.LayerNorm(D) if norm_first else None
            check(f"TransformerEncoder, norm_first={norm_first}, {activation}",
                  nn.TransformerEncoder(layer, 3, norm, enable_nested_tensor=False), 3, activation=activation,
                  normalize_first=norm_first)
        check(f"a list of layers and a head, norm_first={norm_first}", Classifier(norm_first), 11, activation="gelu",
              normalize_first=norm_first, units=3)
    check("TransformerEncoderLayer", nn.TransformerEncoderLayer(D, HEADS, FF, dropout=0, batch_first=True), 1)


def check_attention(program):
    x, y, z = torch.randn(2, LENGTH, D), torch.randn(2, 5, 10), torch.randn(2, 5, 14)
    for name, model, tensors in (
        ("MultiheadAttention", nn.MultiheadAttention(D, HEADS, batch_first=True), (x, x, x)),
        ("MultiheadAttention, no bias", nn.MultiheadAttention(D, HEADS, bias=False, batch_first=True), (x, x, x)),
        ("MultiheadAttention, kdim and vdim", nn.MultiheadAttention(D, HEADS, kdim=10, vdim=14, batch_first=True), (x, y, z)),
    ):
        shaken(model)
        query, key, value = tensors
        inputs = {"q": query, "k": key, "v": value}
        config = functional(
            [("MultiHeadAttention", "attention",
              {"num_heads": HEADS, "key_dim": D // HEADS, "use_bias": model.in_proj_bias is not None}, ["q", "v", "k"],
              [LENGTH, D])],
            {key: list(value.shape[1:]) for key, value in inputs.items()}, "attention")
        compare(program, name, config, model, {key: value.numpy() for key, value in inputs.items()},
                {"output_0": model(query, key, value)[0].detach().numpy()})


def check_bert(program):
    import transformers

    words, positions, layers = 40, 16, 3
    config = transformers.BertConfig(vocab_size=words, hidden_size=D, num_hidden_layers=layers, num_attention_heads=HEADS,
                                     intermediate_size=FF, max_position_embeddings=positions, hidden_act="gelu_new")
    model = shaken(transformers.BertModel(config))
    ids, kinds = torch.randint(0, words, (2, LENGTH)), torch.randint(0, 2, (2, LENGTH))
    seen = torch.ones(2, LENGTH, dtype=torch.int64)
    seen[1, 4:] = 0
    out = model(input_ids=ids, token_type_ids=kinds, attention_mask=seen)
    backbone = {"module": "keras_hub.src.models.bert.bert_backbone", "class_name": "BertBackbone",
                "registered_name": "keras_hub>BertBackbone",
                "config": {"name": "bert_backbone", "trainable": True, "vocabulary_size": words, "num_layers": layers,
                           "num_heads": HEADS, "hidden_dim": D, "intermediate_dim": FF, "dropout": 0.1,
                           "max_sequence_length": positions, "num_segments": 2}}
    compare(program, "BertModel onto BertBackbone", backbone, model,
            {"token_ids": ids.numpy().astype("int32"), "segment_ids": kinds.numpy().astype("int32"),
             "padding_mask": seen.numpy().astype("int32")},
            {"sequence_output": out.last_hidden_state.detach().numpy(), "pooled_output": out.pooler_output.detach().numpy()})


if __name__ == "__main__":
    torch.manual_seed(0)
    check_attention(sys.argv[1])
    check_encoders(sys.argv[1])
    check_bert(sys.argv[1])
