#!/usr/bin/env python3
"""Writes encoder.safetensors with the names and shapes that torch.nn.TransformerEncoder (width 16, one layer, two heads,
feed-forward 32) gives its arrays, and one array more, for docs/convert.md. The numbers are small and regular."""
import json
import struct
import sys

D, F = 16, 32
SHAPES = {
    "layers.0.self_attn.in_proj_weight": (3 * D, D), "layers.0.self_attn.in_proj_bias": (3 * D,),
    "layers.0.self_attn.out_proj.weight": (D, D), "layers.0.self_attn.out_proj.bias": (D,),
    "layers.0.linear1.weight": (F, D), "layers.0.linear1.bias": (F,),
    "layers.0.linear2.weight": (D, F), "layers.0.linear2.bias": (D,),
    "layers.0.norm1.weight": (D,), "layers.0.norm1.bias": (D,),
    "layers.0.norm2.weight": (D,), "layers.0.norm2.bias": (D,),
    "head.weight": (4, D),
}

header, data = {}, b""
for name, shape in SHAPES.items():
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    start = len(data)
    data += struct.pack(f"<{count}f", *((i % 7 - 3) / 16 for i in range(count)))
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, len(data)]}
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
