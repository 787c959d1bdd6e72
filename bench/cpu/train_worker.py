"""Trains one workload with one runtime in a process that stays loaded, and runs steps on request.

usage: train_worker.py RUNTIME DTYPE FOLDER THREADS

FOLDER was prepared by train_peers.py: model.json (Keras), weights.safetensors, weights.weights.h5, input.npy, target.npy,
about.json. Uses Adam with a learning rate of 1e-4 and the mean squared error of the first output, or its cross-entropy if the
targets are tokens. Prints a line of JSON with the losses of the first steps. For each line SECONDS on stdin, it prints one with
the milliseconds of the steps in this time; at the end one with its peak memory.
"""
import json
import os
import sys
import time

BEGAN = time.perf_counter()
RUNTIME, DTYPE, FOLDER, THREADS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(THREADS)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["KERAS_BACKEND"] = "jax" if "jax" in RUNTIME else "tensorflow"
if "jax" in RUNTIME:
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if THREADS > 1 else 'false'}"

import numpy as np  # noqa: E402

from serving import passes, serve  # noqa: E402

ABOUT = json.load(open(os.path.join(FOLDER, "about.json")))
X = np.load(os.path.join(FOLDER, "input.npy"))
Y = np.load(os.path.join(FOLDER, "target.npy"))
FIRST_STEPS, RATE, EPSILON = 3, 1e-4, 1e-7


def path(name):
    return os.path.join(FOLDER, name)


def torch_trainer(compiled):
    """Returns f(steps), which returns losses and milliseconds of each step."""
    import torch
    from safetensors.numpy import load_file

    import torch_models

    torch.set_num_threads(THREADS)
    module = torch_models.make(ABOUT["torch"], load_file(path("weights.safetensors")), ABOUT["model"])
    module.requires_grad_(True)
    if ABOUT["torch"] == "lstm_attention":  # Keras has one bias where PyTorch has two
        module.lstm.bias_hh_l0.requires_grad_(False)
    optimizer = torch.optim.Adam([p for p in module.parameters() if p.requires_grad], lr=RATE, eps=EPSILON, fused=True)
    of_tokens = ABOUT["targets"] == "tokens"
    x, y = (torch.from_numpy(array).long() if of_tokens else torch.from_numpy(array) for array in (X, Y))
    forward = torch.compile(module) if compiled else module
    done = 0

    def step():
        nonlocal done
        done += 1
        # Keras adds epsilon to the root of the uncorrected moment.
        optimizer.param_groups[0]["eps"] = EPSILON / (1 - 0.999**done) ** 0.5
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=DTYPE == "bfloat16"):
            outputs = forward(x)
        output = outputs[0] if isinstance(outputs, tuple) else outputs
        if of_tokens:
            loss = torch.nn.functional.cross_entropy(output.float().flatten(0, 1), y.flatten())
        else:
            loss = torch.nn.functional.mse_loss(output.float(), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    def run(steps):
        losses, times = [], []
        for _ in range(steps):
            start = time.perf_counter()
            losses.append(step())
            times.append(1e3 * (time.perf_counter() - start))
        return losses, times
    return run


def keras_trainer(jit):
    """The same by fit(), whose time is divided among its steps."""
    if "jax" not in RUNTIME:
        import tensorflow as tf
        tf.config.threading.set_intra_op_parallelism_threads(THREADS)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    import keras

    text = json.dumps(json.load(open(path("model.json"))))  # on one line
    if DTYPE == "bfloat16":
        keras.config.set_dtype_policy("mixed_bfloat16")
        text = text.replace('"config": {"name": "float32"}', '"config": {"name": "mixed_bfloat16"}')
    parsed = json.loads(text)
    of_tokens = ABOUT["targets"] == "tokens"
    if "keras_hub" in text:
        import keras_hub  # noqa: F401  its classes are registered by it
    model = keras.models.model_from_json(text) if "class_name" in parsed else keras.saving.deserialize_keras_object(parsed)
    model.load_weights(path("weights.weights.h5"))
    many = len(model.outputs) > 1
    # No metrics: KerasHub's CausalLM would add its accuracy, which no other runtime computes.
    model.compile(optimizer=keras.optimizers.Adam(RATE, epsilon=EPSILON), jit_compile=jit, weighted_metrics=None,
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True) if of_tokens else
                  ["mse"] + [None] * (len(model.outputs) - 1) if many else "mse")
    y = [Y] + [np.zeros((len(X), 1), np.float32)] * (len(model.outputs) - 1) if many else Y

    def inputs(x):
        return {"token_ids": x, "padding_mask": np.ones_like(x)} if of_tokens else x

    def run(steps):
        if steps == 1:
            start = time.perf_counter()
            loss = model.fit(inputs(X), y, batch_size=len(X), epochs=1, verbose=0, shuffle=False).history["loss"][0]
            return [loss], [1e3 * (time.perf_counter() - start)]
        xs = np.concatenate([X] * steps)
        ys = [np.concatenate([part] * steps) for part in y] if many else np.concatenate([y] * steps)
        start = time.perf_counter()
        model.fit(inputs(xs), ys, batch_size=len(X), epochs=1, verbose=0, shuffle=False)
        return [], [1e3 * (time.perf_counter() - start) / steps] * steps
    return run


TRAINERS = {"torch": lambda: torch_trainer(False), "torch-compile": lambda: torch_trainer(True),
            "keras": lambda: keras_trainer(False), "keras-jit": lambda: keras_trainer(True),
            "keras-jax": lambda: keras_trainer(True)}


def start():
    run = TRAINERS[RUNTIME]()
    losses = run(1)[0]
    first = time.perf_counter() - BEGAN
    losses += [run(1)[0][0] for _ in range(FIRST_STEPS - 1)]

    def answer(line):
        steps = 1

        def some():
            nonlocal steps
            times = run(steps)[1]
            if RUNTIME.startswith("keras"):  # an epoch of about a second
                steps = max(1, min(200, round(1e3 / times[-1]), 2 * steps))
            return times
        return {"ms": passes(some, float(line))}
    return {"losses": losses, "first_seconds": first}, answer


if __name__ == "__main__":
    serve(start)
