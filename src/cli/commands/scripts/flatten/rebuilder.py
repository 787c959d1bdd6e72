class Rebuilder:
    """Creates a recorded model again, with unknown sizes in place of the primes."""

    def __init__(self, recorder, inputs, batch, length):
        self.recorder = recorder
        self.batch, self.length = batch, length  # primes; length may be None
        self.made = {}  # id(old layer) -> (new layer, old layer)
        self.used = {tensor._keras_history.operation.name for tensor in inputs}  # names
        self.constants = {}  # bytes, or id(variable) -> tensor
        self.inputs = inputs
        self.rows = self.steps = None
        self.tables = Recorder(inputs)

    def outputs(self, function, inputs):
        outputs = function._run_through_graph(inputs, operation_fn=self.operation)
        outputs = tree.map_structure(self.result, outputs)
        for operation in reversed(operations_behind(filter(is_symbolic, tree.flatten(outputs)))):
            if not isinstance(operation, keras.Layer):  # names of layers are unique already
                operation.name = self.unique(operation.name.rstrip("0123456789").rstrip("_"))
        return outputs

    def result(self, value):
        """Returns an output as a symbolic tensor; it may be a constant."""
        if value is None or is_symbolic(value):
            return value
        value = self.argument(value if isinstance(value, keras.Variable) else ops.convert_to_numpy(value))
        return value if is_symbolic(value) else self.tables.symbolic(value)

    def operation(self, old):
        if isinstance(old, keras.Layer):
            return lambda *args, **kwargs: self.called(self.layer(old), self.arguments(args), self.arguments(kwargs))
        return lambda *args, **kwargs: self.again(old, self.arguments(args), self.arguments(kwargs))

    def called(self, layer, args, kwargs):
        outputs = layer(*args, **kwargs)
        self.tables.note(outputs)
        return outputs

    def arguments(self, structure):
        return tree.map_structure(self.argument, structure)

    def argument(self, value):
        if isinstance(value, keras.Variable):
            return self.variable(value)
        if is_array(value):
            return self.constant(ops.convert_to_numpy(value))
        if isinstance(value, float):
            return self.finite(value)
        if isinstance(value, int) and not isinstance(value, bool) and value and self.shows(value):
            raise CannotFlatten("it uses the number of " + self.shows(value) + " as a value")
        return value

    def variable(self, value):
        """Returns the tensor of a variable that was not an attribute of its layer, such as one of self.weights."""
        if "float" not in str(value.dtype):
            return self.constant(ops.convert_to_numpy(value))
        if id(value) not in self.constants:
            name = self.unique(value.path)
            self.constants[id(value)] = self.tables.table(
                ops.convert_to_numpy(value), name, value.trainable, value.dtype)
        return self.constants[id(value)]

    def finite(self, value):
        """Replaces infinities by the largest number, because JSON has no infinity."""
        if not isinstance(value, (float, np.ndarray)) or np.asarray(value).dtype.kind != "f" or not np.isinf(value).any():
            return value
        most = np.finfo(getattr(value, "dtype", "float32")).max
        clipped = np.clip(value, -most, most)
        return clipped if isinstance(value, np.ndarray) else float(clipped)

    def shows(self, size):
        for prime, what in ((self.batch, "rows of a batch"), (self.length, "positions")):
            if prime and isinstance(size, int) and size and size % prime == 0:
                return what
        return ""

    def layer(self, old):
        if id(old) not in self.made:
            config = self.without_custom(old.get_config())
            if id(old) in self.recorder.linear:
                config["activation"] = "linear"
            new = type(old).from_config(config)
            new.name = self.unique(self.recorder.names.get(id(old), old.name))
            self.made[id(old)] = (new, old)
        return self.made[id(old)][0]

    def without_custom(self, config):
        """Removes custom initializers, regularizers and constraints, which only training uses, and the sizes with which
        a nested model was first called."""
        if isinstance(config, (list, tuple)):
            return type(config)(self.without_custom(item) for item in config)
        if not isinstance(config, dict):
            return config
        out = {}
        for key, value in config.items():
            is_object = isinstance(value, dict) and "class_name" in value
            custom = is_object and not str(value.get("module")).startswith("keras")
            if key == "batch_shape" and value:
                value = [None, *(None if self.shows(size) else size for size in value[1:])]
            if custom and key.endswith(("initializer", "regularizer", "constraint")):
                value = "zeros" if key.endswith("initializer") else None
            out[key] = self.without_custom(value)
        return out

    def unique(self, name):
        name, out, count = name.replace("/", "_"), name.replace("/", "_"), 0
        while out in self.used:
            count += 1
            out = f"{name}_{count}"
        self.used.add(out)
        return out

    def copy_weights(self):
        for new, old in self.made.values():
            new.set_weights(old.get_weights())

    def again(self, old, args, kwargs):
        config = {key: self.finite(value) for key, value in old.get_config().items() if key != "name"}
        kind = type(old).__name__
        if kind == "ConvertToTensor" and is_text(args[0]):
            return args[0]
        shown = any(self.shows(leaf) for leaf in tree.flatten(list(config.values())) if isinstance(leaf, int))
        if not shown:
            return type(old)(**config)(*args, **kwargs)
        static = tuple(old.output.shape) if len(old._inbound_nodes) == 1 else None
        if kind == "Reshape" and static:
            unknown = [size for size in static[1:] if self.shows(size)]
            if static[0] == self.batch == old._inbound_nodes[0].input_tensors[0].shape[0] and len(unknown) == 1:
                # The layer keeps the number of rows, so only one unknown size is left.
                sizes = tuple(-1 if self.shows(size) else size for size in static[1:])
                name = self.unique("reshape")
                return keras.layers.Reshape(sizes, dtype=args[0].dtype, name=name)(args[0])
            return ops.reshape(args[0], self.unknown(static, kind))
        if kind in ("BroadcastTo", "Tile", "Repeat") and static:
            return self.spread(args[0], static)
        raise CannotFlatten(f"{kind} computes a size from the number of {self.shows_any(config)}")

    def shows_any(self, config):
        return next(filter(None, (self.shows(leaf) for leaf in tree.flatten(list(config.values())))))

    def unknown(self, shape, kind):
        out = tuple(-1 if self.shows(size) else size for size in shape)
        if out.count(-1) > 1:
            raise CannotFlatten(f"{kind} has two unknown sizes")
        return out

    def spread(self, x, shape):
        """Repeats x over the rows of the batch by adding a 0 per row, because the unknown number of rows is no argument."""
        if shape[0] != self.batch or any(self.shows(size) for size in shape[1:]):
            raise CannotFlatten("it repeats values over an unknown size other than the batch")
        zeros = np.zeros((1, *shape[1:]), "int32")
        rows = ops.reshape(self.row_zeros(), (-1, *[1] * (len(shape) - 1)))
        if any(size != 1 for size in shape[1:]) and tuple(x.shape)[-len(shape) + 1 :] != tuple(shape[1:]):
            rows = ops.add(rows, zeros)
        if keras.backend.standardize_dtype(x.dtype) == "bool":
            return ops.logical_or(x, ops.cast(rows, "bool"))
        return ops.add(x, ops.cast(rows, x.dtype))

    def row_zeros(self):
        if self.rows is None:
            zeros = ops.zeros_like(self.tables.of_input, dtype="int32")
            axes = tuple(range(1, len(zeros.shape)))
            self.rows = ops.max(zeros, axis=axes) if axes else zeros
        return self.rows

    def positions(self):
        """Returns 0, 1, 2, … over the unknown length."""
        if self.steps is None:
            for tensor in filterfalse(is_text, self.inputs):
                if len(tensor.shape) > 1 and tensor.shape[1] is None:
                    ones = ops.ones_like(tensor, dtype="int32")
                    ones = ops.max(ones, axis=(0, *range(2, len(tensor.shape))))
                    self.steps = ops.subtract(ops.cumsum(ones), 1)
                    break
        return self.steps

    def constant(self, value):
        value = self.finite(value)
        spread_over = None
        if value.ndim and value.shape[0] == self.batch:
            if not all(np.array_equal(row, value[0], equal_nan=value.dtype.kind == "f") for row in value):
                raise CannotFlatten("it contains a constant that differs between the rows of the batch")
            spread_over, value = value.shape, value[:1]
        if self.batch in value.shape:
            raise CannotFlatten("it contains a constant with the batch size in an axis other than the first")
        if self.length and self.length in value.shape:
            out = self.of_length(value)
        elif value.size > MOST_IN_CONFIG:
            out = self.large(value)
        else:
            out = value
        if spread_over is None:
            return out
        if not is_symbolic(out):
            out = self.tables.symbolic(out)
        rows = ops.reshape(self.row_zeros(), (-1, *[1] * (len(spread_over) - 1)))
        if keras.backend.standardize_dtype(out.dtype) == "bool":
            return ops.logical_or(out, ops.cast(rows, "bool"))
        return ops.add(out, ops.cast(rows, out.dtype))

    def large(self, value):
        key = (value.shape, str(value.dtype), value.tobytes())
        if key not in self.constants:
            table = self.tables.table(value, self.unique("constant"), False)
            dtype = "int32" if value.dtype == np.int64 else value.dtype.name
            self.constants[key] = table if dtype == "float32" else ops.cast(table, dtype)
        return self.constants[key]

    def of_length(self, value):
        """Returns a constant of positions, or a triangular mask, for any length."""
        n, bare = self.length, value.reshape([size for size in value.shape if size != 1])
        if bare.shape == (n,) and np.array_equal(bare, np.arange(n) + bare[0]):
            out = ops.cast(self.positions() + int(bare[0]), "int32" if value.dtype == np.int64 else value.dtype.name)
        elif bare.shape in ((n,), (n, n)) and (bare == bare.flat[0]).all():
            out = self.positions() * 0
            out = out if bare.ndim == 1 else ops.expand_dims(out, 1) + out
            out = ops.cast(out, value.dtype.name) + value.dtype.type(bare.flat[0]) if bare.dtype != bool else (
                ops.equal(out, 0 if bare.flat[0] else 1))
        elif bare.shape == (n, n):
            lower = np.tril(np.ones((n, n), bool))
            below, above = bare[-1, 0], bare[0, -1]
            queries, keys = ops.expand_dims(self.positions(), 1), self.positions()
            if np.array_equal(bare, np.where(lower, below, above)):
                mask = ops.greater_equal(queries, keys)
            elif np.array_equal(bare, np.where(lower.T, above, below)):
                mask, below, above = ops.less_equal(queries, keys), above, below
            else:
                raise CannotFlatten("it contains a constant that fits only one length; pass --length N")
            out = mask if bare.dtype == bool and below and not above else ops.where(mask, below, above)
            if keras.backend.standardize_dtype(out.dtype) != value.dtype.name and value.dtype != np.int64:
                out = ops.cast(out, value.dtype.name)
        else:
            raise CannotFlatten("it contains a constant that fits only one length; pass --length N")
        if out.ndim < value.ndim:
            for axis, size in enumerate(value.shape):
                if size == 1:
                    out = ops.expand_dims(out, axis)
        return out


