"""Random tokenizers and models with unusual parts: each text and each list of ids gives a result or one sentence, in
time and memory proportional to the input."""
import base64
import json
import random
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from program import ROOT, Folder, limited, shell_code

DATA = ROOT / "tests/data"
SECONDS, MEMORY = 20, 2 << 30
LETTERS = ["a", "b", "c", "t", "he", "the", "\u2581", "\u2581a", "\u2581the", "##he", "##b", "\u0120", "\u00c3", "\u00a9", "[UNK]",
           "<s>", "</s>", "A", "aa", "ab", "\u00e9", "e\u0301", "1", "12", "!", " ", "<0x0A>", "<0xE2>", "<0x82>", "<0xAC>",
           "\ufdfa", "\u1100", "\u6771"]
TEXTS = ["", "a", "the a b", "  a  ", "\u00e9\u00c9e\u0301", "\ufdfa\ufdfa", "It's 12!\n\n \tb", "\u6771\u4eac", "<s>a</s> <s>",
         "\U0001f9d1\u200d\U0001f680", "\u0300\u0323" * 40, "a" * 300, " " * 300, "\u0301" * 300, "!" * 300, "<s>" * 60]
LONG = ["a", " ", "!", "\u0301", "\u0300\u0323", "<s>", "\u00e9", "\ufdfa", "\n", "a ", "1", "\u2581"]
CONTENTS = ["", "a", " ", "\u2581", "aa", "b" * 40, "x" * 1024, "\u00e9", "\ufdfa", "\n", "\u0120", "<s>"]
EXPRESSIONS = ["", "a", "a*", "(a+)+$", "\\s+", "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", "(?=a)", "(?<=a)", "a\\Kb",
               "(?(DEFINE)(?<n>\\Ka))(?<=(?&n))", "[^a]", "\\p{L}+|\\p{N}", ".", "(?s).", "^", "$", "\\b", "(a|ab)(c|bcd)*",
               "(?:(?:a?){20}){20}", "((a{1,50}){1,50})", "(?R)?a", "\\X", "(", "[", "a{9999}", "x" * 5000]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SCHEMES = ["always", "first", "never"]


def odd(draw, value):
    """Returns the value, or occasionally one of another type."""
    return draw.choice([None, "", -1, 2**62, 1e308, [], {}, True, "x"]) if draw.random() < 0.02 else value


def pattern(draw):
    return {"String": draw.choice(CONTENTS)} if draw.random() < 0.5 else {"Regex": draw.choice(EXPRESSIONS)}


def char_map(draw):
    blob = bytearray(draw.randbytes(draw.randrange(0, 64)))
    return base64.b64encode(bytes(blob)).decode()


def metaspace(draw):
    return {"type": "Metaspace", "replacement": odd(draw, draw.choice(["\u2581", "_", "", "\u2581\u2581", "a"])),
            "prepend_scheme": odd(draw, draw.choice(SCHEMES)), "split": draw.random() < 0.7}


def normalizer(draw):
    kind = draw.randrange(12)
    if kind < 4:
        return {"type": ("NFC", "NFD", "NFKC", "NFKD")[kind]}
    return [{"type": "Lowercase"}, {"type": "StripAccents"},
            {"type": "BertNormalizer", "clean_text": draw.random() < 0.5, "handle_chinese_chars": draw.random() < 0.5,
             "strip_accents": draw.choice([None, True, False]), "lowercase": draw.random() < 0.5},
            {"type": "Replace", "pattern": pattern(draw), "content": odd(draw, draw.choice(CONTENTS))},
            {"type": "Replace", "pattern": pattern(draw), "content": draw.choice(CONTENTS)},
            {"type": "Prepend", "prepend": odd(draw, draw.choice(CONTENTS))},
            {"type": "Strip", "strip_left": draw.random() < 0.5, "strip_right": draw.random() < 0.5},
            {"type": "Precompiled", "precompiled_charsmap": char_map(draw)}][kind - 4]


def pre_tokenizer(draw):
    return draw.choice([
        lambda: {"type": "ByteLevel", "add_prefix_space": draw.random() < 0.5, "use_regex": draw.random() < 0.5},
        lambda: metaspace(draw),
        lambda: {"type": "Split", "pattern": pattern(draw), "behavior": odd(draw, draw.choice(BEHAVIORS)),
                 "invert": draw.random() < 0.3},
        lambda: {"type": draw.choice(["BertPreTokenizer", "WhitespaceSplit", "Whitespace"])},
        lambda: {"type": "Digits", "individual_digits": draw.random() < 0.5},
        lambda: {"type": "Punctuation", "behavior": draw.choice(BEHAVIORS)}])()


def decoder(draw):
    return draw.choice([
        lambda: {"type": draw.choice(["ByteLevel", "ByteFallback", "Fuse"])},
        lambda: {"type": "WordPiece", "prefix": odd(draw, draw.choice(["##", "", "a"])), "cleanup": draw.random() < 0.5},
        lambda: metaspace(draw),
        lambda: {"type": "Strip", "content": odd(draw, draw.choice([" ", "", "a"])),
                 "start": odd(draw, draw.choice([0, 1, 2**62])), "stop": odd(draw, draw.choice([0, 1, 2**62]))},
        lambda: {"type": "Replace", "pattern": pattern(draw), "content": odd(draw, draw.choice(CONTENTS))}])()


def several(draw, make, key):
    count = draw.choice([0, 1, 1, 1, 2, 3, 30])
    if count == 0:
        return None
    one = make(draw)
    made = [one if draw.random() < 0.3 else make(draw) for _ in range(count)]
    return made[0] if count == 1 else {"type": "Sequence", key: made}


def processor(draw):
    return draw.choice([
        lambda: None, lambda: {"type": "ByteLevel"},
        lambda: {"type": "BertProcessing", "sep": ["</s>", odd(draw, 1)], "cls": ["<s>", odd(draw, 0)]},
        lambda: {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                          {"Sequence": {"id": "A", "type_id": 0}}],
                 "special_tokens": {"<s>": {"id": "<s>", "ids": [odd(draw, 0)] * draw.choice([1, 1, 1000]),
                                            "tokens": ["<s>"]}}}])()


def model(draw):
    tokens = draw.sample(LETTERS, draw.randrange(4, len(LETTERS)))
    kind = draw.choice(["BPE", "WordPiece", "Unigram"])
    if draw.random() < 0.1:
        tokens.append(draw.choice("ab") * draw.choice([100, 1024, 1025, 5000]))
    if kind == "Unigram":
        return {"type": kind, "unk_id": odd(draw, 0), "byte_fallback": draw.random() < 0.5,
                "vocab": [[token, odd(draw, -draw.random() * 10)] for token in tokens]}
    ids = {token: i for i, token in enumerate(tokens)}
    if kind == "WordPiece":
        return {"type": kind, "unk_token": "[UNK]", "continuing_subword_prefix": odd(draw, draw.choice(["##", "", "a"])),
                "max_input_chars_per_word": odd(draw, draw.choice([100, 1, 10**9])), "vocab": ids | {"[UNK]": len(ids)}}
    merges = [[left, right] for left in tokens for right in tokens if left + right in ids]
    return {"type": kind, "unk_token": draw.choice([None, "a"]), "fuse_unk": draw.random() < 0.5, "vocab": ids,
            "byte_fallback": draw.random() < 0.5, "ignore_merges": draw.random() < 0.5, "merges": merges}


def added_tokens(draw, first):
    contents = draw.sample(["<s>", "</s>", " ", "a", "the", "\u00c9", "A", "!", "  ", "\n", "\u0301", "x" * 1000],
                           draw.randrange(0, 5))
    return [{"id": odd(draw, first + i), "content": odd(draw, content), "special": draw.random() < 0.5,
             "normalized": draw.random() < 0.5, "single_word": draw.random() < 0.2, "lstrip": draw.random() < 0.3,
             "rstrip": draw.random() < 0.3} for i, content in enumerate(contents)]


def pipeline(draw):
    """Returns a tokenizer.json."""
    made = model(draw)
    return json.dumps({"version": "1.0", "added_tokens": added_tokens(draw, len(made["vocab"])),
                       "normalizer": several(draw, normalizer, "normalizers"),
                       "pre_tokenizer": several(draw, pre_tokenizer, "pretokenizers"),
                       "post_processor": processor(draw), "decoder": several(draw, decoder, "decoders"), "model": made})


def changed(draw, data):
    """Returns the bytes with some changed, repeated, removed or cut off."""
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        if not data:
            break
        at, length = draw.randrange(len(data)), draw.randrange(1, 9)
        kind = draw.randrange(5)
        if kind == 0:
            data[at] = draw.randrange(256)
        elif kind == 1:
            data[at:at] = data[at:at + length] * draw.choice([1, 2, 100])
        elif kind == 2:
            del data[at:at + length]
        elif kind == 3:
            data[at:at + length] = draw.randbytes(length)
        else:
            del data[at:]
    return bytes(data)


SMALL = 1 << 20


def folders():
    """Returns presets and Hugging Face folders to mutate."""
    return sorted(path for kind in ("tokenizers", "generation") for name in ("preset", "hf")
                  for path in (DATA / kind).glob(f"*/{name}"))


def write_mutant(draw, folder):
    """Writes a model to `folder` and returns a description of its mutations."""
    if draw.random() < 0.6:
        (folder / "config.json").write_text("{}")
        (folder / "tokenizer.json").write_text(pipeline(draw))
        return "pipeline"
    source = draw.choice(folders())
    shutil.copytree(source, folder, dirs_exist_ok=True)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size < SMALL
             and "weights" not in path.name and not path.name.endswith(".safetensors")]
    for path in draw.sample(files, min(len(files), draw.choice([1, 1, 2]))):
        path.chmod(0o600)
        path.write_bytes(changed(draw, path.read_bytes()))
    return source.parent.name + "/" + source.name


def trouble(attn, words, text, place):
    """Returns the problem of a run, or nothing."""
    start = time.monotonic()
    try:
        done = subprocess.run([attn.path, *words], input=text, capture_output=True, timeout=SECONDS, check=False,
                              preexec_fn=limited(MEMORY, SECONDS), env=attn.environment({"ATTN_THREADS": "1"}))
    except subprocess.TimeoutExpired:
        return f"{place}: {words}: still at work after {SECONDS} s"
    code, err = shell_code(done.returncode), done.stderr.decode(errors="replace")
    if code not in (0, 2, 3):
        return f"{place}: {words}: exit {code} after {time.monotonic() - start:.1f} s: {err[-300:]!r}"
    if code != 0 and "attn: error: " not in err:
        return f"{place}: {words}: said {err[-300:]!r}"
    raw = [byte for byte in done.stderr if byte < 32 and byte not in (9, 10) or byte == 127]
    return f"{place}: {words}: control bytes in {done.stderr[-300:]!r}" if raw else None


def mutant(attn, seed):
    draw = random.Random(seed)
    with Folder() as folder:
        place = f"seed {seed}, {write_mutant(draw, folder)}"
        text = draw.choice(TEXTS).encode()
        if draw.random() < 0.05:
            text = (draw.choice(LONG) * 200_000).encode()
        flow = draw.choice([(), (), ("--workflow", "hf")])
        ids = ",".join(str(draw.randrange(40)) for _ in range(draw.choice([1, 5, 300])))
        commands = [(("tokenize", str(folder), *flow, "--format", "ids"), text),
                    (("tokenize", str(folder), *flow, "--ids", ids, "--decode"), b"")]
        if draw.random() < 0.3:
            commands.append((("tokenize", str(folder), *flow), text[:2000].decode(errors="ignore").encode()))
        if draw.random() < 0.1 and (folder / "task.json").exists():
            commands.append((("generate", str(folder), "--prompt", "a", "--max-new-tokens", "2"), b""))
        return [each for words, given in commands if (each := trouble(attn, words, given, place))]


def check(attn, _, jobs, short):
    count = 300 if short else 20_000
    with ThreadPoolExecutor(jobs) as pool:
        failures = [each for found in pool.map(lambda seed: mutant(attn, seed), range(count)) for each in found]
    return f"{count} tokenizers and folders at random", failures
