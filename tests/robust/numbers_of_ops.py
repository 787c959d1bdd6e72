"""oneDNN against the reference: exact, extreme and 2,000 random cases (tests/ops/numbers_test.cpp)."""
import os
import re
import subprocess

CASES = 2000


def check(attn, _, __, short):
    if short:
        return "as `make test` has them", []
    program = os.path.join(os.path.dirname(attn.path), "tests", "attn_test_ops")
    variables = os.environ | {"ATTN_RANDOM_CASES": str(CASES)}
    done = subprocess.run([program, "--test-case=numbers:*"], env=variables, capture_output=True, text=True,
                          check=False)
    told = re.search(r"assertions:\s*(\d+) \|\s*(\d+) passed", done.stdout)
    wrong = re.findall(r"^  logged: (.*)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 and not wrong:
        wrong = [done.stdout[-400:] + done.stderr[-400:]]
    return f"{told.group(2) if told else 0} comparisons agree", wrong
