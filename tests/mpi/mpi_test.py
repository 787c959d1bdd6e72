#!/usr/bin/env python3
"""Ranks that are processes: mpi_test.py build/attn

The same numbers as one rank's, one sentence where a rank fails, and nobody left waiting. Exits with 77, and says so, where
there is no mpirun of Open MPI or attn has no plugin for it. Most of a case is waiting, a second of which is mpirun's between
asking ranks to end and killing them: several cases run at a time. mpi_test.py build/attn hangs doctor: the cases with such
words in their names.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import processes
from processes import compute_for, environment, gone, mpirun, run, sentences, start, wait_for_ranks, wake
from training import Training

SKIPPED = 77
AT_ONCE = 6
ROOT = pathlib.Path(__file__).resolve().parents[2]
CASE = ROOT / 'tests/data/keras/model/encoder_decoder'
MODEL = {'name': 'encoder', 'input_shape': [8, 16], 'num_layers': 2, 'num_heads': 5, 'key_dim': 4, 'intermediate_dim': 48}
LONG = {'name': 'encoder', 'input_shape': [128, 256], 'num_layers': 8, 'num_heads': 4, 'key_dim': 64,
        'intermediate_dim': 1024}


class Mpi(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='attn-mpi-'))
        (self.folder / 'm.json').write_text(json.dumps(MODEL))
        (self.folder / 'long.json').write_text(json.dumps(LONG))

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def test_ranks_give_what_keras_computed(self):
        for kind, ranks in (('tensor', 2), ('tensor', 3), ('tensor', 4), ('data', 2), ('sequence', 2), ('sequence', 3)):
            code, out, err = run(ranks, 'run', str(CASE / 'model.keras'), '--input', str(CASE / 'inputs.npz'), '--expect',
                                 str(CASE / 'outputs.npz'), '--atol', '1e-5', '--parallel', kind, '--json', folder=self.folder)
            self.assertEqual(code, 0, f'{kind} {ranks}: {err}')
            told = json.loads(out)['parallel']  # one document, of rank 0
            self.assertEqual((told['kind'], told['ranks'], len(told['per_rank'])), (kind, ranks, ranks))
            self.assertIn('Open MPI', told['library'])

    def test_counts_are_those_of_the_plan(self):
        words = ('m.json', '--batch', '2', '--parallel')
        code, out, err = run(3, 'run', *words, 'tensor=3', '--json', folder=self.folder)
        self.assertEqual(code, 0, err)
        plan = subprocess.run([processes.ATTN, 'plan', *words, 'tensor=3', '--json'], cwd=self.folder, capture_output=True,
                              text=True)
        counts = [[{key: each[key] for key in ('op', 'count', 'bytes')} for each in one]
                  for one in (json.loads(out)['parallel']['collectives'], json.loads(plan.stdout)['collectives'])]
        self.assertEqual(counts[0], counts[1])

    def test_rows_that_ranks_share_have_the_bits_of_one_rank(self):
        self.assertEqual(run(2, 'run', 'm.json', '--batch', '4', '--parallel', 'data', '-o', 'two.npz',
                             folder=self.folder)[0], 0)
        self.assertEqual(run(1, 'run', 'm.json', '--batch', '4', '-o', 'one.npz', folder=self.folder)[0], 0)
        self.assertEqual((self.folder / 'two.npz').read_bytes(), (self.folder / 'one.npz').read_bytes())

    def test_the_same_ranks_give_the_same_bits(self):
        for name in ('a.npz', 'b.npz'):
            self.assertEqual(run(3, 'run', 'm.json', '--parallel', 'tensor', '-o', name, folder=self.folder)[0], 0)
        self.assertEqual((self.folder / 'a.npz').read_bytes(), (self.folder / 'b.npz').read_bytes())

    def fails(self, script, code, sentence):
        """Of two ranks that each run the shell's words, in which RANK is a number."""
        process = start(2, 'sh', '-c', script.replace('ATTN', processes.ATTN).replace('RANK', '$OMPI_COMM_WORLD_RANK'),
                        folder=self.folder)
        began = time.monotonic()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        self.assertEqual(len(sentences(err)), 1, err)
        self.assertIn(sentence, sentences(err)[0])
        self.assertLess(time.monotonic() - began, 20)
        self.assertFalse(list(self.folder.glob('.y*')))
        self.assertFalse((self.folder / 'y.npz').exists())

    def test_a_rank_lacks_a_file(self):
        shutil.copy(self.folder / 'm.json', self.folder / 'm0.json')
        self.fails('ATTN run mRANK.json --parallel tensor -o y.npz', 3, 'rank 1 of 2')

    def test_a_rank_has_another_model(self):
        for rank, units in ((0, 48), (1, 64)):
            (self.folder / f'm{rank}.json').write_text(json.dumps(MODEL | {'intermediate_dim': units}))
        self.fails('ATTN run mRANK.json --parallel tensor -o y.npz', 3, 'rank 1 has not the same plan as rank 0')

    def test_a_rank_has_other_weights(self):
        self.fails('ATTN run m.json --seed RANK --parallel tensor -o y.npz', 3, 'rank 1 has not the same weights')

    def test_too_many_ranks_are_told_which_numbers_work(self):
        code, _, err = run(6, 'run', 'm.json', '--parallel', 'tensor', folder=self.folder)
        self.assertEqual(code, 2)
        self.assertEqual(len(sentences(err)), 1, err)
        self.assertIn('any number from 1 to 5 works', err)

    def test_ranks_without_a_word_for_it_are_refused(self):
        code, _, err = run(2, 'run', 'm.json', folder=self.folder)
        self.assertEqual(code, 2)
        self.assertIn('--parallel tensor (or data) lets them share it, --output-dir shares many files out', err)

    def long_run(self, *words):
        process = start(2, processes.ATTN, 'run', 'long.json', '--batch', '64', '--backend', 'reference', '--parallel',
                        'tensor', '-o', 'y.npz', *words, folder=self.folder)
        pids = wait_for_ranks(process, 2)
        compute_for(pids, 0.8)  # more than it takes to come to the first layer
        return process, pids

    def test_a_rank_that_is_killed_ends_all_within_five_seconds(self):
        process, pids = self.long_run()
        self.assertEqual(len(pids), 2)
        os.kill(pids[1], signal.SIGKILL)
        self.assertTrue(gone(pids))
        process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        self.assertFalse((self.folder / 'y.npz').exists())

    def test_a_rank_that_hangs_is_given_up(self):
        process, pids = self.long_run('--timeout', '4')
        os.kill(pids[1], signal.SIGSTOP)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            wake(pids)
        self.assertEqual(process.returncode, 5, err)
        self.assertEqual(len(sentences(err)), 1, err)
        self.assertIn('not all ranks came within', err)
        self.assertIn("for layer '", err)
        self.assertTrue(gone(pids))

    def test_doctor_measures_what_a_plan_takes_for_its_cluster(self):
        code, out, err = run(2, 'doctor', '--parallel', '--json', folder=self.folder)
        self.assertEqual(code, 0, err)
        told = json.loads(out)['parallel']
        self.assertEqual((told['ranks'], len(told['all_reduce']), len(told['cores'])), (2, 5, 2))
        (self.folder / 'd.json').write_text(out)
        for cluster in ('d.json', json.dumps(told['cluster'])):
            plan = subprocess.run([processes.ATTN, 'plan', 'm.json', '--parallel', 'tensor=2', '--cluster', cluster],
                                  cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(plan.returncode, 0, plan.stderr)
            self.assertIn('on 2 ranks of measured', plan.stdout)

    def test_a_command_without_ranks_loads_no_mpi(self):
        done = subprocess.run(['ldd', processes.ATTN], capture_output=True, text=True)
        self.assertNotIn('libmpi', done.stdout)


def main():
    processes.ATTN = os.path.abspath(sys.argv.pop(1))
    if not mpirun():
        print('mpi: skipped, there is no mpirun (make setup mpi)')
        return SKIPPED
    probe = subprocess.run([mpirun(), '-np', '1', processes.ATTN, 'run', '--parallel', 'tensor', '--communicator', 'mpi'],
                           env=environment(), capture_output=True, text=True)
    if 'built without MPI' in probe.stderr or 'libmpi' in probe.stderr:
        print('mpi: skipped,', (sentences(probe.stderr) or [probe.stderr])[0])
        return SKIPPED
    began = time.monotonic()
    cases = [case for kind in (Training, Mpi) for case in unittest.defaultTestLoader.loadTestsFromTestCase(kind)
             if not sys.argv[1:] or any(word in case.id() for word in sys.argv[1:])]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        failed = [each for each in pool.map(problem_of, cases) if each]
    print('\n'.join(failed + [f'mpi: {len(cases) - len(failed)} of {len(cases)} cases hold, in '
                              f'{time.monotonic() - began:.1f} s']))
    return 1 if failed or not cases else 0


def problem_of(case):
    """What is wrong with it, or nothing."""
    result = unittest.TestResult()
    case.run(result)
    return '\n'.join(f'{case.id()}\n{text}' for _, text in result.failures + result.errors)


if __name__ == '__main__':
    sys.exit(main())
