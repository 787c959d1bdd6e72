"""Transformer blocks that real Keras trains with a mixed policy, in each of the ways in which Keras on TensorFlow can run them.

    python tests/oracle/make_mixed_cases.py tests/data/training [block]

`block/<policy>` gets start.keras, data.npz, the results of Keras in eager mode (keras.npz: `loss` of each step, `weight:<path>`
after the last), and meta.json with the differences of Keras's other modes: a graph, whose matrix products TensorFlow fuses with
biases and activations, and XLA (jit_compile). `first_loss` is the largest difference of the first step's loss, `loss` that of any
step's, `step` the largest |weights − those| / |those − the initial ones|. In the cases of `mixed`, `policy_error` is raised to the
difference between these modes and the recorded results.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WAYS = ("eager", "graph", "xla")
STEPS, BATCH, LENGTH, WIDTH, VOCABULARY, CLASSES = 10, 8, 8, 16, 20, 4


def start(policy, folder):
    import keras
    import numpy as np
    layers = keras.layers
    keras.utils.set_random_seed(5)
    keras.config.set_dtype_policy("mixed_" + policy)
    x = keras.Input((LENGTH,), dtype="int32", name="x")
    y = layers.Embedding(VOCABULARY, WIDTH)(x)
    y = layers.LayerNormalization()(layers.Add()([y, layers.MultiHeadAttention(2, 8)(y, y)]))
    z = layers.Dense(WIDTH)(layers.Dense(32, "gelu")(y))
    y = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(layers.Add()([y, z])))
    model = keras.Model(x, layers.Dense(CLASSES, "softmax")(y))
    for weight in model.trainable_weights:  # biases of a trained model are not 0
        if "bias" in weight.path or "beta" in weight.path:
            weight.assign(0.1 * np.random.default_rng(len(weight.path)).normal(size=weight.shape))
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy")
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "start.keras")
    random = np.random.default_rng(6)
    np.savez_compressed(folder / "data.npz", x=random.integers(0, VOCABULARY, (STEPS * BATCH, LENGTH)).astype("int32"),
                        y=random.integers(0, CLASSES, STEPS * BATCH).astype("int32"))


def train(folder, policy, way, steps, batch, target):
    """Trains in a separate process, because the global policy decides whether the loss is scaled."""
    import keras
    import numpy as np
    keras.config.set_dtype_policy(policy)  # models with this policy scale their loss
    model = keras.models.load_model(folder / "start.keras")
    out = {"start:" + v.path: keras.ops.convert_to_numpy(v) for v in model.trainable_weights}
    model.compile(optimizer=model.optimizer, loss=model.loss, jit_compile=way == "xla", run_eagerly=way == "eager")
    with np.load(folder / "data.npz") as file:
        data = {name: file[name] for name in file.files}
    names = [x.name for x in model.inputs]
    losses = []
    for step in range(steps):
        rows = slice(step * batch, (step + 1) * batch)
        x = [data[name][rows] for name in names]
        model.reset_metrics()
        told = model.train_on_batch(x if len(x) > 1 else x[0], data["y"][rows], return_dict=True)
        losses.append(float(told["loss"]))
    out |= {"weight:" + v.path: keras.ops.convert_to_numpy(v) for v in model.trainable_weights}
    np.savez_compressed(target, loss=np.array(losses), **out)


def all_ways(folder, policy, steps, batch):
    import numpy as np
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for way in WAYS:
            target = pathlib.Path(place) / f"{way}.npz"
            subprocess.run([sys.executable, __file__, "train", folder, policy, way, str(steps), str(batch), target], check=True)
            with np.load(target) as file:
                found[way] = {name: file[name] for name in file.files}
    return found


def make_block(root, policy):
    import numpy as np
    folder = root / "block" / policy
    start(policy, folder)
    found = all_ways(folder, "mixed_" + policy, STEPS, BATCH)
    own = found.pop("eager")
    names = [name[7:] for name in own if name.startswith("weight:")]
    moved = sum(np.sum((own["weight:" + name] - own["start:" + name]) ** 2) for name in names)

    def apart(other):
        return float(np.sqrt(sum(np.sum((own["weight:" + name] - other["weight:" + name]) ** 2) for name in names) / moved))
    meta = {"policy": "mixed_" + policy, "steps": STEPS, "batch": BATCH,
            "first_loss": max(float(abs(each["loss"][0] - own["loss"][0])) for each in found.values()),
            "loss": max(float(np.max(np.abs(each["loss"] - own["loss"]))) for each in found.values()),
            "step": max(map(apart, found.values()))}
    np.savez_compressed(folder / "keras.npz", **{name: own[name] for name in own if not name.startswith("start:")})
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
    print(policy, meta, {way: apart(each) for way, each in found.items()})


def raise_policy_errors(folder):
    import numpy as np
    meta = json.loads((folder / "meta.json").read_text())
    with np.load(folder / "after.npz") as file:
        recorded = {name: file[name] for name in file.files}
    for found in all_ways(folder, meta["policy"], meta["steps"], meta["batch"]).values():
        for name, value in found.items():
            key = next((key for key in recorded if key == name or name.endswith("/" + key.removeprefix("weight:"))), None)
            if key and name.startswith("weight:"):
                error = float(np.max(np.abs(value.astype("float64") - recorded[key])))
                meta["policy_error"][key] = max(meta["policy_error"].get(key, 0.0), float(f"{error:.3g}"))
    (folder / "meta.json").write_text(json.dumps(meta).replace("}, {", "},\n {") + "\n")
    print(folder.name, max(meta["policy_error"].items(), key=lambda each: each[1] * ("key/bias" not in each[0])))


if __name__ == "__main__":
    os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    if sys.argv[1] == "train":
        folder, policy, way, steps, batch, target = sys.argv[2:]
        train(pathlib.Path(folder), policy, way, int(steps), int(batch), target)
    else:
        for each in ("float16", "bfloat16"):
            make_block(pathlib.Path(sys.argv[1]), each)
        for each in sorted((pathlib.Path(sys.argv[1]) / "mixed").iterdir()) if "block" not in sys.argv[2:] else ():
            raise_policy_errors(each)
