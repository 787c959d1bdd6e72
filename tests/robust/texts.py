"""Unusual command lines of generate, score and tokenize, for a model of each family: one sentence and the right exit
code."""
from concurrent.futures import ThreadPoolExecutor

from program import ROOT, Folder

MODELS = ROOT / "tests/data/generation"
GENERATING = ("CausalLM", "Seq2SeqLM")
FARTHEST = str(2**63 - 1)
USAGE, FILE, MEMORY = 2, 3, 4

# Words after the model, and the allowed exit codes.
GENERATE = [
    (("--ids", "1,2", "--max-new-tokens", "2"), {0}),
    (("--ids", "99999999"), {USAGE}),
    (("--ids", "-1"), {USAGE}),
    (("--ids", "1,,x"), {USAGE}),
    (("--ids", ""), {USAGE}),
    (("--ids", "1", "--max-new-tokens", "0"), {USAGE}),
    (("--ids", "1", "--max-new-tokens", FARTHEST), {MEMORY}),
    (("--ids", "1", "--max-length", FARTHEST), {MEMORY}),
    (("--ids", "1", "--max-length", "10000000000"), {MEMORY}),
    (("--ids", "1,2,3,4,5,6", "--max-length", "2"), {0}),
    (("--ids", "1", "--sampler", "beam", "--num-beams", FARTHEST), {MEMORY}),
    (("--ids", "1", "--ids", "2", "--sampler", "beam", "--num-beams", FARTHEST), {MEMORY}),
    (("--ids", "1", "--sampler", "contrastive", "--top-k", "5000", "--max-new-tokens", "2"), {USAGE, MEMORY}),
    (("--ids", "1", "--sampler", "top_k", "--top-k", FARTHEST, "--max-new-tokens", "2"), {0}),
    (("--ids", "1", "--sampler", "top_p", "--top-p", "2"), {USAGE}),
    (("--ids", "1", "--sampler", "random", "--temperature", "nan"), {USAGE}),
    (("--ids", "1", "--sampler", "random", "--temperature", "1e-300"), {USAGE}),
    (("--ids", "1", "--sampler", "random", "--temperature", "1e-30", "--max-new-tokens", "2"), {0}),
    (("--ids", "1", "--stop-ids", "x"), {USAGE}),
    (("--ids", "1", "--logits", "/no/such/folder/l.npz", "--max-new-tokens", "1"), {FILE}),
    (("--ids", "1", "--expect", "/no/such/file"), {FILE}),
    (("--prompts", "/no/such/file"), {FILE}),
    (("--no-such-option",), {USAGE}),
]
DRAFTS = [(("--ids", "1,2,1", "--sampler", "greedy", "--max-new-tokens", "3", "--draft", f"prompt-lookup:{n}"), codes)
          for n, codes in (("0", {USAGE}), ("3", {0}), (FARTHEST, {0}), ("x", {USAGE}))]
SCORE = [(("--ids", "1,2,3"), {0}), (("--ids", "1"), {USAGE}), (("--ids", "1,99999999"), {USAGE}), (("--ids", ""), {USAGE})]
TOKENIZE = [(("--text", ""), {0}), (("--text", "\u200b\U0001f9d1\u0301"), {0}), (("--text", b"\xff\xfe"), {USAGE}),
            (("--ids", "99999999"), {USAGE}), (("--texts", "/no/such/file"), {FILE})]


def command_lines():
    for model in sorted(MODELS.glob("*/preset")):
        task = (model / "task.json").read_text() if (model / "task.json").exists() else ""
        for words, codes in TOKENIZE:
            yield ("tokenize", str(model), *words), codes
        if '"class_name": "' not in task or not any(f"{kind}\"" in task[:400] for kind in GENERATING):
            yield ("generate", str(model), "--prompt", "a"), {FILE}
            continue
        begin = ("--decoder-ids", "1") if 'Seq2SeqLM"' in task[:400] else ()
        for words, codes in GENERATE + ([] if begin else DRAFTS):
            yield ("generate", str(model), *words, *(begin if "--ids" in words else ())), codes
        for words, codes in SCORE:
            yield ("score", str(model), *words), {FILE} if begin else codes


def wrong(attn, words, codes):
    """Returns a problem, or nothing."""
    with Folder() as folder:
        result = attn.run(words, folder)
    if result.code not in codes:
        return f"{words}: exit {result.code}, expected {sorted(codes)}: {result.err[:200]!r}"
    errors = result.error_lines()
    if result.code != 0 and (not errors or not errors[0].startswith("attn: error: ")):
        return f"{words}: it said {result.err[:200]!r}"
    return None


def check(attn, _, jobs, short):
    lines = list(command_lines())[:: 5 if short else 1]
    with ThreadPoolExecutor(jobs) as pool:
        failures = [each for each in pool.map(lambda line: wrong(attn, *line), lines) if each]
    return f"{len(lines)} odd command lines over texts and ids", failures
