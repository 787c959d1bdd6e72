LENGTHS = [5, 8, 4, 3, 2, 300, 501]  # tried lengths of random inputs; a position table or a convolution may reject some


class Spec:
    """The shape of an input without the batch, its dtype and its name."""

    def __init__(self, shape, dtype, name):
        self.shape, self.dtype, self.name = shape, dtype, name


def spec_of(value, name):
    if isinstance(value, Spec):
        return value
    value = value if is_symbolic(value) else np.asarray(value)
    dtype = "string" if getattr(value.dtype, "kind", "?") in "US" else keras.backend.standardize_dtype(value.dtype)
    return Spec(tuple(value.shape[1:]), dtype, name)


def functional_of(model):
    """Returns the model if it is functional, or the functional model of a Sequential; None for a subclassed model."""
    return next((m for m in (model, getattr(model, "_functional", None)) if hasattr(m, "_inputs_struct")), None)


def specs_of(model, inputs):
    """Returns the arguments of a call of the model, as a structure of Specs."""
    functional = functional_of(model)
    if functional is not None:
        structure = functional._inputs_struct
        if isinstance(structure, (list, tuple)) and len(structure) == 1:
            structure = structure[0]
        return tree.map_structure(lambda t: Spec(tuple(t.shape[1:]), str(t.dtype), t.name), structure)
    build = model.get_build_config() or {}
    shapes = build.get("input_shape", build.get("shapes_dict"))
    if inputs is not None:
        return given_specs(model, inputs, shapes)
    if shapes is None:
        raise CannotFlatten("the file does not describe the model's inputs; pass arrays with --inputs FILE.npz")
    is_shape = lambda s: isinstance(s, (list, tuple)) and all(size is None or isinstance(size, int) for size in s)
    make = lambda s, name: Spec(tuple(s[1:]), "float32", name)
    if is_shape(shapes):
        return make(shapes, "inputs")
    if isinstance(shapes, dict):
        return {key.removesuffix("_shape"): make(s, key.removesuffix("_shape")) for key, s in shapes.items()}
    return tuple(make(s, f"input_{index}") for index, s in enumerate(shapes))


def given_specs(model, inputs, shapes):
    """Returns the Specs of the arrays for a call of a subclassed model, in the structure for which it was built."""
    if isinstance(inputs, dict) and all(tree.is_nested(x) or hasattr(x, "shape") for x in inputs.values()):
        if len(inputs) == 1 and not by_name(model, inputs) and not isinstance(shapes, dict):
            return next(spec_of(x, name) for name, x in inputs.items())  # the only argument, whatever its name
        numbered = all(name == f"arr_{index}" for index, name in enumerate(inputs))
        listed = isinstance(shapes, (list, tuple)) and bool(shapes) and isinstance(shapes[0], (list, tuple))
        if numbered or (listed and not by_name(model, inputs)):  # np.savez(file, a, b) keeps the order
            return tuple(spec_of(x, name) for name, x in inputs.items())
    paths = tree.flatten_with_path(inputs)
    name = lambda path: "_".join(str(part) if isinstance(part, str) else f"input_{part}" for part in path) or "inputs"
    return tree.pack_sequence_as(inputs, [spec_of(x, name(path)) for path, x in paths])


def by_name(model, inputs):
    """Returns whether the dict contains the arguments of model.call() by name, rather than being one argument."""
    parameters = inspect.signature(model.call).parameters
    return functional_of(model) is None and isinstance(inputs, dict) and set(inputs) <= set(parameters)


def called(model, inputs):
    """Calls the model on inputs in the structure of its Specs."""
    if by_name(model, inputs):
        return model(**inputs, training=False)
    return model(inputs, training=False)


def flat_model(model, specs, length=None):
    """Returns the model of built-in layers, and the number of opened layers by class name."""
    unknown = any(size is None for spec in tree.flatten(specs) for size in spec.shape)
    images = any(None in spec.shape for spec in tree.flatten(specs) if len(spec.shape) > 2)
    batch = fresh_prime(model, 61)
    if not unknown or length is not None:
        return traced_model(model, specs, batch, None, length)
    try:
        return traced_model(model, specs, batch, fresh_prime(model, 13 if images else batch + 1), None)
    except CannotFlatten as error:
        if images or "negative" not in str(error):
            raise
    return traced_model(model, specs, batch, fresh_prime(model, 4000), None)  # convolutions shorten sound most


def traced_model(model, specs, batch, steps, length):
    """Returns flat_model's result for these primes. Image sizes are 32 times the prime, so halving keeps multiples."""

    def size_of(spec, size, free):
        if size is not None or not steps:
            return size or length
        return None if free else steps * (32 if len(spec.shape) > 2 else 1)

    known = lambda spec, free: tuple(size_of(spec, size, free) for size in spec.shape)

    def make(rows, free):
        return tree.map_structure(
            lambda spec: keras.Input(batch_shape=(rows, *known(spec, free)), dtype=spec.dtype, name=spec.name), specs)

    traced = make(batch, False)
    recorder = Recorder(tree.flatten(traced))
    inputs = make(None, True)
    try:
        with recorder.recording():
            by_names = by_name(model, traced)
            outputs = recorder.open(model, () if by_names else (traced,), traced if by_names else {})
        recorder.names = {key: name.removeprefix(model.name + "_") for key, name in recorder.names.items()}
        rebuilder = Rebuilder(recorder, tree.flatten(inputs), batch, steps)
        outputs = rebuilder.outputs(recorder.function(traced, outputs), inputs)
    except Exception as error:
        raise cannot_flatten(error, recorder.failed, steps) from error
    finally:
        recorder.give_names_back()
    flat = keras.Model(inputs, outputs, name=model.name)
    rebuilder.copy_weights()
    recorder.opened[type(model).__name__] -= 1
    return flat, {name: count for name, count in recorder.opened.items() if count}


def cannot_flatten(error, failed, open_length):
    """Returns the exception to raise for an error in calling a layer or creating it again."""
    advice = "; its length is open: pass --length N" if open_length and "--length" not in str(error) else ""
    if isinstance(error, CannotFlatten):
        return CannotFlatten(f"{error}{'' if 'recurrent' in str(error) else advice}")
    where = f"{failed} cannot be called with symbolic tensors" if failed else "its layers cannot be created again"
    if "as input to a TensorFlow function" in str(error):
        return CannotFlatten(f"{where}: it calls a function of TensorFlow, not of keras.ops; for layers of KerasHub, set "
                             "KERAS_BACKEND to another backend than tensorflow")
    lines = [line for line in str(error).splitlines() if line.strip() and "Exception encountered" not in line]
    reason = re.sub(r"\x1b\[[0-9]*m", "", lines[0].strip()) if lines else ""
    return CannotFlatten(f"{where}: {type(error).__name__}: {reason}{advice}")


def unknown_classes(model):
    runs = lambda operation: is_plain(operation) if isinstance(operation, keras.Layer) else is_known(operation)
    return sorted({type(operation).__name__ for operation in model.operations if not runs(operation)})


def random_inputs(model, specs, rows, length, seed):
    """Returns random arrays in the structure of the Specs. Integers are small enough for all tables and lengths, because
    they may be tokens or positions."""
    random = np.random.default_rng(seed)
    tables = [l.input_dim for l in model._flatten_layers() if isinstance(l, keras.layers.Embedding)]
    leaves = tree.flatten(specs)
    open_size = lambda spec: 32 * (1 + length % 5) if len(spec.shape) > 2 and length < 10 else length  # of images
    shapes = [(rows, *(open_size(spec) if size is None else size for size in spec.shape)) for spec in leaves]
    lengths = [shape[1] for spec, shape in zip(leaves, shapes) if "int" in spec.dtype and len(shape) > 1]
    limit = max(1, min([10, *tables, *lengths]))

    def make(spec, shape):
        if spec.dtype == "string":
            words = np.array(["", "the", "a", "of and", "Unseen, quite!"])
            return ops.convert_to_tensor(words[random.integers(0, len(words), shape)])
        if spec.dtype == "bool" or "mask" in spec.name and "position" not in spec.name:
            mask = np.ones(shape, spec.dtype)
            if len(shape) == 2 and shape[1] > 2:
                mask[1:, -1] = 0  # padding at the end of all rows but the first
            return mask
        if "float" in spec.dtype and not (tables and len(shape) == 2):
            return random.standard_normal(shape).astype(spec.dtype)
        return random.integers(0, limit, shape).astype(spec.dtype)

    return tree.pack_sequence_as(specs, [make(spec, shape) for spec, shape in zip(leaves, shapes)])


def difference(model, flat, inputs):
    """Returns the largest difference between outputs, and the largest output."""
    a, b = tree.flatten(called(model, inputs)), tree.flatten(flat(inputs, training=False))
    worst, largest = 0.0, 0.0
    for x, y in zip(a, b):
        x, y = (ops.convert_to_numpy(z if is_text(z) else ops.cast(z, "float32")) for z in (x, y))
        if x.shape != y.shape or len(a) != len(b):
            return math.inf, 1.0
        if x.dtype == object:
            x, y = np.zeros(x.shape), np.not_equal(x, y).astype("float32")
        apart = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, np.abs(x - y))
        worst = max(worst, math.inf if np.isnan(apart).any() else float(np.max(apart, initial=0)))
        largest = max(largest, float(np.max(np.abs(x), initial=0, where=np.isfinite(x))))
    return worst, largest


def flatten(model, path, inputs=None, length=None):
    """Converts the model to built-in layers, checks the result, writes it to `path` and prints a summary."""
    if not str(path).endswith(".keras"):
        raise CannotFlatten(f"{path}: the name of the flat model's file must end in .keras")
    specs = specs_of(model, inputs)
    flat, opened = flat_model(model, specs, length)
    written = f"{str(path)[:-6]}.unchecked.keras"
    try:
        flat.save(written)
        flat = keras.saving.load_model(written, compile=False)
        worst, largest, how = checked(model, flat, specs, length, inputs)
        os.replace(written, path)
    finally:
        if os.path.exists(written):
            os.remove(written)
    what = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in opened.items()) or "no layer"
    print(f"{path}: {what} opened; {len(flat.layers)} layers, {flat.count_params():,} parameters")
    print(f"checked {how}: the largest difference is {worst:.3g}, of outputs up to {largest:.3g}")
    missing = unknown_classes(flat)
    if missing:
        print(f"attn does not support: {', '.join(missing)}", file=sys.stderr)
    return flat


def checked(model, flat, specs, length, inputs):
    """Returns the largest difference, the largest output, and a description of the inputs: the given arrays, otherwise
    random ones with two batch sizes and two lengths that the model accepts."""
    given = arrays_for(specs, inputs)
    if given is not None:
        checks, how = [difference(model, flat, given)], "on the given arrays"
    else:
        checks, how = random_checks(model, flat, specs, length), "at batch 1 and 3"
    worst, largest = max(check[0] for check in checks), max(check[1] for check in checks)
    if not worst <= TOLERANCE * max(largest, 1e-3):
        raise CannotFlatten(f"the two models differ by {worst:.3g}, with outputs up to {largest:.3g}, so no file is "
                            "written; does a layer use functions outside keras.ops?")
    return worst, largest, how


def random_checks(model, flat, specs, length):
    checks, refused = [], None
    for size in [length, length] if length else LENGTHS:
        arrays = random_inputs(model, specs, 2 * len(checks) + 1, size, len(checks))
        try:
            called(model, arrays)
        except Exception as error:
            refused = error
            continue
        try:
            checks.append(difference(model, flat, arrays))
        except Exception as error:
            open_length = not length and any(None in spec.shape for spec in tree.flatten(specs))
            raise cannot_flatten(error, "the flat model, which", open_length) from error
        if len(checks) == 2:
            return checks
    if checks:
        return checks
    raise CannotFlatten("the model rejects random numbers, so the result cannot be checked; pass arrays with --inputs "
                        f"FILE.npz ({type(refused).__name__})") from refused


def arrays_for(specs, inputs):
    """Returns the given arrays in the structure of the Specs, or None if one is missing."""
    leaves = tree.flatten(specs)
    if isinstance(inputs, dict):
        arrays = [inputs.get(spec.name) for spec in leaves]
    else:
        arrays = tree.flatten(inputs)
    if len(arrays) != len(leaves) or not all(isinstance(array, np.ndarray) for array in arrays):
        return None
    return tree.pack_sequence_as(specs, [ops.convert_to_tensor(array) for array in arrays])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out", help="output .keras file")
    parser.add_argument("--import", dest="modules", action="append", default=[], metavar="MODULE",
                        help="module or .py file that defines and registers the model's classes; repeatable")
    parser.add_argument("--inputs", metavar="FILE", help="inputs to call the model with: .npz or .npy")
    parser.add_argument("--length", type=int, metavar="N", help="length to use for unknown dimensions")
    parser.add_argument("--allow-lambda", action="store_true", help="load Lambda layers, which run code from the file")
    options = parser.parse_args()
    inputs = None
    try:
        for module in options.modules:
            import_classes(module)
        if options.inputs:
            inputs = np.load(options.inputs)
            if not isinstance(inputs, np.ndarray):
                inputs = dict(inputs)
                if list(inputs) == ["arr_0"]:
                    inputs = inputs["arr_0"]
        model = loaded(options.model, options.allow_lambda)
        prepares = lambda layer: any(kind.__name__ == "PreprocessingLayer" for kind in type(layer).__mro__)  # of KerasHub
        if not all(layer.built or prepares(layer) for layer in model._flatten_layers()):
            load_missing_weights(model, options.model, inputs, options.length)
        flatten(model, options.out, inputs, options.length)
    except CannotFlatten as error:
        sys.exit(f"flatten.py: {options.model}: {error}")


def import_classes(module):
    """Imports a module or a .py file, and makes its unregistered classes and functions available by name."""
    folder, name = os.path.split(module)
    sys.path.insert(0, folder or ".")
    imported = importlib.import_module(name.removesuffix(".py") if folder or name.endswith(".py") else module)
    known = keras.saving.get_custom_objects()
    for name, one in vars(imported).items():
        if (inspect.isclass(one) or inspect.isfunction(one)) and not is_keras(one) and not name.startswith("_"):
            known.setdefault(one.__name__, one)


def loaded(path, allow_lambda):
    if not os.path.exists(path):
        raise CannotFlatten("no such file")
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=not allow_lambda)
    except Exception as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        if "enable_unsafe_deserialization" in str(error):
            raise CannotFlatten("it contains Python code; if you trust the file, pass --allow-lambda") from error
        raise CannotFlatten(f"Keras cannot load it: {reason} (Is the class in a file that --import names, and does it have "
                            "get_config()? Else call flatten(model, OUT) in the program that makes the model.)") from error


def load_missing_weights(model, path, inputs, length):
    """Builds the model by a call and loads its weights. Keras silently skips the weights of layers that are not built."""
    specs = specs_of(model, inputs)
    arrays = arrays_for(specs, inputs)
    if arrays is None and functional_of(model) is None:
        raise CannotFlatten("Keras cannot build this model when it loads it, so its weights are missing; pass arrays for a "
                            "call with --inputs FILE.npz")
    for size in [length] if length else LENGTHS:
        try:
            called(model, random_inputs(model, specs, 1, size, 0) if arrays is None else arrays)
        except Exception:  # rejects this length; if it rejects all, the comparison of both models reports it
            continue
        model.load_weights(path)
        return


if __name__ == "__main__":
    main()
