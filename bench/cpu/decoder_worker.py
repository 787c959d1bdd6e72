"""Runs one runtime with one decoder in a process that stays loaded, and measures prefills and decode steps on request.

usage: decoder_worker.py RUNTIME DTYPE FOLDER THREADS [first]

FOLDER was prepared by decoders.py: hf/, a Hugging Face folder, and about.json. With `first` it generates one token and ends.
Otherwise it prints a line of JSON when it is ready, with the ids of the greedy continuation of about.json's prompt. For each
line of JSON on stdin, {"test": "pp" or "tg", "tokens": N, "depth": D, "batch": B}, it prints one with the milliseconds of
prefilling N tokens, or of N decode steps at depth D; at the end one with its peak memory. transformers also answers
{"test": "gaps", "prompt": ids, "ids": ids} with the difference of each token's logit to the largest one, relative to the
largest logit.
"""
import json
import os
import pathlib
import sys
import time

RUNTIME, DTYPE, FOLDER, THREADS = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(THREADS)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import numpy as np  # noqa: E402

from serving import serve  # noqa: E402

ABOUT = json.loads((FOLDER / "about.json").read_text())
VOCABULARY = ABOUT["vocabulary"]


def random_ids(batch, count):
    """The interface of every runtime."""
    return np.random.default_rng(1).integers(0, VOCABULARY, (batch, count)).tolist()


class Torch:
    """transformers with its own KV cache."""

    def __init__(self):
        import torch
        import transformers

        torch.set_num_threads(THREADS)
        transformers.logging.set_verbosity_error()
        self.torch = torch
        if DTYPE not in ("float32", "bfloat16"):
            raise SystemExit("no kernels of its own for CPUs in this dtype")
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            FOLDER / "hf", dtype={"float32": torch.float32, "bfloat16": torch.bfloat16}[DTYPE]).eval()

    def read(self, ids, cache=None):
        with self.torch.inference_mode():
            return self.model(self.torch.tensor(ids), past_key_values=cache, use_cache=True, logits_to_keep=1)

    def prompt(self, ids):
        self.read(ids).logits.float().numpy()

    def go_on(self, ids, count):
        """Returns the new ids of each row, and the seconds after the first token."""
        out = self.read(ids)
        new = [out.logits[:, -1].argmax(-1)]
        start = time.perf_counter()
        for _ in range(count):
            out = self.read(new[-1][:, None].tolist(), out.past_key_values)
            new.append(out.logits[:, -1].argmax(-1))
        return self.torch.stack(new, 1).tolist(), time.perf_counter() - start

    def gaps(self, prompt, ids):
        with self.torch.inference_mode():
            logits = self.model(self.torch.tensor([prompt + ids])).logits[0, len(prompt) - 1:-1].double()
        taken = logits.gather(-1, self.torch.tensor(ids)[:, None])[:, 0]
        return ((logits.max(-1).values - taken) / logits.abs().max(-1).values).tolist()


class CompiledTorch(Torch):
    """The same through torch.compile, with a static cache, as transformers compiles it."""

    def __init__(self):
        super().__init__()
        self.plain, self.compiled = self.model, self.torch.compile(self.model, dynamic=False)
        self.kept = {}

    def cache(self, rows, length):
        from transformers import StaticCache

        size = 64 * -(-length // 64)
        if (rows, size) not in self.kept:
            self.kept[rows, size] = StaticCache(config=self.plain.config, max_cache_len=size)
        with self.torch.inference_mode():
            self.kept[rows, size].reset()
        return self.kept[rows, size]

    def prompt(self, ids):
        self.model = self.plain
        self.read(ids, self.cache(len(ids), len(ids[0]))).logits.float().numpy()

    def go_on(self, ids, count):
        self.model = self.plain
        cache = self.cache(len(ids), len(ids[0]) + count + 1)
        new = [self.read(ids, cache).logits[:, -1].argmax(-1)]
        self.model = self.compiled
        start = time.perf_counter()
        for _ in range(count):
            new.append(self.read(new[-1][:, None].tolist(), cache).logits[:, -1].argmax(-1))
        seconds = time.perf_counter() - start
        return self.torch.stack(new, 1).tolist(), seconds


class CTranslate2:
    def __init__(self):
        import ctranslate2

        if DTYPE == "int4":
            raise SystemExit("no CPU kernels in this dtype")
        path, kind = FOLDER / f"ct2_{DTYPE}", "int8_float32" if DTYPE == "int8" else DTYPE
        if not path.exists():
            converter = ctranslate2.converters.TransformersConverter(str(FOLDER / "hf"))
            converter.convert(str(path), quantization=kind)
        self.generator = ctranslate2.Generator(str(path), device="cpu", compute_type=kind, intra_threads=THREADS,
                                               inter_threads=1)

    def prompt(self, ids):
        self.generator.forward_batch([[f"t{i}" for i in row] for row in ids], return_log_probs=False)

    def go_on(self, ids, count):
        rows, times = [[] for _ in ids], []

        def keep(step):
            rows[step.batch_id].append(step.token_id)
            times.append(time.perf_counter())
            return False

        # A callback works for one sequence at a time; with several sequences only the total is timed, minus the prompt.
        tokens = [[f"t{i}" for i in row] for row in ids]
        options = {"beam_size": 1, "sampling_topk": 1, "include_prompt_in_result": False, "end_token": [],
                   "max_batch_size": len(ids)}
        if len(ids) == 1:
            self.generator.generate_batch(tokens, max_length=count + 1, min_length=count + 1, callback=keep, **options)
            return rows, times[-1] - times[0]
        seconds = []
        for length in (1, count + 1):
            start = time.perf_counter()
            results = self.generator.generate_batch(tokens, max_length=length, min_length=length, **options)
            seconds.append(time.perf_counter() - start)
        return [result.sequences_ids[0] for result in results], seconds[1] - seconds[0]


class LlamaCpp:
    def __init__(self):
        import llama_cpp

        import gguf_file

        path = FOLDER / f"{DTYPE}.gguf"
        if not path.exists():
            gguf_file.write(FOLDER / "hf", path, DTYPE)
        self.cpp = llama_cpp
        parameters = llama_cpp.llama_model_default_params()
        parameters.n_gpu_layers = 0
        self.model = llama_cpp.llama_load_model_from_file(str(path).encode(), parameters)
        if not self.model:
            raise SystemExit("llama.cpp does not load the file")
        self.context, self.contexts = None, {}

    def context_for(self, batch, length):
        if (batch, length) not in self.contexts:
            parameters = self.cpp.llama_context_default_params()
            parameters.n_ctx = batch * length
            parameters.n_batch = parameters.n_ubatch = max(512, batch)
            parameters.n_seq_max = batch
            parameters.n_threads = parameters.n_threads_batch = THREADS
            parameters.type_k = parameters.type_v = 0  # float32
            self.contexts[batch, length] = self.cpp.llama_new_context_with_model(self.model, parameters)
        self.context = self.contexts[batch, length]
        self.cpp.llama_memory_clear(self.cpp.llama_get_memory(self.context), True)

    def read(self, ids, position):
        """Prefills each row's tokens in chunks of 512, and returns the logits of the last ones."""
        rows, count = len(ids), len(ids[0])
        each = max(1, 512 // rows)
        for first in range(0, count, each):
            part = [row[first:first + each] for row in ids]
            batch = self.cpp.llama_batch_init(rows * len(part[0]), 0, 1)
            n = 0
            wanted = []
            for r, row in enumerate(part):
                for t, token in enumerate(row):
                    batch.token[n], batch.pos[n], batch.n_seq_id[n] = token, position + first + t, 1
                    batch.seq_id[n][0] = r
                    batch.logits[n] = first + t + 1 == count
                    if batch.logits[n]:
                        wanted.append(n)
                    n += 1
            batch.n_tokens = n
            if self.cpp.llama_decode(self.context, batch):
                raise SystemExit("llama.cpp does not take the batch")
            last = [np.ctypeslib.as_array(self.cpp.llama_get_logits_ith(self.context, i), (VOCABULARY,)) for i in wanted]
            chosen = [int(logits.argmax()) for logits in last]
            self.cpp.llama_batch_free(batch)
        return chosen

    def prompt(self, ids):
        self.context_for(len(ids), len(ids[0]))
        self.read(ids, 0)

    def go_on(self, ids, count):
        length = len(ids[0])
        self.context_for(len(ids), length + count + 1)
        new = [self.read(ids, 0)]
        start = time.perf_counter()
        for i in range(count):
            new.append(self.read([[token] for token in new[-1]], length + i))
        return [list(row) for row in zip(*new)], time.perf_counter() - start


class OpenVino:
    """OpenVINO through optimum-intel's export, with the cache as a state of the model."""

    def __init__(self):
        import openvino as ov
        from optimum.intel import OVModelForCausalLM, OVWeightQuantizationConfig

        hint = "bf16" if DTYPE == "bfloat16" else "f32"
        config = {"INFERENCE_PRECISION_HINT": hint, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
                  "INFERENCE_NUM_THREADS": str(THREADS), "KV_CACHE_PRECISION": hint}
        bits = {"int8": 8, "int4": 4}.get(DTYPE)
        if not bits:
            config["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"
        path = FOLDER / f"openvino_{bits or 32}"
        if not path.exists():
            how = {"quantization_config": OVWeightQuantizationConfig(bits=bits)} if bits else {"load_in_8bit": False}
            OVModelForCausalLM.from_pretrained(FOLDER / "hf", export=True, compile=False, **how).save_pretrained(path)
        compiled = ov.Core().compile_model(path / "openvino_model.xml", "CPU", config)
        self.request = compiled.create_infer_request()
        self.names = {name for value in compiled.inputs for name in value.names}

    def read(self, ids, position):
        ids = np.asarray(ids, np.int64)
        rows, count = ids.shape
        feed = {"input_ids": ids, "attention_mask": np.ones((rows, position + count), np.int64),
                "position_ids": np.tile(np.arange(position, position + count), (rows, 1)),
                "beam_idx": np.arange(rows, dtype=np.int32)}
        self.request.infer({name: value for name, value in feed.items() if name in self.names})
        return self.request.get_tensor("logits").data[:, -1].argmax(-1).tolist()

    def prompt(self, ids):
        self.request.reset_state()
        self.read(ids, 0)

    def go_on(self, ids, count):
        self.request.reset_state()
        new = [self.read(ids, 0)]
        start = time.perf_counter()
        for i in range(count):
            new.append(self.read([[token] for token in new[-1]], len(ids[0]) + i))
        return [list(row) for row in zip(*new)], time.perf_counter() - start


class OnnxGenai:
    """ONNX Runtime GenAI; its builder supports some model families."""

    def __init__(self):
        import onnxruntime_genai as og
        from onnxruntime_genai.models import builder

        if DTYPE == "bfloat16":
            raise SystemExit("its builder has no CPU model in this dtype")
        path = FOLDER / f"onnx_{DTYPE}"
        if not path.exists():
            words = [None, str(FOLDER / "hf"), str(path), "fp32" if DTYPE == "float32" else DTYPE, "cpu", str(FOLDER / "cache")]
            builder.create_model(*words, **builder.parse_extra_options(*words, []))
        config = og.Config(str(path))
        self.og, self.model = og, og.Model(config)

    def start(self, ids, more):
        parameters = self.og.GeneratorParams(self.model)
        parameters.set_search_options(do_sample=False, max_length=len(ids[0]) + more, batch_size=len(ids))
        generator = self.og.Generator(self.model, parameters)
        generator.append_tokens(np.asarray(ids, np.int32))
        return generator

    def prompt(self, ids):
        self.start(ids, 1).generate_next_token()

    def go_on(self, ids, count):
        generator = self.start(ids, count + 1)
        generator.generate_next_token()
        start = time.perf_counter()
        for _ in range(count):
            generator.generate_next_token()
        seconds = time.perf_counter() - start
        return [generator.get_sequence(i)[len(ids[0]):].tolist() for i in range(len(ids))], seconds


class KerasHub:
    def __init__(self):
        import keras
        import keras_hub
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(THREADS)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        is_quantized = DTYPE in ("int8", "int4")
        policy = "float32" if is_quantized else DTYPE
        keras.config.set_dtype_policy(policy)
        self.model = keras_hub.models.CausalLM.from_preset(str(FOLDER / "hf"), preprocessor=None, dtype=policy)
        if is_quantized:
            self.model.quantize(DTYPE)
        self.model.compile(sampler="greedy")

    def whole(self, ids, length):
        start = time.perf_counter()
        tokens, mask = (np.zeros((len(ids), length), np.int32) for _ in range(2))
        tokens[:, :len(ids[0])], mask[:, :len(ids[0])] = ids, 1
        out = self.model.generate({"token_ids": tokens, "padding_mask": mask}, stop_token_ids=None)
        return np.asarray(out["token_ids"])[:, len(ids[0]):].tolist(), time.perf_counter() - start

    def prompt(self, ids):
        self.whole(ids, len(ids[0]) + 1)

    def go_on(self, ids, count):
        _, first = self.whole(ids, len(ids[0]) + 1)
        new, all_of_them = self.whole(ids, len(ids[0]) + count + 1)
        return new, all_of_them - first


RUNTIMES = {"transformers": Torch, "transformers-compiled": CompiledTorch, "ctranslate2": CTranslate2, "llama.cpp": LlamaCpp, "openvino": OpenVino,
            "onnxruntime-genai": OnnxGenai, "keras-hub": KerasHub}


def start():
    runtime = RUNTIMES[RUNTIME]()

    def answer(line):
        test = json.loads(line)
        if test["test"] == "gaps":
            return {"gaps": runtime.gaps(test["prompt"], test["ids"])}
        if test["test"] == "pp":
            ids = random_ids(test["batch"], test["tokens"])
            begin = time.perf_counter()
            runtime.prompt(ids)
            seconds = time.perf_counter() - begin
        else:
            seconds = runtime.go_on(random_ids(test["batch"], test["depth"]), test["tokens"])[1]
        return {"ms": 1e3 * seconds}
    new_tokens = 1 if "first" in sys.argv[5:] else ABOUT["new_tokens"]
    return {"ids": runtime.go_on(ABOUT["prompt"], new_tokens - 1)[0]}, answer


if __name__ == "__main__":
    serve(start)
