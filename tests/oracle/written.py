"""Reads attn's output for one model with Keras, safetensors and NumPy."""
import collections

import keras
import ml_dtypes
import numpy as np
from safetensors.tensorflow import load_file

FORMS = (".weights.h5", ".safetensors", ".keras", ".npz", ".h5")
# A drawn weight may differ by a unit in the last place of the largest one if it involves a logarithm or a square root;
# an orthogonal kernel, from a factorization, by a few units of 1.
ORTHOGONAL = 1e-6


def values_of(model):
    return [np.array(keras.ops.convert_to_numpy(w)) for w in model.weights]


def differing(values, wanted):
    """Returns the weights that are not bitwise equal to the expected ones."""
    if len(values) != len(wanted):
        return [f"{len(values)} weights instead of {len(wanted)}"]
    return [str(i) for i, (a, b) in enumerate(zip(values, wanted)) if a.shape != b.shape or a.dtype != b.dtype or a.tobytes() != b.tobytes()]


def read_by_keras(path, form, fresh):
    """Returns the weights of a model into which Keras has loaded the file."""
    if form == ".keras":
        keras.utils.clear_session(free_memory=False)
        return values_of(keras.models.load_model(path))
    model = fresh()
    model.load_weights(path)
    return values_of(model)


def keras_reads_its_own(model, folder, form, fresh):
    """Returns whether Keras can reload a model's weights from its own file."""
    path = str(folder / f"own{form}")
    try:
        model.save_weights(path) if form == ".weights.h5" else model.save(path)
        return not differing(read_by_keras(path, form, fresh), values_of(model))
    except Exception:
        return False


def name_in(arrays, paths):
    """Returns the name of a weight: that of a nested layer includes the outer model if Keras built both at once, but not
    if it loaded them."""
    for path in paths:
        if path in arrays:
            return path
    similar = [name for name in arrays if any(name.endswith("/" + path) or path.endswith("/" + name) for path in paths)]
    return similar[0] if len(similar) == 1 else paths[0]


def array_problems(path, form, paths, wanted):
    """Compares arrays with the variables' paths; weights that share a path are stored by position."""
    if form == ".safetensors":
        arrays = {name: y.numpy() for name, y in load_file(path).items()}
    else:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        wanted = [w.astype(np.float32) if w.dtype == ml_dtypes.bfloat16 else w for w in wanted]
    names = [name_in(arrays, both) for both in paths]
    uses = collections.Counter(path for both in paths for path in set(both)) | collections.Counter(names)
    if len(arrays) != len(names):
        return [f"{len(arrays)} arrays for {len(names)} weights"]
    missing = [name for name in names if uses[name] == 1 and name not in arrays]
    if missing:
        return [f"no array '{missing[0]}'"]
    pairs = [(arrays[name], w) for name, w in zip(names, wanted) if uses[name] == 1]
    return [f"weights {', '.join(wrong)} differ" for wrong in [differing(*map(list, zip(*pairs)))] if pairs and wrong]


def problems(model, loaded, folder, path, form, fresh):
    """Checks a file of `model`'s weights. `loaded` is the same model created from its config."""
    if form in (".safetensors", ".npz"):
        return array_problems(path, form, [(a.path, b.path) for a, b in zip(loaded.weights, model.weights)], values_of(model))
    try:
        wrong = differing(read_by_keras(str(path), form, fresh), values_of(model))
    except Exception as error:
        wrong = [" ".join(f"{type(error).__name__}: {error}".split())[:200]]
    return [f"weights {', '.join(wrong)} differ"] if wrong and keras_reads_its_own(model, folder, form, fresh) else []


def initializer_problems(initial, again, got):
    """Checks that weights that Keras draws equally in two sessions (by a seed or a constant) equal those of `attn
    init`."""
    out = []
    for i, (a, b, c) in enumerate(zip(initial, again, got)):
        if a.tobytes() != b.tobytes() or a.tobytes() == c.tobytes():
            continue
        if a.shape != c.shape or a.dtype != c.dtype:
            out.append(f"weight {i} is {c.dtype} {c.shape}, Keras's {a.dtype} {a.shape}")
            continue
        wide, other = a.astype("float64"), c.astype("float64")
        off = np.abs(wide - other)
        unit = float(ml_dtypes.finfo(a.dtype).eps) * np.abs(wide).max(initial=0.0) if a.dtype.kind in "fV" else 0.0
        if a.size == 1 and a.ndim > 1 and abs(a) == 1:
            continue  # an orthogonal 1×1 kernel: two seeds may give the same sign
        if not np.all(off <= max(unit, ORTHOGONAL * (a.ndim > 1))):
            out.append(f"weight {i} {a.shape} is off by {off.max():.3g}, largest {np.abs(wide).max():.3g}")
    return out
