"""Steps of real Keras's optimizers on variables of every floating dtype.

    python tests/oracle/make_optimizer_cases.py tests/data/training

It writes optimizers.json, the optimizers as Keras serializes them, and optimizers.npz: "start:<n>" and "gradient:<n>" of
the variables, in float64, and "<dtype>/<optimizer>/variable:<n>" and "<dtype>/<optimizer>/state:<n>" after ten steps,
which a float64 array holds exactly.
"""

import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402

STEPS = 10
SHAPES = [(5, 4), (3,), ()]
DTYPES = ["float64", "float32", "float16", "bfloat16"]
O = keras.optimizers
OPTIMIZERS = {
    "sgd": O.SGD(0.05),
    "sgd_nesterov": O.SGD(0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": O.Adam(0.01),
    "adam_amsgrad": O.Adam(0.01, beta_2=0.9, epsilon=1e-3, amsgrad=True),
    "adamw": O.AdamW(0.01, beta_2=0.9, epsilon=1e-3, clipvalue=0.5),
    "adamax": O.Adamax(0.01, epsilon=1e-3),
    "nadam": O.Nadam(0.01, beta_2=0.9, epsilon=1e-3),
    "lamb": O.Lamb(0.01, beta_2=0.9, epsilon=1e-3),
    "schedule_free": O.ScheduleFreeAdamW(0.01, beta_2=0.9, epsilon=1e-3, warmup_steps=3),
    "rmsprop": O.RMSprop(0.01, epsilon=1e-3),
    "rmsprop_centered": O.RMSprop(0.01, momentum=0.9, epsilon=1e-2, centered=True),
    "adagrad": O.Adagrad(0.05),
    "adadelta": O.Adadelta(0.5, epsilon=1e-3),
    "ftrl": O.Ftrl(0.05, l1_regularization_strength=0.01, l2_regularization_strength=0.01),
    "lion": O.Lion(0.01),
    "adafactor": O.Adafactor(0.05, epsilon_1=1e-3),
    "muon": O.Muon(0.02, adam_beta_2=0.9, epsilon=1e-3),
    "accumulated": O.SGD(0.05, momentum=0.9, gradient_accumulation_steps=2),
    "averaged": O.Adam(0.01, beta_2=0.9, epsilon=1e-3, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=4),
}


def run(config, dtype, start, gradients):
    optimizer = keras.saving.deserialize_keras_object(config)
    variables = [
        keras.Variable(value, dtype=dtype, name=f"v{n}") for n, value in enumerate(start)
    ]
    optimizer.build(variables)
    for step in range(STEPS):
        optimizer.apply([keras.ops.convert_to_tensor(g[step], dtype=dtype) for g in gradients])
    out = {}
    for what, arrays in (("variable", variables), ("state", optimizer.variables)):
        for n, array in enumerate(arrays):
            out[f"{what}:{n}"] = np.asarray(keras.ops.cast(array, "float64"))
    return out


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    random = np.random.default_rng(7)
    start = [random.normal(size=shape) for shape in SHAPES]
    gradients = [0.5 * random.normal(size=(STEPS, *shape)) for shape in SHAPES]
    arrays = {f"start:{n}": value for n, value in enumerate(start)}
    arrays |= {f"gradient:{n}": value for n, value in enumerate(gradients)}
    configs = {name: O.serialize(optimizer) for name, optimizer in OPTIMIZERS.items()}
    for name, config in configs.items():
        for dtype in DTYPES:
            try:
                after = run(config, dtype, start, gradients)
            except Exception as error:  # not supported by Keras, so there is no expected result
                print(f"{dtype}/{name}: {type(error).__name__}: {str(error)[:120]}")
                continue
            arrays |= {f"{dtype}/{name}/{key}": value for key, value in after.items()}
    np.savez_compressed(folder / "optimizers.npz", **arrays)
    (folder / "optimizers.json").write_text(json.dumps(configs, indent=1) + "\n")
