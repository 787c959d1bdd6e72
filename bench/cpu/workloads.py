"""The measured workloads: models for attn and Keras, their batch, and the equivalent in PyTorch."""


def encoder(length, width, layers, heads, inner, activation, batch=1):
    config = {"name": "encoder", "input_shape": [length, width], "num_layers": layers, "num_heads": heads,
              "key_dim": width // heads, "intermediate_dim": inner, "activation": activation, "layer_norm_epsilon": 1e-6}
    return {"model": config, "batch": batch, "torch": "encoder"}


def attention(scores):
    """A single MultiHeadAttention(8, 64) on (32, 10, 128)."""
    tensor = {"class_name": "__keras_tensor__",
              "config": {"shape": [None, 10, 128], "dtype": "float32", "keras_history": ["x", 0, 0]}}
    layers = [{"module": "keras.layers", "class_name": "InputLayer", "name": "x", "registered_name": None,
               "config": {"batch_shape": [None, 10, 128], "dtype": "float32", "name": "x"}, "inbound_nodes": []},
              {"module": "keras.layers", "class_name": "MultiHeadAttention", "name": "multi_head_attention",
               "registered_name": None,
               "config": {"name": "multi_head_attention", "num_heads": 8, "key_dim": 64},
               "inbound_nodes": [{"args": [tensor, tensor],
                                  "kwargs": {"return_attention_scores": True} if scores else {}}]}]
    outputs = [["multi_head_attention", 0, i] for i in range(2 if scores else 1)]
    model = {"module": "keras.src.models.functional", "class_name": "Functional", "registered_name": "Functional",
             "config": {"name": "attention", "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": outputs}}
    return {"model": model, "batch": 32, "torch": "attention_scores" if scores else "attention"}


def gpt2(layers, width, heads, vocabulary, batch, length):
    """KerasHub's GPT-2 with its logits."""
    backbone = {"module": "keras_hub.src.models.gpt2.gpt2_backbone", "class_name": "GPT2Backbone",
                "registered_name": "keras_hub>GPT2Backbone",
                "config": {"name": "gpt2_backbone", "trainable": True, "vocabulary_size": vocabulary,
                           "num_layers": layers, "num_heads": heads, "hidden_dim": width, "intermediate_dim": 4 * width,
                           "dropout": 0.0, "max_sequence_length": 1024}}
    model = {"module": "keras_hub.src.models.gpt2.gpt2_causal_lm", "class_name": "GPT2CausalLM",
             "registered_name": "keras_hub>GPT2CausalLM",
             "config": {"backbone": backbone, "preprocessor": None, "name": "gpt2_causal_lm"}}
    return {"model": model, "batch": batch, "length": length, "torch": "gpt2"}


WORKLOADS = {
    "tiny": encoder(16, 64, 2, 4, 128, "relu"),
    "seed_b1": encoder(50, 512, 6, 8, 2048, "relu"),
    "seed_b32": encoder(50, 512, 6, 8, 2048, "relu", batch=32),
    "base_b1_s128": encoder(128, 768, 12, 12, 3072, "gelu"),
    "base_b8_s128": encoder(128, 768, 12, 12, 3072, "gelu", batch=8),
    "base_b1_s512": encoder(512, 768, 12, 12, 3072, "gelu"),
    "long_4096": encoder(4096, 512, 1, 8, 2048, "relu"),
    "long_16384": encoder(16384, 512, 1, 8, 2048, "relu"),
    "attention": attention(scores=False),
    "attention_scores": attention(scores=True),
    "lstm_attention": {"model": "configs/lstm_attention.json", "batch": 32, "torch": "lstm_attention"},
    "vit_b16": {"model": "configs/vit_base.json", "batch": 1, "torch": "vit"},
}
