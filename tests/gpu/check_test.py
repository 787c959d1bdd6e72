"""Tests `make gpu-check` without a GPU: its verdicts on figures that peers.py recorded, and that each of its steps names
existing tests and programs, with stand-ins for these."""
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(ROOT, "bench/gpu"))
import verdict  # noqa: E402

# A test program that knows the cases of tests/gpu by name, and fails those that FAIL matches.
TESTS = """#!{python}
import fnmatch, os, sys
pattern = next(word[4:] for word in sys.argv if word.startswith("-tc="))
names = [name for name in {names!r} if fnmatch.fnmatchcase(name, pattern)]
print("[doctest] unskipped test cases passing the current filters:", len(names))
print("\\n".join(names))
failing = os.environ.get("FAIL")
sys.exit(bool("-c" not in sys.argv and failing and any(failing in name for name in names)))
"""


def case_names():
    names = []
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/gpu/*.cpp"))):
        with open(path, encoding="utf-8") as file:
            names += re.findall(r'TEST_CASE\(\s*"([^"]*)"', file.read())
    return names


class Check(unittest.TestCase):
    """Runs bench/gpu/check with the programs of a folder."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.names = case_names()
        self.program("attn", '#!/bin/sh\necho attn')
        self.program("nvidia-smi", '#!/bin/sh\necho a GPU')
        self.program("compute-sanitizer", '#!/bin/sh\nshift 4  # --tool TOOL --error-exitcode 9\nexec "$@"')

    def tearDown(self):
        self.folder.cleanup()

    def program(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def check(self, *words, **environment):
        self.program("attn_test_gpu", TESTS.format(python=sys.executable, names=self.names))
        here = {"BUILD": self.folder.name, "OUT": os.path.join(self.folder.name, "logs"),
                "PATH": self.folder.name + os.pathsep + os.environ["PATH"], **environment}
        return subprocess.run([os.path.join(ROOT, "bench/gpu/check"), *words], capture_output=True, text=True,
                              env={**os.environ, **here}, check=False)

    def test_a_dry_run_prints_each_step_and_its_seconds(self):
        done = self.check("--dry-run")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        steps = re.findall(r"^ +(\d+) s  (\S+) ", done.stdout, re.M)
        kinds = ("attention-", "peers-", "tests-", "run", "sanitizer-")
        told = sum(int(seconds) for seconds, name in steps if name.startswith(kinds))
        self.assertIn(f"gpu-check: {told} s where every step takes as long as it may", done.stdout)
        names = [name for _, name in steps]
        self.assertEqual(names[0], "attention-flash-sm90-bfloat16")
        for name in ("peers-attention", "peers-encoders", "tests-operations", "sanitizer-memcheck-encoder"):
            self.assertIn(name, names)

    def test_a_step_names_every_case_on_a_gpu(self):
        told = self.check("--dry-run").stdout
        patterns = re.findall(r"-tc=(.*)$", told, re.M)
        for name in self.names:
            self.assertTrue(any(name.startswith(pattern.rstrip("*")) for pattern in patterns), name)

    def test_a_dry_run_fails_if_a_named_case_does_not_exist(self):
        self.names = [name for name in self.names if not name.startswith("gpu: every model")]
        done = self.check("--dry-run", "tests")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tests-models: attn_test_gpu has no case 'gpu: every model*'", done.stdout)

    def test_a_failure_is_named_and_later_steps_still_run(self):
        done = self.check("tests", FAIL="attention in float16")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("gpu-check: failed: tests-attention-float16\n", done.stdout)
        self.assertIn("gpu-check: tests-encoder: exit 0", done.stdout)

    def test_all_of_a_part_may_pass(self):
        for part in ("tests", "sanitizer"):
            done = self.check(part)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_an_unknown_part_is_rejected(self):
        self.assertEqual(self.check("speed").returncode, 2)


class Verdict(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(ROOT, "tests/data/gpu/peers.json"), encoding="utf-8") as file:
            self.rows = json.load(file)["rows"]

    def again(self, row, name=None, ours=None, errors=None, peers=None):
        """Makes the row from its recorded times, or from others."""
        times = peers or {peer: it["ms_rounds"] for peer, it in row["peers"].items()}
        flops = row["attn_tflops"] * row["attn_ms"] * 1e9
        return verdict.row_of(name or row["name"], row["kind"], row["dtype"], times, ours or row["attn_ms_rounds"],
                              errors or row["relative_error"], flops)

    def test_rows_are_computed_from_their_recorded_times(self):
        self.assertEqual({row["kind"] for row in self.rows}, {"attention", "encoder"})
        for row in self.rows:
            made = self.again(row)
            for key in ("pass", "goal", "rounds", "attn_ms"):
                self.assertEqual(made.get(key), row.get(key), row["name"])
            for peer, it in row["peers"].items():
                for key in ("ms", "ratio", "ratio_min", "ratio_max"):
                    self.assertAlmostEqual(made["peers"][peer][key], it[key], places=12)
            self.assertIsNone(verdict.failure_of(made))

    def test_a_ratio_compares_times_of_one_round(self):
        row = self.again(self.rows[0], ours=[1.0, 4.0, 9.0], peers={"cudnn": [1.0, 2.0, 3.0]})
        self.assertEqual([row["peers"]["cudnn"][key] for key in ("ratio_min", "ratio", "ratio_max")], [1, 2, 3])

    def test_an_error_above_the_limit_is_a_failure(self):
        for row in self.rows:
            errors = copy.deepcopy(row["relative_error"])
            errors["attn"] = 0.1
            made = self.again(row, errors=errors)
            self.assertFalse(made["pass"])
            self.assertEqual(verdict.failure_of(made), f"{row['name']} {row['dtype']}: error 1.0e-01")
            errors["attn"] = float("nan")
            self.assertFalse(self.again(row, errors=errors)["pass"])

    def test_an_encoder_in_bfloat16_may_have_twice_the_error_of_pytorch(self):
        row = next(row for row in self.rows if row["kind"] == "encoder" and row["dtype"] == "bfloat16")
        for factor, passes in ((1.99, True), (2.01, False)):
            errors = {**row["relative_error"], "attn": factor * row["relative_error"]["eager"]}
            self.assertEqual(self.again(row, errors=errors)["pass"], passes)

    def test_the_median_ratio_decides_goals_and_a_failed_peer_leaves_them_open(self):
        base = self.rows[0]
        for name, ours, met in (("attention b4 h16 s4096 d128", 1.05, True), ("attention b4 h16 s4096 d128", 1.06, False),
                                ("attention b4 h32 s4096 d64 causal", 1.0, True),
                                ("attention b4 h32 s4096 d64 causal", 1.01, False)):
            row = self.again(base, name, [ours] * 3, peers={"cudnn": [1.0] * 3, "flash": "OutOfMemoryError: none left"})
            self.assertEqual(row["goal"]["met"], met, name)
            self.assertEqual(verdict.missed_goals([row]), [] if met else [row])
            self.assertIn("failed: OutOfMemoryError: none left", "\n".join(verdict.lines_of(row)))
        row = self.again(base, "attention b4 h16 s4096 d128", [1.0], peers={"cudnn": "no kernel"})
        self.assertIsNone(row["goal"]["met"])
        self.assertEqual(verdict.missed_goals([row]), [row])
        self.assertTrue(row["pass"])

    def test_encoders_have_goals_for_each_batch(self):
        base = next(row for row in self.rows if row["kind"] == "encoder" and row["dtype"] == "bfloat16")
        for name, ours, met in (("bert-base b1 s128", 0.7, True), ("bert-base b1 s128", 0.71, False),
                                ("bert-base b32 s128", 0.9, True), ("bert-base b32 s128", 0.91, False)):
            row = self.again(base, name, [ours], peers={"compile+graph": [1.0]})
            self.assertEqual(row["goal"]["met"], met, name)


if __name__ == "__main__":
    unittest.main()
