"""Compares attn with random small models of transformers, in both directions.

    python tests/oracle/check_transformers.py ATTN [--models 3] [--seed 1] [--only FAMILY] [--keep FOLDER]
    (needs: pip install torch transformers; families that this release of transformers lacks are skipped)

save_pretrained saves each model in one or several files, with random biases, sizes and options. attn's logits for random
tokens must agree with those of transformers within 1e-4 of the largest. Then attn writes the model to a folder, by `convert
--to hf` in several files, and by way of a preset. The library must load both without a missing or superfluous array, and
its logits must agree. With --keep the folders stay, each with the inputs and logits in io.npz.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import numpy as np
import torch
import transformers

transformers.utils.logging.disable_progress_bar()

FAMILIES = {}


def family(make):
    FAMILIES[make.__name__] = make
    return make


def config(name, **values):
    return getattr(transformers, name + "Config")(**values)


def sizes(r):
    heads = int(r.choice([2, 4, 6]))
    return {"vocab_size": int(r.integers(40, 200)), "hidden_size": heads * int(r.choice([4, 8])), "num_hidden_layers": int(r.integers(1, 4)),
            "num_attention_heads": heads}


def grouped(r, **more):
    out = sizes(r)
    keys = int(r.choice([k for k in (1, 2, 3, 4, 6) if out["num_attention_heads"] % k == 0]))
    return {**out, "num_key_value_heads": keys, "intermediate_size": int(r.integers(8, 60)), "pad_token_id": 0, "bos_token_id": 1,
            "eos_token_id": 2, "max_position_embeddings": 64, **more}


def yes(r):
    return bool(r.random() < 0.5)


@family
def gpt2(r):
    s = sizes(r)
    return config("GPT2", vocab_size=s["vocab_size"], n_positions=64, n_embd=s["hidden_size"], n_layer=s["num_hidden_layers"],
                  n_head=s["num_attention_heads"], n_inner=int(r.integers(8, 60)) if yes(r) else None)


@family
def gpt_neox(r):
    s = sizes(r)
    s["hidden_size"] = s["num_attention_heads"] * 8
    return config("GPTNeoX", **s, intermediate_size=int(r.integers(8, 60)), max_position_embeddings=64, rotary_pct=float(r.choice([0.25, 0.5, 1.0])),
                  rotary_emb_base=int(r.choice([100, 10000])), tie_word_embeddings=yes(r), hidden_act=str(r.choice(["gelu", "gelu_new"])))


@family
def bloom(r):
    s = sizes(r)
    return config("Bloom", vocab_size=s["vocab_size"], hidden_size=s["hidden_size"], n_layer=s["num_hidden_layers"], n_head=s["num_attention_heads"])


@family
def falcon(r):
    s = sizes(r)
    s["num_attention_heads"], s["hidden_size"] = 4, 4 * int(r.choice([4, 8]))  # transformers does not round its slopes
    return config("Falcon", **s, alibi=True, multi_query=False, parallel_attn=False, bias=True, new_decoder_architecture=False,
                  ffn_hidden_size=int(r.integers(8, 80)))


@family
def t5(r):
    s = sizes(r)
    return config("T5", vocab_size=s["vocab_size"], d_model=s["hidden_size"], d_kv=int(r.choice([4, 6])), d_ff=int(r.integers(8, 60)),
                  num_layers=s["num_hidden_layers"], num_heads=s["num_attention_heads"], decoder_start_token_id=0, tie_word_embeddings=yes(r),
                  feed_forward_proj=str(r.choice(["relu", "gated-gelu", "gated-silu", "gelu"])))


@family
def opt(r):
    s = sizes(r)
    return config("OPT", **s, ffn_dim=int(r.integers(8, 60)), max_position_embeddings=64, word_embed_proj_dim=s["hidden_size"])


@family
def bart(r):
    s = sizes(r)
    heads, inner, layers = s["num_attention_heads"], int(r.integers(8, 60)), s["num_hidden_layers"]
    return config("Bart", vocab_size=s["vocab_size"], d_model=s["hidden_size"], encoder_layers=layers, decoder_layers=layers,
                  encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=inner, decoder_ffn_dim=inner,
                  max_position_embeddings=64)


@family
def llama(r):
    return config("Llama", **grouped(r), rms_norm_eps=float(r.choice([1e-5, 1e-6])), tie_word_embeddings=yes(r))


@family
def mistral(r):
    return config("Mistral", **grouped(r), sliding_window=int(r.integers(3, 9)), head_dim=6)


@family
def mixtral(r):
    sizes_of_four = {**grouped(r), "intermediate_size": 4 * int(r.integers(2, 15))}  # required by PyTorch's grouped products
    return config("Mixtral", **sizes_of_four, num_local_experts=int(r.integers(2, 5)), num_experts_per_tok=2, sliding_window=None)


@family
def qwen2(r):
    return config("Qwen2", **grouped(r), tie_word_embeddings=yes(r))


@family
def qwen3(r):
    return config("Qwen3", **grouped(r), head_dim=6, tie_word_embeddings=yes(r))


def mixture(r):
    experts = int(r.integers(2, 7))
    return dict(num_experts=experts, num_experts_per_tok=int(r.integers(1, experts + 1)), moe_intermediate_size=4 * int(r.integers(1, 8)),
                norm_topk_prob=yes(r))


@family
def qwen2_moe(r):
    return config("Qwen2Moe", **{**grouped(r), "hidden_size": 24, "num_attention_heads": 4, "num_key_value_heads": 2}, **mixture(r),
                  shared_expert_intermediate_size=int(r.integers(2, 30)))


@family
def qwen3_moe(r):
    return config("Qwen3Moe", **grouped(r), **mixture(r), head_dim=6, tie_word_embeddings=yes(r), decoder_sparse_step=int(r.integers(1, 3)),
                  mlp_only_layers=[int(r.integers(0, 3))] if yes(r) else [])


@family
def phi3(r):
    return config("Phi3", **grouped(r), original_max_position_embeddings=64)


@family
def smollm3(r):
    return config("SmolLM3", **grouped(r), attention_bias=False, mlp_bias=yes(r), no_rope_layer_interval=2)


@family
def gemma(r):
    return config("Gemma", **grouped(r), head_dim=8)


@family
def gemma2(r):
    return config("Gemma2", **grouped(r), head_dim=8, query_pre_attn_scalar=8, sliding_window=int(r.integers(3, 9)))


@family
def gemma3_text(r):
    return config("Gemma3Text", **grouped(r), head_dim=8, query_pre_attn_scalar=8, sliding_window=int(r.integers(3, 9)))


@family
def esm(r):
    s = sizes(r)
    return config("Esm", **s, intermediate_size=int(r.integers(8, 60)), max_position_embeddings=64, position_embedding_type="rotary",
                  emb_layer_norm_before=yes(r), token_dropout=False, pad_token_id=1, mask_token_id=2, layer_norm_eps=float(r.choice([1e-5, 1e-12])))


def encoder(r, **more):
    return {**sizes(r), "intermediate_size": int(r.integers(8, 60)), "max_position_embeddings": 64, **more}


@family
def bert(r):
    return config("Bert", **encoder(r), hidden_act=str(r.choice(["gelu", "gelu_new"])))


@family
def roberta(r):
    return config("Roberta", **encoder(r), pad_token_id=1, type_vocab_size=int(r.choice([1, 2])), layer_norm_eps=1e-5)


@family
def xlm_roberta(r):
    return config("XLMRoberta", **encoder(r), pad_token_id=1, type_vocab_size=1, layer_norm_eps=1e-5)


@family
def distilbert(r):
    s = sizes(r)
    return config("DistilBert", vocab_size=s["vocab_size"], dim=s["hidden_size"], n_layers=s["num_hidden_layers"],
                  n_heads=s["num_attention_heads"], hidden_dim=int(r.integers(8, 60)), max_position_embeddings=64)


@family
def albert(r):
    groups = int(r.integers(1, 3))
    return config("Albert", **{**encoder(r), "num_hidden_layers": groups * int(r.integers(1, 3))}, num_hidden_groups=groups,
                  embedding_size=int(r.integers(16, 40)), hidden_act=str(r.choice(["gelu", "gelu_new"])))


@family
def electra(r):
    return config("Electra", **encoder(r), embedding_size=int(r.integers(4, 20)), hidden_act=str(r.choice(["gelu", "gelu_new"])))


MASKED = ("esm", "bert", "roberta", "xlm-roberta", "distilbert", "albert")  # with the head of a masked-language model
SEGMENTED = ("bert", "albert", "electra")


def auto(path_or_config):
    if path_or_config.model_type in MASKED:
        return transformers.AutoModelForMaskedLM
    if path_or_config.model_type == "electra":
        return transformers.AutoModel
    seq2seq = getattr(path_or_config, "is_encoder_decoder", False)
    return transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM


def attention_of(model_type):
    """Selects an attention implementation: PyTorch's own, the default of some releases, ignores soft caps."""
    return {"attn_implementation": "eager"} if model_type == "gemma2" else {}


def fill(model, r):
    """Draws weights that affect the result: kernels keep the variance, norms are near 1, biases are not 0."""
    around_zero = "Gemma" in type(model).__name__  # its norms are stored minus 1
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.from_numpy(r.standard_normal(tuple(parameter.shape)).astype("float32"))
            if parameter.ndim == 1:
                parameter.copy_(0.2 * drawn + (1.0 if name.endswith("weight") and not around_zero else 0.0))
            else:
                parameter.copy_(1.5 * drawn / np.sqrt(parameter.shape[-1]))
    model.tie_weights()
    return model.eval()


def logits(model, tokens):
    names = {"token_ids": "input_ids", "encoder_token_ids": "input_ids", "decoder_token_ids": "decoder_input_ids"}
    given = {names[name]: torch.from_numpy(array).long() for name, array in tokens.items()}
    if model.config.model_type == "falcon":  # without it some releases add the linear biases twice
        given["head_mask"] = torch.ones(model.config.num_hidden_layers, model.config.num_attention_heads)
    encodes = model.config.model_type in (*MASKED, "electra")
    with torch.no_grad():
        result = model(**given, **({} if encodes else {"use_cache": False}))
    return (result.last_hidden_state if model.config.model_type == "electra" else result.logits).numpy()


def attn(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


def inputs_of(model_type, tokens):
    """Returns the inputs of attn's model for tokens without padding; masked-language models predict every position."""
    given = dict(tokens)
    for name, array in tokens.items():
        if model_type in MASKED:
            given["mask_positions"] = np.tile(np.arange(array.shape[1], dtype="int32"), (len(array), 1))
        if model_type in SEGMENTED:
            given["segment_ids"] = np.zeros_like(array)
        if model_type != "esm":
            given[name.replace("token_ids", "padding_mask")] = np.ones_like(array)
    return given


def by_attn(program, folder, model_type, tokens, place):
    np.savez(place / "in.npz", **inputs_of(model_type, tokens))
    attn(program, "run", folder, "--input", place / "in.npz", "-o", place / "out.npz", "--quiet")
    found = np.load(place / "out.npz")
    return found["sequence_output"] if "sequence_output" in found else next(iter(found.values()))


def by_transformers(kind, folder, tokens):
    name = transformers.AutoConfig.from_pretrained(folder).model_type
    model, report = kind.from_pretrained(folder, output_loading_info=True, **attention_of(name))
    unused = ("contact_head", "pooler", "inv_freq")  # the logits do not depend on them, or they are computed
    missing, unknown = ([key for key in report[kind] if not any(name in key for name in unused)]
                        for kind in ("missing_keys", "unexpected_keys"))
    if missing or unknown or report["mismatched_keys"]:
        raise RuntimeError(f"transformers misses {missing} and does not know {unknown}")
    return logits(model.eval(), tokens)


def check(program, made, r, place):
    """Returns the largest difference of each direction, relative to the largest logit."""
    model = fill(auto(made).from_config(made, **attention_of(made.model_type)), r)
    hf = place / "hf"
    model.save_pretrained(hf, max_shard_size="20KB" if yes(r) else "5GB")
    draw = lambda length: r.integers(3, made.vocab_size, (2, length)).astype("int32")
    tokens = {"encoder_token_ids": draw(12), "decoder_token_ids": draw(9)} if made.is_encoder_decoder else {"token_ids": draw(14)}
    expected = logits(model, tokens)
    np.savez(place / "io.npz", y=expected, **inputs_of(made.model_type, tokens))
    error = lambda found: float(np.abs(found - expected).max() / np.abs(expected).max())
    errors = {"read": error(by_attn(program, hf, made.model_type, tokens, place))}
    attn(program, "convert", hf, place / "again", "--to", "hf", "--max-shard-size", "30KB", "--quiet")
    errors["written"] = error(by_transformers(auto(made), place / "again", tokens))
    attn(program, "convert", hf, place / "preset", "--to", "preset", "--quiet")
    attn(program, "convert", place / "preset", place / "back", "--to", "hf", "--quiet")
    errors["by way of a preset"] = error(by_transformers(auto(made), place / "back", tokens))
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attn")
    parser.add_argument("--models", type=int, default=3, help="of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    wrong = total = 0
    for name, make in FAMILIES.items():
        if options.only not in name:
            continue
        for i in range(options.models):
            r = np.random.default_rng([options.seed, i, *name.encode()])
            torch.manual_seed(i)
            try:
                made = make(r)
            except AttributeError:
                print(f"{name:14} is not in transformers {transformers.__version__}")
                break
            with tempfile.TemporaryDirectory() as place:
                place = options.keep / f"{name}_{i}" if options.keep else pathlib.Path(place)
                place.mkdir(parents=True, exist_ok=True)
                total += 1
                try:
                    errors = check(options.attn, made, r, place)
                    good = max(errors.values()) < 1e-4
                    print(f"{name:14} {'ok' if good else 'WRONG'} " + ", ".join(f"{way} {error:.1e}" for way, error in errors.items()))
                except Exception as problem:
                    good = False
                    print(f"{name:14} FAILED {type(problem).__name__}: {str(problem)[:400]}")
                wrong += not good
    print(f"{total - wrong} of {total} models are equal")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
