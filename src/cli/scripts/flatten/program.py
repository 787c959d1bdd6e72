class Spec:
    """What an input is: its shape without the batch, its dtype, its name."""

    def __init__(self, shape, dtype, name):
        self.shape, self.dtype, self.name = shape, dtype, name


def spec_of(value, name):
    if isinstance(value, Spec):
        return value
    value = value if is_symbolic(value) else np.asarray(value)
    return Spec(tuple(value.shape[1:]), keras.backend.standardize_dtype(value.dtype), name)


def specs_of(model, inputs):
    """What the model is called with: a structure of Specs."""
    if inputs is not None:
        if isinstance(inputs, dict):
            return {name: spec_of(x, name) for name, x in inputs.items()}
        if isinstance(inputs, (list, tuple)):
            return [spec_of(x, f"input_{i}") for i, x in enumerate(inputs)]
        return spec_of(inputs, "inputs")
    if getattr(model, "_inputs_struct", None) is not None or getattr(model, "_functional", None) is not None:
        functional = model if getattr(model, "_inputs_struct", None) is not None else model._functional
        structure = functional._inputs_struct
        if isinstance(structure, (list, tuple)) and len(structure) == 1:
            structure = structure[0]
        return tree.map_structure(lambda t: Spec(tuple(t.shape[1:]), str(t.dtype), t.name), structure)
    build = model.get_build_config() or {}
    shape = build.get("input_shape")
    if shape is None:
        raise CannotFlatten("the model does not tell its inputs; give them by --inputs FILE.npz")
    is_shape = lambda s: isinstance(s, (list, tuple)) and all(size is None or isinstance(size, int) for size in s)
    count = iter(range(1000))
    make = lambda s, name: Spec(tuple(s[1:]), "float32", name)
    if is_shape(shape):
        return make(shape, "inputs")
    if isinstance(shape, dict):
        return {key: make(s, key) for key, s in shape.items()}
    return [make(s, f"input_{next(count)}") for s in shape]


def flat_model(model, specs, length=None):
    """The model of built-in layers, and what was opened: {class name: how many}."""
    unknown = any(size is None for spec in tree.flatten(specs) for size in spec.shape)
    batch = fresh_prime(model, 61)
    steps = None
    if unknown and length is None:
        steps = fresh_prime(model, batch + 1)
    known = lambda spec, free: tuple(
        (None if free and steps else steps or length) if s is None else s for s in spec.shape)

    def make(rows, free):
        return tree.map_structure(
            lambda spec: keras.Input(batch_shape=(rows, *known(spec, free)), dtype=spec.dtype, name=spec.name), specs)

    traced = make(batch, False)
    recorder = Recorder(tree.flatten(traced))
    inputs = make(None, True)
    try:
        with recorder.recording():
            outputs = recorder.open(model, (traced,), {})
        recorder.names = {key: name.removeprefix(model.name + "_") for key, name in recorder.names.items()}
        rebuilder = Rebuilder(recorder, tree.flatten(inputs), batch, steps)
        outputs = rebuilder.outputs(keras.Function(traced, outputs), inputs)
    finally:
        recorder.give_names_back()
    flat = keras.Model(inputs, outputs, name=model.name)
    rebuilder.copy_weights()
    recorder.opened.pop(type(model).__name__, None)
    return flat, recorder.opened


def unknown_classes(model):
    runs = lambda operation: is_plain(operation) if isinstance(operation, keras.Layer) else is_known(operation)
    return sorted({type(operation).__name__ for operation in model.operations if not runs(operation)})


def random_inputs(model, specs, rows, length, seed):
    random = np.random.default_rng(seed)
    tables = [l.input_dim for l in model._flatten_layers() if isinstance(l, keras.layers.Embedding)]
    limit = min([10, *tables])
    def make(spec):
        shape = (rows, *(length if size is None else size for size in spec.shape))
        if "float" in spec.dtype and not (tables and len(shape) == 2):
            return random.standard_normal(shape).astype(spec.dtype)
        if spec.dtype == "string":
            words = np.array(["", "the", "a", "of and", "Unseen, quite!"])
            return ops.convert_to_tensor(words[random.integers(0, len(words), shape)])
        if spec.dtype == "bool":
            return np.ones(shape, "bool")
        return random.integers(0, max(limit, 1), shape).astype(spec.dtype)
    return tree.map_structure(make, specs)


def difference(model, flat, inputs):
    """The largest difference of an output, and the largest output."""
    a, b = (tree.flatten(m(inputs, training=False)) for m in (model, flat))
    worst, largest = 0.0, 0.0
    for x, y in zip(a, b):
        x, y = (ops.convert_to_numpy(z if is_text(z) else ops.cast(z, "float32")) for z in (x, y))
        if x.shape != y.shape:
            return math.inf, 1.0
        if x.dtype == object:
            x, y = np.zeros(x.shape), np.not_equal(x, y).astype("float32")
        worst = max(worst, float(np.max(np.abs(x - y), initial=0)))
        largest = max(largest, float(np.max(np.abs(x), initial=0)))
    return worst, largest


def flatten(model, path, inputs=None, length=None):
    """Writes the model as one of built-in layers to `path`, checks it, and says in a sentence what it did."""
    specs = specs_of(model, inputs)
    flat, opened = flat_model(model, specs, length)
    flat.save(path)
    lengths = [length] if length else [5, 7]
    flat = keras.saving.load_model(path, compile=False)
    checks = []
    for rows, steps in zip((1, 3), lengths * 2):
        checks.append(difference(model, flat, random_inputs(model, specs, rows, steps, rows)))
    worst, largest = max(check[0] for check in checks), max(check[1] for check in checks)
    what = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in opened.items()) or "no layer"
    print(f"{path}: {what} opened; {len(flat.layers)} layers, {flat.count_params():,} parameters")
    print(f"checked at batch 1 and 3: the largest difference is {worst:.3g}, of outputs up to {largest:.3g}")
    missing = unknown_classes(flat)
    if missing:
        print(f"attn does not know: {', '.join(missing)}", file=sys.stderr)
    if not worst <= TOLERANCE * max(largest, 1e-3):
        raise CannotFlatten("the two models differ; does a layer use other functions than keras.ops?")
    return flat


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out", help=".keras")
    parser.add_argument("--import", dest="modules", action="append", default=[], metavar="MODULE",
                        help="a module, or a .py file, that defines and registers the model's classes; repeatable")
    parser.add_argument("--inputs", metavar="FILE", help=".npz or .npy: what it is called with")
    parser.add_argument("--length", type=int, metavar="N", help="makes unknown lengths this one")
    parser.add_argument("--allow-lambda", action="store_true", help="loads Lambda layers, which run code from the file")
    options = parser.parse_args()
    for module in options.modules:
        folder, name = os.path.split(module)
        sys.path.insert(0, folder or ".")
        module = importlib.import_module(name.removesuffix(".py"))
        # Classes that were not registered are found by their names.
        for one in vars(module).values():
            if inspect.isclass(one) and issubclass(one, keras.Layer) and not is_keras(one):
                keras.saving.get_custom_objects().setdefault(one.__name__, one)
    inputs = None
    if options.inputs:
        inputs = np.load(options.inputs)
        if not isinstance(inputs, np.ndarray):
            inputs = dict(inputs) if len(inputs.files) > 1 else inputs[inputs.files[0]]
    try:
        model = keras.saving.load_model(options.model, compile=False, safe_mode=not options.allow_lambda)
        flatten(model, options.out, inputs, options.length)
    except CannotFlatten as error:
        sys.exit(f"flatten.py: {options.model}: {error}")


if __name__ == "__main__":
    main()
