"""Runs one runtime with one workload in a process that stays loaded, and measures passes on request.

usage: worker.py RUNTIME DTYPE FOLDER THREADS

FOLDER was prepared by peers.py: model.json (Keras), weights.safetensors, weights.weights.h5, input.npy, about.json; for int8
also int8.keras, which Keras reads. The others quantize by their own tools.
Prints a line of JSON when it is ready, with the path of its outputs (.npz). For each line SECONDS on stdin, it prints one with the
milliseconds of the passes in this time; at the end one with its peak memory.
"""
import json
import os
import sys
import time

BEGAN = time.perf_counter()
RUNTIME, DTYPE, FOLDER, THREADS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(THREADS)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import numpy as np  # noqa: E402

from serving import passes, serve  # noqa: E402

ABOUT = json.load(open(os.path.join(FOLDER, "about.json")))
X = np.load(os.path.join(FOLDER, "input.npy"))


def path(name):
    return os.path.join(FOLDER, name)


def torch_module(kind=None):
    import torch
    from safetensors.numpy import load_file

    import torch_models

    torch.set_num_threads(THREADS)
    weights = load_file(path("weights.safetensors"))
    if kind == "fast":
        return torch_models.fast_encoder(weights, ABOUT["model"])
    if kind == "plain":
        return torch_models.Encoder(weights, ABOUT["model"], plain=True).eval()
    return torch_models.make(ABOUT["torch"], weights, ABOUT["model"]).eval()


def torch_int8(module):
    """Quantizes dense maps by torch's dynamic quantization: weights by column, rows at run time."""
    import torch

    class Dynamic(torch.nn.Module):
        def __init__(self, weight, bias):
            super().__init__()
            linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
            linear.weight, linear.bias = torch.nn.Parameter(weight.detach()), torch.nn.Parameter(bias.detach())
            self.inner = torch.nn.Sequential(linear)

        def forward(self, x):
            return self.inner(x)

    import torch_models

    kinds = torch.ao.quantization
    qconfig = kinds.per_channel_dynamic_qconfig
    quantized = [0]

    def made(weight, bias):
        quantized[0] += 1
        return kinds.quantize_dynamic(Dynamic(weight, bias), {torch.nn.Linear: qconfig})

    for part in module.modules():
        for name, child in list(part.named_children()):
            if isinstance(child, torch_models.Dense):
                setattr(part, name, made(child.weight, child.bias))
        if isinstance(part, torch_models.Attention) and part.parts is None:
            part.packed = made(part.weight, part.bias)
    if not quantized[0]:
        raise SystemExit("it has no dense map that torch quantizes")
    return module


def torch_runtime(kind):
    import torch

    if kind == "fast" and ABOUT["torch"] != "encoder":
        raise SystemExit("nn.TransformerEncoder does not express it")
    if kind and DTYPE == "int8":
        raise SystemExit("dynamic quantization is of modules as they are")
    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float64": torch.float64}.get(DTYPE, torch.float32)
    module = torch_module(kind).to(dtype)
    if DTYPE == "int8":
        module = torch_int8(module)
    x = torch.from_numpy(X).to(dtype)
    if kind == "compile":
        import torch._inductor.config as inductor
        inductor.freezing = True  # packs the weights ahead
        module = torch.compile(module)
    guard = torch.no_grad if kind == "compile" else torch.inference_mode

    def run():
        with guard():
            return module(x)
    return run, lambda outputs: [y.float().numpy() for y in (outputs if isinstance(outputs, tuple) else (outputs,))]


def onnx_file(kind=None):
    import torch

    name = path(f"{kind or 'model'}.onnx")
    if not os.path.exists(name):
        with torch.no_grad():
            torch.onnx.export(torch_module(kind), (torch.from_numpy(X),), name + ".new", input_names=["x"], opset_version=18,
                              dynamo=False)
        os.replace(name + ".new", name)
    return name


def fused_onnx_file():
    """Uses ONNX Runtime's optimizer for transformers."""
    from onnxruntime.transformers import optimizer

    name = path("fused.onnx")
    if not os.path.exists(name):
        config = ABOUT["model"]
        if ABOUT["torch"] != "encoder":
            raise SystemExit("the optimizer has no fusion for it")
        fused = optimizer.optimize_model(onnx_file("plain"), model_type="bert", num_heads=config["num_heads"],
                                         hidden_size=config["input_shape"][1])
        if not any(node.op_type in ("Attention", "MultiHeadAttention") for node in fused.model.graph.node):
            raise SystemExit("the optimizer fused no attention")
        fused.save_model_to_file(name + ".new", use_external_data_format=False)
        os.replace(name + ".new", name)
    return name


def int8_onnx_file(source):
    """Uses ONNX Runtime's dynamic quantization: weights by column, whole inputs at run time."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    name = source.replace(".onnx", ".int8.onnx")
    if not os.path.exists(name):
        quantize_dynamic(source, name + ".new", weight_type=QuantType.QInt8, per_channel=True)
        os.replace(name + ".new", name)
    return name


def ort_runtime(fused):
    import onnxruntime as ort

    if DTYPE not in ("float32", "int8"):
        raise SystemExit("no CPU kernels in this dtype")
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    name = fused_onnx_file() if fused else onnx_file()
    session = ort.InferenceSession(int8_onnx_file(name) if DTYPE == "int8" else name, options,
                                   providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(X))
    for output in session.get_outputs():
        binding.bind_output(output.name)

    def run():
        session.run_with_iobinding(binding)
        return binding
    return run, lambda bound: bound.copy_outputs_to_cpu()


def openvino_int8(model):
    """Uses NNCF: weights by column, inputs by ranges from calibration passes."""
    import nncf

    random = np.random.default_rng(5)
    inputs = [X] + [random.standard_normal(X.shape).astype(X.dtype) for _ in range(7)]
    return nncf.quantize(model, nncf.Dataset(inputs), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(inputs))


def openvino_runtime():
    import openvino as ov
    import torch

    with torch.no_grad():
        model = ov.convert_model(torch_module(), example_input=torch.from_numpy(X), input=[ov.PartialShape(X.shape)])
    if not os.path.exists(path("model.xml")):
        ov.save_model(model, path("model.xml"), compress_to_fp16=False)  # for cold.py
    if DTYPE == "int8":
        model = openvino_int8(model)
    precision = {"float32": "f32", "int8": "f32", "bfloat16": "bf16"}[DTYPE]
    compiled = ov.Core().compile_model(model, "CPU", {
        "INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": THREADS})
    del model
    request = compiled.create_infer_request()
    request.set_input_tensor(ov.Tensor(X))

    def run():
        request.infer()
        return request
    return run, lambda done: [done.get_output_tensor(i).data for i in range(len(compiled.outputs))]


def keras_runtime(jit):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    import keras

    if DTYPE == "bfloat16":
        keras.config.set_dtype_policy("mixed_bfloat16")
    if "vit" in ABOUT["torch"]:
        import keras_hub  # noqa: F401
    text = json.dumps(json.load(open(path("model.json"))))  # on one line
    if DTYPE == "bfloat16":  # the config contains the layers' own policies
        text = text.replace('"config": {"name": "float32"}', '"config": {"name": "mixed_bfloat16"}')
    if DTYPE == "int8":
        model = keras.models.load_model(path("int8.keras"))
    else:
        parsed = json.loads(text)
        model = (keras.models.model_from_json(text) if "class_name" in parsed
                 else keras.saving.deserialize_keras_object(parsed))
        model.load_weights(path("weights.weights.h5"))
    x = tf.constant(X)
    function = tf.function(lambda x: model(x, training=False), jit_compile=jit)

    def flat(outputs):
        return keras.tree.flatten(outputs)

    def run():
        outputs = function(x)
        flat(outputs)[0].numpy()
        return outputs
    return run, lambda outputs: [tf.cast(y, tf.float32).numpy() for y in flat(outputs)]


RUNTIMES = {"torch": lambda: torch_runtime(None), "torch-fast": lambda: torch_runtime("fast"),
            "torch-compile": lambda: torch_runtime("compile"), "onnxruntime": lambda: ort_runtime(False),
            "onnxruntime-fused": lambda: ort_runtime(True), "openvino": openvino_runtime,
            "keras": lambda: keras_runtime(False), "keras-jit": lambda: keras_runtime(True)}


def start():
    run, outputs_of = RUNTIMES[RUNTIME]()
    ready = time.perf_counter()
    outputs = outputs_of(run())
    first = time.perf_counter()
    name = path(f"outputs.{RUNTIME}.{DTYPE}.npz")
    np.savez(name, *[np.asarray(y, np.float32) for y in outputs])

    def one_pass():
        run()
    said = {"build_seconds": ready - BEGAN, "first_seconds": first - ready, "outputs": name}
    return said, lambda line: {"ms": passes(one_pass, float(line))}


if __name__ == "__main__":
    serve(start)
