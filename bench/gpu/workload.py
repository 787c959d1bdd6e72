"""The measurements of peers.py, their order, expected duration, and goals. Needs no PyTorch."""

ROUNDS = 3
# Relative Frobenius norm against float64. An encoder in bfloat16 may have twice the error of PyTorch's.
LARGEST_ERROR = {("attention", "bfloat16"): 3e-3, ("attention", "float16"): 5e-4, ("attention", "float32"): 1e-5,
                 ("encoder", "float16"): 3e-3, ("encoder", "float32"): 1e-5}


class Attention:
    """Self-attention with (batch, heads, positions, head size)."""

    def __init__(self, b, h, s, d, causal):
        self.b, self.h, self.s, self.d, self.causal = b, h, s, d, causal
        self.name = f"attention b{b} h{h} s{s} d{d}{' causal' if causal else ''}"
        self.size = f"{b}x{h}x{s}x{d}{':causal' if causal else ''}"  # the --size of attn bench --attention
        self.row = (f"attention h{h} d{d}{' causal' if causal else ''}", b, s)  # the row's name in its report
        self.flops = 4 * b * h * s * s * d / (2 if causal else 1)


class Encoder:
    def __init__(self, name, blocks, d, heads, ff, activation, batch, length):
        self.blocks, self.d, self.heads, self.ff, self.activation = blocks, d, heads, ff, activation
        self.batch, self.length = batch, length
        self.name = f"{name} b{batch} s{length}"
        self.flops = blocks * batch * length * (8 * d * d + 4 * d * ff) + 4 * blocks * batch * length * length * d


def attention(smoke=False):
    """Ordered by dtype: bfloat16 first, and in it the rows with goals first."""
    if smoke:
        return {"bfloat16": [Attention(2, 2, 64, 64, causal) for causal in (False, True)]}
    both = lambda sizes: [Attention(*size, causal) for size in sizes for causal in (False, True)]
    half = [(b, 2048 // d, s, d) for s, b in ((4096, 4), (16384, 1)) for d in (128, 64)]
    half += [(1, 16, 4096, d) for d in (128, 64)]
    half += [(b, 2048 // d, s, d) for s, b in ((1024, 16), (512, 32)) for d in (128, 64)]
    half += [(8, 12, 512, 64), (32, 8, 50, 64), (4, 16, 4096, 96), (4, 8, 4096, 256)]
    return {"bfloat16": both(half), "float16": both([(4, 2048 // d, 4096, d) for d in (128, 64)]),
            "float32": both([(1, 16, 2048, 64)])}


def encoders(smoke=False):
    if smoke:
        return [Encoder("tiny", 2, 32, 4, 64, "relu", 2, 8)]
    bert = [Encoder("bert-base", 12, 768, 12, 3072, "gelu", b, s) for b, s in ((1, 128), (8, 128), (32, 128), (1, 512))]
    return bert + [Encoder("seed", 6, 512, 8, 2048, "relu", b, 50) for b in (1, 32)]


PADDED_BATCHES = (8, 32)


def seconds_of(kind, count=1):
    """Returns the expected duration of a measurement of this many sizes; it starts only if that much time is left."""
    # Per size: half a second of passes, a quarter of that with a cold cache and with copies, warm-up, 64 exact rows.
    each = {"attention": 2.5, "attention peers": 1.2, "encoder": 40, "padding": 45}[kind]
    return round((10 if kind == "attention" else 0) + each * count)


def limit_of(kind, count=1):
    """Returns the seconds after which a measurement counts as hanging."""
    return 3 * seconds_of(kind, count)


def goal_of(kind, name, dtype):
    """Returns (peer, largest ratio of times), the goal of attn, or None."""
    words = name.split()
    if kind == "encoder" and dtype != "float32":
        return "compile+graph", 0.7 if "b1" in words else 0.9
    if kind == "padding":
        return "padded", 0.75
    if kind == "attention" and dtype == "bfloat16" and ("s4096" in words or "s16384" in words):
        if "d128" in words:
            return "cudnn", 1 / 0.95
        if "d64" in words:
            return "cudnn", 1.0
    return None


def steps(parts):
    """Returns (name, seconds) of every measurement, in order."""
    for part in parts:
        if part == "attention":
            for dtype, sizes in attention().items():
                for turn in range(1, ROUNDS + 1):
                    yield f"attn, {len(sizes)} sizes in {dtype}, round {turn}", seconds_of("attention", len(sizes))
                    yield f"PyTorch, the same, round {turn}", seconds_of("attention peers", len(sizes))
        elif part == "encoders":
            for dtype in ("bfloat16", "padding", "float16", "float32"):
                if dtype == "padding":
                    for batch in PADDED_BATCHES:
                        yield f"bert-base b{batch} padded and not", seconds_of("padding")
                    continue
                for encoder in encoders():
                    yield f"{encoder.name} {dtype}", seconds_of("encoder")
