"""Converts a Hugging Face folder of GPT-2 or Llama to a .gguf without a vocabulary, for llama.cpp."""
import json

import gguf
import numpy as np
from safetensors.numpy import load_file

GPT2 = {"wte.weight": "token_embd.weight", "wpe.weight": "position_embd.weight", "ln_f.weight": "output_norm.weight",
        "ln_f.bias": "output_norm.bias"}
GPT2_BLOCK = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
              "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
LLAMA = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
         "lm_head.weight": "output.weight"}
LLAMA_BLOCK = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
               "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
               "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
KINDS = {"bfloat16": gguf.GGMLQuantizationType.BF16, "int8": gguf.GGMLQuantizationType.Q8_0,
         "int4": gguf.GGMLQuantizationType.Q4_0}


def turned(rows, heads):
    """Permutes rotary dimensions: llama.cpp rotates neighbours, Hugging Face rotates halves."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def gpt2_tensors(weights):
    for name, array in weights.items():
        name = name.removeprefix("transformer.")
        if name in GPT2:
            yield GPT2[name], array
            if name == "wte.weight":
                yield "output.weight", array
        elif name.startswith("h."):
            _, block, rest = name.split(".", 2)
            part, kind = rest.rsplit(".", 1)
            if part in GPT2_BLOCK:
                array = array.T if array.ndim == 2 else array
                yield f"blk.{block}.{GPT2_BLOCK[part]}.{kind}", array


def llama_tensors(weights, config):
    heads = {"self_attn.q_proj": config["num_attention_heads"], "self_attn.k_proj": config["num_key_value_heads"]}
    for name, array in weights.items():
        if name in LLAMA:
            yield LLAMA[name], array
        elif name.startswith("model.layers."):
            _, _, block, rest = name.split(".", 3)
            part = rest.removesuffix(".weight")
            if part in heads:
                array = turned(array, heads[part])
            yield f"blk.{block}.{LLAMA_BLOCK[part]}.weight", array


def write(folder, path, dtype):
    config = json.loads((folder / "config.json").read_text())
    weights = {}
    for shard in sorted(folder.glob("*.safetensors")):
        weights.update(load_file(shard))
    is_gpt2 = config["model_type"] == "gpt2"
    writer = gguf.GGUFWriter(path, "gpt2" if is_gpt2 else "llama")
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(config["vocab_size"])
    if is_gpt2:
        writer.add_context_length(config["n_positions"])
        writer.add_embedding_length(config["n_embd"])
        writer.add_feed_forward_length(config.get("n_inner") or 4 * config["n_embd"])
        writer.add_block_count(config["n_layer"])
        writer.add_head_count(config["n_head"])
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    else:
        writer.add_context_length(config["max_position_embeddings"])
        writer.add_embedding_length(config["hidden_size"])
        writer.add_feed_forward_length(config["intermediate_size"])
        writer.add_block_count(config["num_hidden_layers"])
        writer.add_head_count(config["num_attention_heads"])
        writer.add_head_count_kv(config["num_key_value_heads"])
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
        writer.add_rope_freq_base(config.get("rope_theta") or config["rope_parameters"]["rope_theta"])
        writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    for name, array in gpt2_tensors(weights) if is_gpt2 else llama_tensors(weights, config):
        array = np.ascontiguousarray(array.astype(np.float32))
        kind = KINDS.get(dtype)
        if kind is not None and array.ndim == 2 and name != "position_embd.weight":
            writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
