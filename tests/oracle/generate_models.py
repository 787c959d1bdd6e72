"""Draws small models of KerasHub's generative tasks, with random sizes, weights, prompts and samplers, and compares the
tokens of `attn generate` with those of KerasHub.

usage: generate_models.py ATTN [--models N] [--seed S] [--only FAMILY]
       (needs: pip install keras==3.15.1 tensorflow-cpu keras-hub==0.32.0)

Each model is saved as a preset, which attn opens. Prints a line for each difference, and the score at the end.
A sequence may differ if two tokens are equally probable within float32, or if a random number is on a step of a distribution.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")

import keras
import keras_hub
import keras_hub.models as M
import numpy as np

FAMILIES = {}


def family(draw):
    FAMILIES[draw.__name__] = draw
    return draw


def sizes(r, heads=True):
    """Draws sizes that all families have, with a width that the heads divide."""
    count = int(r.choice([2, 4, 6]))
    out = dict(vocabulary_size=int(r.integers(40, 400)), num_layers=int(r.integers(1, 4)),
               hidden_dim=count * int(r.choice([4, 8, 12])), intermediate_dim=int(r.integers(4, 48)) * 2)
    return {**out, "num_heads": count} if heads else (out, count)


def grouped(r, **more):
    out, heads = sizes(r, heads=False)
    keys = int(r.choice([k for k in (1, 2, 3, 4, 6) if heads % k == 0]))
    return {**out, "num_query_heads": heads, "num_key_value_heads": keys, **more}


def maybe(r, value, other=None):
    return value if r.random() < 0.5 else other


@family
def gpt2(r):
    return M.GPT2CausalLM(M.GPT2Backbone(**sizes(r), max_sequence_length=64))


@family
def opt(r):
    return M.OPTCausalLM(M.OPTBackbone(**sizes(r), max_sequence_length=64))


@family
def gpt_neo_x(r):
    percentage = float(r.choice([0.25, 0.5, 1.0]))
    s = sizes(r)
    s["hidden_dim"] = s["num_heads"] * int(r.choice([8, 16]))
    return M.GPTNeoXCausalLM(M.GPTNeoXBackbone(**s, rotary_percentage=percentage, max_sequence_length=64))


@family
def bloom(r):
    return M.BloomCausalLM(M.BloomBackbone(**sizes(r)))


@family
def falcon(r):
    s = sizes(r)
    return M.FalconCausalLM(M.FalconBackbone(num_attention_heads=s.pop("num_heads"), **s))


@family
def llama(r):
    return M.LlamaCausalLM(M.LlamaBackbone(**grouped(r), rope_max_wavelength=int(r.choice([100, 10000]))))


@family
def llama3(r):
    scaling = maybe(r, dict(rope_frequency_adjustment_factor=8.0, rope_low_freq_factor=1.0, rope_high_freq_factor=4.0,
                            rope_pretraining_sequence_length=16), {})
    return M.Llama3CausalLM(M.Llama3Backbone(**grouped(r), **scaling))


@family
def mistral(r):
    return M.MistralCausalLM(M.MistralBackbone(**grouped(r), sliding_window=maybe(r, int(r.integers(2, 12))),
                                               head_dim=maybe(r, 6), rope_scaling_factor=float(r.choice([1, 2]))))


@family
def mixtral(r):
    experts = int(r.integers(2, 7))
    return M.MixtralCausalLM(M.MixtralBackbone(**grouped(r), num_experts=experts, top_k=int(r.integers(1, experts + 1)),
                                               sliding_window=maybe(r, int(r.integers(2, 12)))))


@family
def qwen(r):
    return M.QwenCausalLM(M.QwenBackbone(**grouped(r), tie_word_embeddings=bool(r.random() < 0.5),
                                         use_sliding_window_attention=bool(r.random() < 0.5),
                                         sliding_window_size=int(r.integers(2, 12))))


@family
def qwen3(r):
    return M.Qwen3CausalLM(M.Qwen3Backbone(**grouped(r), head_dim=int(r.choice([4, 10])),
                                           tie_word_embeddings=bool(r.random() < 0.5),
                                           sliding_window_size=maybe(r, int(r.integers(2, 12)))))


def mixture(r):
    experts = int(r.integers(1, 9))
    return dict(num_experts=experts, top_k=int(r.integers(1, experts + 1)), moe_intermediate_dim=int(r.integers(2, 20)),
                norm_top_k_prob=bool(r.random() < 0.5), decoder_sparse_step=int(r.integers(1, 3)),
                mlp_only_layers=[int(x) for x in r.integers(0, 4, int(r.integers(0, 2)))])


@family
def qwen_moe(r):
    return M.QwenMoeCausalLM(M.QwenMoeBackbone(**grouped(r), **mixture(r), tie_word_embeddings=bool(r.random() < 0.5),
                                               shared_expert_intermediate_dim=int(r.integers(2, 20)),
                                               use_sliding_window_attention=bool(r.random() < 0.5),
                                               sliding_window_size=int(r.integers(2, 12))))


@family
def qwen3_moe(r):
    return M.Qwen3MoeCausalLM(M.Qwen3MoeBackbone(**grouped(r), **mixture(r), head_dim=int(r.choice([4, 10])),
                                                 tie_word_embeddings=bool(r.random() < 0.5),
                                                 sliding_window_size=maybe(r, int(r.integers(2, 12)))))


@family
def gpt_oss(r):
    experts = int(r.integers(1, 9))
    return M.GptOssCausalLM(M.GptOssBackbone(**grouped(r), num_experts=experts, top_k=int(r.integers(1, experts + 1)),
                                             head_dim=maybe(r, int(r.choice([4, 7, 10]))), rope_scaling_factor=float(r.choice([1, 32])),
                                             sliding_window=int(r.integers(2, 12))))


@family
def phi3(r):
    s = grouped(r)
    half = s["hidden_dim"] // s["num_query_heads"] // 2
    su = maybe(r, dict(rope_scaling_type="su", rope_scaling_short_factor=[1.0 + 0.05 * i for i in range(half)],
                       rope_scaling_long_factor=[1.0 + 0.5 * i for i in range(half)]), {})
    return M.Phi3CausalLM(M.Phi3Backbone(**s, max_sequence_length=128, pretraining_sequence_length=int(r.integers(4, 30)), **su))


@family
def smollm3(r):
    s = grouped(r)
    layers = s["num_layers"]
    return M.SmolLM3CausalLM(M.SmolLM3Backbone(
        vocabulary_size=s["vocabulary_size"], hidden_dim=s["hidden_dim"], intermediate_dim=s["intermediate_dim"],
        num_layers=layers, num_attention_heads=s["num_query_heads"], num_key_value_heads=s["num_key_value_heads"],
        attention_bias=bool(r.random() < 0.5), attention_dropout=0.0,
        rope_layer_enabled_list=[bool(r.random() < 0.7) for _ in range(layers)],
        layer_types=["full_attention"] * layers, mlp_bias=bool(r.random() < 0.5), layer_norm_epsilon=1e-6,
        max_position_embeddings=128, rope_theta=10000.0, partial_rotary_factor=1.0))


def gemma_extras(r):
    return dict(head_dim=int(r.choice([4, 8])), use_post_ffw_norm=bool(r.random() < 0.5),
                use_post_attention_norm=bool(r.random() < 0.5), attention_logit_soft_cap=maybe(r, 5.0),
                final_logit_soft_cap=maybe(r, 8.0), use_sliding_window_attention=bool(r.random() < 0.5),
                sliding_window_size=int(r.integers(2, 12)))


@family
def gemma(r):
    return M.GemmaCausalLM(M.GemmaBackbone(**grouped(r), **gemma_extras(r)))


@family
def gemma3(r):
    return M.Gemma3CausalLM(preprocessor=None, backbone=M.Gemma3Backbone(
        **grouped(r), **gemma_extras(r), image_size=None, use_query_key_norm=bool(r.random() < 0.5),
        global_rope_scaling_factor=float(r.choice([1, 8]))))


@family
def bart(r):
    return M.BartSeq2SeqLM(M.BartBackbone(**sizes(r), max_sequence_length=64))


@family
def t5(r):
    return M.T5Seq2SeqLM(M.T5Backbone(**sizes(r), key_value_dim=maybe(r, int(r.choice([4, 8]))),
                                      activation=str(r.choice(["relu", "gelu"])),
                                      use_gated_activation=bool(r.random() < 0.5),
                                      tie_embedding_weights=bool(r.random() < 0.5)))


def t5gemma_sizes(r, width):
    count, layers = int(r.choice([2, 4])), int(r.integers(1, 3))
    return dict(hidden_dim=width, intermediate_dim=int(r.integers(4, 40)), num_layers=layers, num_attention_heads=count,
                num_key_value_heads=int(r.choice([1, 2])), head_dim=int(r.choice([4, 6])),
                layer_types=[str(r.choice(["sliding_attention", "full_attention"])) for _ in range(layers)])


def t5gemma_extras(r, encoder, decoder):
    return dict(vocabulary_size=int(r.integers(40, 400)), **{f"encoder_{k}": v for k, v in encoder.items()},
                **{f"decoder_{k}": v for k, v in decoder.items()}, query_pre_attn_scalar=float(r.choice([1, 4, 10])),
                attention_bias=bool(r.random() < 0.5), tie_word_embeddings=bool(r.random() < 0.5),
                sliding_window=int(r.integers(2, 12)), attn_logit_softcapping=maybe(r, 5.0), final_logit_softcapping=maybe(r, 8.0))


@family
def t5gemma(r):
    encoder, decoder = t5gemma_sizes(r, int(r.choice([12, 20]))), t5gemma_sizes(r, int(r.choice([12, 20])))
    return M.T5GemmaSeq2SeqLM(M.T5GemmaBackbone(**t5gemma_extras(r, encoder, decoder)))


@family
def t5gemma2(r):
    width = int(r.choice([12, 20]))
    encoder, decoder = t5gemma_sizes(r, width), t5gemma_sizes(r, width)
    # Both sides' keys share one softmax, and KerasHub's cache has the sizes of the decoder.
    return M.T5Gemma2Seq2SeqLM(M.T5Gemma2Backbone(**t5gemma_extras(r, encoder, decoder), use_query_key_norm=bool(r.random() < 0.7),
                                                  global_rope_scaling_factor=float(r.choice([1, 8])),
                                                  encoder_rope_max_wavelength=maybe(r, 100.0)))


def fill(task, r):
    """Draws weights that give varied text: kernels keep the variance, norms are near 1, biases matter."""
    gemma = "Gemma" in type(task).__name__
    for w in task.weights:
        s, last = w.shape, w.path.split("/")[-1]
        if len(s) == 1:
            x = r.normal(0, 0.2, s) + (1 if last in ("scale", "gamma", "weight") and not gemma else 0)
        elif "embedding" in last:
            x = r.normal(0, 2.6 / np.sqrt(s[0] if last == "reverse_embeddings" else s[-1]), s)
        else:
            fan = s[0]
            if len(s) == 3:
                by_head = gemma and "T5" not in type(task).__name__ and "output" not in w.path
                fan = s[1] if "expert" in w.path or by_head else s[0]
                fan = s[0] * s[1] if "attention_output" in w.path else fan
            x = r.normal(0, 1.6 / np.sqrt(fan), s)
        w.assign(np.asarray(x, "float32"))


def draw_sampler(r, name):
    S = keras_hub.samplers
    seed = int(r.integers(1, 1 << 31))
    temperature = float(r.choice([0.7, 1.0, 1.4]))
    k, beams = int(r.integers(2, 9)), int(r.integers(2, 5))
    p, alpha = round(float(r.uniform(0.3, 0.95)), 3), round(float(r.uniform(0.1, 0.8)), 3)
    words = ["--sampler", name, "--temperature", str(temperature)]
    return {"greedy": lambda: (S.GreedySampler(), ["--sampler", "greedy"]),
            "random": lambda: (S.RandomSampler(seed=seed, temperature=temperature), words + ["--seed", str(seed)]),
            "top_k": lambda: (S.TopKSampler(k=k, seed=seed, temperature=temperature),
                              words + ["--top-k", str(k), "--seed", str(seed)]),
            "top_p": lambda: (S.TopPSampler(p=p, seed=seed, temperature=temperature),
                              words + ["--top-p", str(p), "--seed", str(seed)]),
            "beam": lambda: (S.BeamSampler(num_beams=beams, temperature=temperature), words + ["--num-beams", str(beams)]),
            "contrastive": lambda: (S.ContrastiveSampler(k=k, alpha=alpha, temperature=temperature),
                                    words + ["--top-k", str(k), "--penalty-alpha", str(alpha)])}[name]()


def padded(rows, length):
    ids, mask = np.zeros((len(rows), length), "int32"), np.zeros((len(rows), length), "bool")
    for i, row in enumerate(rows):
        ids[i, :len(row)], mask[i, :len(row)] = row, 1
    return ids, mask


def run(task, preset, attn, r, name):
    """Returns the tokens of both."""
    vocabulary, encodes = task.backbone.vocabulary_size, isinstance(task, M.Seq2SeqLM)
    length, count = int(r.integers(8, 28)), int(r.integers(1, 4))
    prompts = [r.integers(1, vocabulary, int(r.integers(1, length))).tolist() for _ in range(count)]
    stops = [] if r.random() < 0.5 else sorted({int(x) for x in r.integers(1, vocabulary, 2)})
    sampler, words = draw_sampler(r, name)
    ids, mask = padded(prompts, length)
    inputs, lists = {"token_ids": ids, "padding_mask": mask}, [("--ids", row) for row in prompts]
    if encodes:
        read = [r.integers(1, vocabulary, int(r.integers(1, 20))).tolist() for _ in range(count)]
        encoder_ids, encoder_mask = padded(read, 20)
        inputs = {"encoder_token_ids": encoder_ids, "encoder_padding_mask": encoder_mask, "decoder_token_ids": ids,
                  "decoder_padding_mask": mask}
        lists = [("--ids", row) for row in read] + [("--decoder-ids", row) for row in prompts]
    task.compile(sampler=sampler, run_eagerly=True, jit_compile=False)
    step = task.make_generate_function()
    out = step({k: keras.ops.convert_to_tensor(v) for k, v in inputs.items()}, stop_token_ids=stops or None)
    side = "decoder_" if encodes else ""
    tokens, kept = np.asarray(out[side + "token_ids"]), np.asarray(out[side + "padding_mask"])
    hub = [row[:int(m.sum())].tolist() for row, m in zip(tokens, kept)]
    command = [attn, "generate", str(preset), "--max-length", str(length), "--compat", "keras-hub", "--json", *words,
               "--stop-ids", ",".join(map(str, stops)) if stops else "none"]
    for option, row in lists:
        command += [option, ",".join(map(str, row))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return hub, done.stderr.strip()
    return hub, [x["token_ids"] for x in json.loads(done.stdout)["results"]]


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("attn")
    a.add_argument("--models", type=int, default=200)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--only", default="")
    a = a.parse_args()
    names = [n for n in FAMILIES if a.only in n]
    score, total = 0, 0
    by_kind = {}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(a.models):
            r = np.random.default_rng([a.seed, i])
            name = names[i % len(names)]
            keras.backend.clear_session()
            task = FAMILIES[name](r)
            fill(task, r)
            preset = pathlib.Path(folder) / str(i)
            task.save_to_preset(str(preset))
            samplers = ["greedy", "random", "top_k", "top_p", "beam", "contrastive"]
            if name in ("gemma3", "t5gemma", "t5gemma2"):  # KerasHub fails with more rows than prompts
                samplers = samplers[:4]
            for sampler in r.choice(samplers, 2, replace=False):
                hub, ours = run(task, preset, a.attn, r, str(sampler))
                kind = by_kind.setdefault(str(sampler), [0, 0])
                total, kind[1] = total + 1, kind[1] + 1
                if hub == ours:
                    score, kind[0] = score + 1, kind[0] + 1
                else:
                    print(f"model {i} ({name}), {sampler}:\n  KerasHub {hub}\n  attn     {ours}", flush=True)
            subprocess.run(["rm", "-r", str(preset)], check=True)
    print(f"{score} of {total} runs of {a.models} models are equal;",
          ", ".join(f"{k} {v[0]} of {v[1]}" for k, v in sorted(by_kind.items())))
