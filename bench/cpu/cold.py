"""Times one runtime from process start to its first output: imports, loads the model and the weights, runs once, writes the output.

usage: cold.py RUNTIME FOLDER THREADS

FOLDER was prepared by peers.py, and contains worker.py's model.onnx or model.xml.
"""
import os
import sys

RUNTIME, FOLDER, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(THREADS)

import numpy as np  # noqa: E402


def path(name):
    return os.path.join(FOLDER, name)


def by_onnxruntime(x):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = ort.InferenceSession(path("model.onnx"), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def by_openvino(x):
    import openvino as ov

    compiled = ov.Core().compile_model(path("model.xml"), "CPU", {
        "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": THREADS})
    return compiled(x)[0]


def by_torch(x):
    import json

    import torch
    from safetensors.numpy import load_file

    import torch_models

    torch.set_num_threads(THREADS)
    about = json.load(open(path("about.json")))
    module = torch_models.make(about["torch"], load_file(path("weights.safetensors")), about["model"]).eval()
    with torch.inference_mode():
        y = module(torch.from_numpy(x))
    return (y[0] if isinstance(y, tuple) else y).numpy()


RUNTIMES = {"onnxruntime": by_onnxruntime, "openvino": by_openvino, "torch": by_torch}

if __name__ == "__main__":
    np.save(path(f"cold.{RUNTIME}.npy"), RUNTIMES[RUNTIME](np.load(path("input.npy"))))
