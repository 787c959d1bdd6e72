"""Draws random Keras models: a pool of symbolic tensors that random steps read from and add to."""
import keras
import numpy as np

LARGEST = 2000  # elements of one sample


class Unfit(Exception):
    """The drawn step cannot be built; another draw is needed."""


FAMILIES = {}


def family(name, weight=1.0):
    """Registers a function of a Draw as a step of the family `name`."""
    def add(step):
        FAMILIES.setdefault(name, []).append((step, weight))
        return step
    return add


class Draw:
    """A model under construction. `batch` and `steps` are the values of unknown dimensions."""

    def __init__(self, rng, parent=None):
        self.rng = rng
        self.parent = parent
        self.pool = []    # tensors, oldest first
        self.used = set()  # ids of the tensors that a step has read
        self.sealed = set()  # ids of tensors whose symbolic shape or dtype differs from Keras's result: no step may read them
        self.inputs = []
        self.bounds = {}  # maps the id of an integer tensor to the number of its values
        self.batch = parent.batch if parent else self.integer(1, 3)
        self.steps = parent.steps if parent else self.integer(2, 6)
        self.depth = parent.depth + 1 if parent else 0

    # ---- numbers
    def integer(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def number(self, low, high):
        return round(float(self.rng.uniform(low, high)), 3)

    def chance(self, p):
        return self.rng.random() < p

    def one(self, items):
        items = list(items)
        return items[int(self.rng.integers(len(items)))]

    def some(self, items, least=1, most=None):
        """Different items, in random order."""
        items = list(items)
        most = len(items) if most is None else min(most, len(items))
        chosen = self.rng.permutation(len(items))[:self.integer(least, max(most, least))]
        return [items[i] for i in chosen]

    def options(self, **choices):
        """Some of the arguments: each of `choices` is a list of values, or a function that draws one."""
        out = {}
        for key, values in choices.items():
            if self.chance(0.5):
                out[key] = values() if callable(values) else self.one(values)
        return out

    def axis(self, rank, first=0):
        at = self.integer(first, rank - 1)
        return at - rank if self.chance(0.5) else at

    def axes(self, rank, first=0, most=None):
        """Different axes, some counted from the back."""
        return [at - rank if self.chance(0.3) else at for at in self.some(range(first, rank), 1, most)]

    # ---- tensors
    def input(self, shape=None, dtype="float32", bound=None, batch_shape=None, name=None):
        """A new input of the model; an integer one has values from 0 to bound − 1."""
        extra = {}
        if name or self.chance(0.4):
            extra["name"] = name or f"{self.one(['x', 'tokens', 'Image', 'some_input', 'a.b', 'q-k'])}_{len(self.inputs)}_{self.depth}"
        if batch_shape is not None:
            x = keras.Input(batch_shape=batch_shape, dtype=dtype, **extra)
        elif self.chance(0.08) and self.depth == 0:
            x = keras.Input(batch_shape=(self.batch, *shape), dtype=dtype, **extra)
        else:
            x = keras.Input(tuple(shape), dtype=dtype, **extra)
        self.inputs.append(x)
        self.pool.append(x)
        if bound is not None:
            self.bounds[id(x)] = bound
        return x

    def size(self, low=1, high=6):
        return self.integer(low, high)

    def time(self):
        """Returns a length: known or unknown."""
        return None if self.chance(0.25) else self.size(1, 7)

    def new(self, rank=None, dtype="float32", shape=None):
        if shape is None:
            rank = rank or self.one([2, 3, 3, 3, 4, 4, 5])
            shape = [self.size(1, 5) for _ in range(rank - 1)]
            if rank >= 3 and self.chance(0.3):
                shape[0] = self.time()
        bound = None
        if "int" in dtype:
            bound = self.size(2, 9)
        return self.input(shape, dtype, bound)

    def pick(self, rank=None, dtype="float", where=None, fresh=0.15, make=None):
        """Returns a tensor of the pool, preferably a later one, or a new input if none is suitable."""
        ranks = None if rank is None else (rank,) if isinstance(rank, int) else tuple(rank)

        def fits(x):
            if id(x) in self.sealed:
                return False
            if ranks and len(x.shape) not in ranks:
                return False
            if dtype == "float" and "float" not in x.dtype or dtype == "int" and "int" not in x.dtype:
                return False
            if dtype == "bool" and x.dtype != "bool":
                return False
            if dtype == "number" and x.dtype == "bool":
                return False
            if np.prod([self.steps if n is None else n for n in x.shape[1:]]) > LARGEST:
                return False
            return where is None or where(x)

        fitting = [x for x in self.pool if fits(x)]
        if fitting and not self.chance(fresh):
            unread = [x for x in fitting if id(x) not in self.used]
            x = self.one(unread if unread and self.chance(0.7) else fitting)
        elif make:
            x = make()
        else:
            kind = {"float": "float32", "number": self.one(["float32", "float32", "int32"]), "int": self.one(["int32", "int32", "int64"]),
                    "bool": "bool", "any": self.one(["float32", "float32", "int32", "bool"])}[dtype]
            x = self.new(self.one(ranks) if ranks else None, kind)
            if not fits(x):
                raise Unfit
        self.used.add(id(x))
        return x

    def like(self, x, fresh=0.5):
        """Returns a tensor with the shape of x: another one of the pool, x itself, or a new input."""
        same = [y for y in self.pool if id(y) not in self.sealed and tuple(y.shape) == tuple(x.shape) and y.dtype == x.dtype]
        if same and not self.chance(fresh):
            y = self.one(same)
        elif len(x.shape) > 1 and x.shape[0] is None:
            y = self.input(x.shape[1:], x.dtype, self.bounds.get(id(x)))
        else:
            y = x
        self.used.add(id(y))
        return y

    def tokens(self, length=None):
        """Returns integers of rank 2, and their upper bound."""
        known = [x for x in self.pool if "int" in x.dtype and len(x.shape) == 2 and id(x) in self.bounds]
        if known and self.chance(0.6):
            x = self.one(known)
        else:
            x = self.input((self.time() if length is None else length,), self.one(["int32", "int32", "int64", "uint8"]), self.size(2, 9))
        self.used.add(id(x))
        return x, self.bounds[id(x)]

    def add(self, *results):
        """Adds the results of a step to the pool."""
        for x in keras.tree.flatten(results):
            if keras.backend.is_keras_tensor(x) and len(x.shape) <= 7:
                self.pool.append(x)
        return results[0] if results else None

    def is_input(self, x):
        return any(x is y for y in self.inputs)

    def seal(self, *results):
        self.sealed.update(id(x) for x in keras.tree.flatten(results))

    def width(self, x):
        if x.shape[-1] is None:
            raise Unfit
        return x.shape[-1]

    # # ---- common arguments of layers
    def common(self, trainable=0.1, policy=0.05):
        out = {}
        if self.chance(trainable):
            out["trainable"] = False
        if self.chance(policy):
            out["dtype"] = self.one(["float32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float64"])
        if self.chance(0.15):
            kind = self.one(["block", "encoder_layer_with_a_rather_long_name", "L", "x.y", "Größe", "my layer"])
            out["name"] = f"{kind}_{self.integer(0, 99999)}"
        return out

    def initializer(self):
        seed = self.integer(0, 999) if self.chance(0.7) else None
        I = keras.initializers
        return self.one([
            lambda: I.GlorotUniform(seed=seed), lambda: I.GlorotNormal(seed=seed), lambda: I.HeUniform(seed=seed),
            lambda: I.HeNormal(seed=seed), lambda: I.LecunUniform(seed=seed), lambda: I.LecunNormal(seed=seed),
            lambda: I.RandomNormal(0.1, 0.3, seed=seed), lambda: I.RandomUniform(-0.2, 0.4, seed=seed),
            lambda: I.TruncatedNormal(0.0, 0.2, seed=seed), lambda: I.Zeros(), lambda: I.Ones(), lambda: I.Constant(self.number(-1, 1)),
            lambda: I.VarianceScaling(self.number(0.5, 2), self.one(["fan_in", "fan_out", "fan_avg"]),
                                      self.one(["uniform", "truncated_normal", "untruncated_normal"]), seed=seed),
            lambda: "he_normal", lambda: "uniform", lambda: "ones"])()

    def regularizer(self):
        R = keras.regularizers
        return self.one([lambda: R.L1(0.01), lambda: R.L2(0.02), lambda: R.L1L2(0.01, 0.02), lambda: "l2"])()

    def constraint(self):
        C = keras.constraints
        return self.one([lambda: C.NonNeg(), lambda: C.MaxNorm(2, axis=0), lambda: C.UnitNorm(axis=0), lambda: C.MinMaxNorm(0.1, 1.0, 0.9)])()

    def variables(self, *names, constraints=True):
        """Initializers, regularizers and constraints of some variables."""
        out = {}
        for name in names:
            if self.chance(0.35):
                out[f"{name}_initializer"] = self.initializer()
            if self.chance(0.08):
                out[f"{name}_regularizer"] = self.regularizer()
            if constraints and self.chance(0.08):
                out[f"{name}_constraint"] = self.constraint()
        return out

    def activation(self, whole=True):
        """Returns an activation: a name, a function or a layer."""
        A = keras.activations
        plain = ["linear", "relu", "relu6", "gelu", "silu", "swish", "sigmoid", "tanh", "elu", "selu", "celu", "softplus", "softsign",
                 "exponential", "hard_sigmoid", "hard_silu", "hard_swish", "leaky_relu", "mish", "hard_tanh", "tanh_shrink",
                 "soft_shrink", "hard_shrink", "squareplus", "sparse_plus", "sparse_sigmoid", "log_sigmoid", "threshold"]
        plain.remove("threshold")  # needs arguments
        others = [None, A.relu, A.gelu, A.tanh]
        if whole:
            plain += ["softmax", "log_softmax", "sparsemax"]
            others += [lambda: keras.layers.ReLU(max_value=1.5, negative_slope=0.1, threshold=0.2), lambda: keras.layers.LeakyReLU(0.1),
                       lambda: keras.layers.ELU(0.7)]
        if self.chance(0.8):
            return self.one(plain)
        picked = self.one(others)
        return picked() if callable(picked) and getattr(picked, "__name__", "") == "<lambda>" else picked

    def apply(self, layer, *args, **kwargs):
        """Calls a layer on tensors, and occasionally a second time (a shared layer)."""
        out = layer(*args, **kwargs)
        self.add(out)
        if self.chance(0.08):
            again = keras.tree.map_structure(lambda x: self.like(x) if keras.backend.is_keras_tensor(x) else x, args)
            self.add(layer(*again, **kwargs))
        return out


def draw_step(draw, only=None):
    """Adds one random step; draws again if it cannot be built."""
    names = [only] if only else [*FAMILIES, "ops", "ops", "attention"]
    for _ in range(30):
        steps = FAMILIES[draw.one(names)]
        weights = np.array([weight for _, weight in steps])
        step = steps[int(draw.rng.choice(len(steps), p=weights / weights.sum()))][0]
        pool, inputs, used = list(draw.pool), list(draw.inputs), set(draw.used)
        try:
            step(draw)
            return step.__name__
        except Exception as error:  # Keras rejects arguments with various exceptions
            draw.pool, draw.inputs, draw.used = pool, inputs, used
            draw.last_refusal = f"{step.__name__}: {type(error).__name__}: {error}"
    raise Unfit
