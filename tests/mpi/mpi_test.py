#!/usr/bin/env python3
"""Ranks that are processes: mpi_test.py build/attn

Checks that several ranks compute the numbers of one, that a failing rank gives one sentence, and that no rank keeps waiting.
Exits with 77 and a message if there is no mpirun of Open MPI or no plugin for it. Several cases run at a time, because most
of their time is waiting; mpirun waits a second between asking ranks to end and killing them. Further arguments select cases
by words in their names: mpi_test.py build/attn hangs doctor
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import arrays
import processes
from failures import Failures
from fixtures import Fixtures
from mpich import Mpich
from operations import Operations
from processes import alone, environment, mpirun, run, sentences
from rank_case import RankCase
from training import Training

SKIPPED = 77
AT_ONCE = 8
ROOT = pathlib.Path(__file__).resolve().parents[2]
CASE = ROOT / 'tests/data/keras/model/encoder_decoder'


class Mpi(RankCase):
    def test_ranks_compute_kerass_results(self):
        for kind, ranks in (('tensor', 2), ('data', 2), ('sequence', 2), ('sequence', 3)):
            code, out, err = run(ranks, 'run', str(CASE / 'model.keras'), '--input', str(CASE / 'inputs.npz'), '--expect',
                                 str(CASE / 'outputs.npz'), '--atol', '1e-5', '--parallel', kind, '--json', folder=self.folder)
            self.assertEqual(code, 0, f'{kind} {ranks}: {err}')
            told = json.loads(out)['parallel']  # one document, of rank 0
            self.assertEqual((told['kind'], told['ranks'], len(told['per_rank'])), (kind, ranks, ranks))
            self.assertIn('Open MPI', told['library'])

    def test_ranks_of_slurm_connect_through_the_installed_plugin(self):
        slurm = ('env -u OMPI_COMM_WORLD_SIZE SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=RANK '
                 'SLURM_STEP_NUM_TASKS=3 SLURM_LOCALID=RANK ATTN ')
        code, out, err, _ = self.shell(3, slurm + 'run m.json --parallel tensor --json')
        self.assertEqual(code, 0, err)
        told = json.loads(out)['parallel']
        self.assertEqual((told['launcher'], told['ranks']), ('Slurm', 3))
        self.fails(slurm.replace('TASKS=3', 'TASKS=4') + 'run m.json --parallel tensor -o y.npz', 5,
                   'Slurm started rank 0 of 4, and Open MPI', 3)

    def test_counts_equal_the_plans(self):
        words = ('m.json', '--batch-size', '2', '--parallel')
        code, out, err = run(3, 'run', *words, 'tensor=3', '--json', folder=self.folder)
        self.assertEqual(code, 0, err)
        plan = alone('plan', *words, 'tensor=3', '--json', folder=self.folder)
        counts = [[{key: each[key] for key in ('op', 'count', 'bytes')} for each in one]
                  for one in (json.loads(out)['parallel']['collectives'], json.loads(plan.stdout)['collectives'])]
        self.assertEqual(counts[0], counts[1])

    def test_shared_rows_have_the_bits_of_one_process_with_as_many_rows(self):
        """Kernels are selected by the number of rows: on AMX, another kernel runs below 57 rows."""
        rows = 12
        arrays.write(self.folder / 'all.npz', {'input_layer': (rows, 8, 16)})
        for dtype in ('float32', 'bfloat16', 'float16'):
            words = ('--dtype', dtype, '--input')
            for ranks in (2, 3, 4):
                self.assertEqual(run(ranks, 'run', 'm.json', *words, 'all.npz', '--parallel', 'data', '-o', 'shared.npz',
                                     folder=self.folder)[0], 0)
                expected = []
                for first in range(0, rows, rows // ranks):
                    arrays.write_rows(self.folder / 'all.npz', first, rows // ranks, self.folder / 'part.npz')
                    done = alone('run', 'm.json', *words, 'part.npz', '-o', 'one.npz', folder=self.folder)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    expected += next(iter(arrays.read(self.folder / 'one.npz').values()))
                shared = next(iter(arrays.read(self.folder / 'shared.npz').values()))
                self.assertEqual(list(shared), expected, f'{dtype} on {ranks} ranks')

    def test_a_measurement_counts_the_predicted_collectives(self):
        cluster = json.dumps({'ranks_per_node': 2, 'peak': 1e11, 'memory_bw': 1e10, 'between': {'alpha': 1e-5, 'beta': 1e9}})
        words = ('m.json', '--batch-size', '2,3', '--cluster', cluster, '--json')
        code, out, err = run(2, 'bench', *words, '--parallel', 'tensor', '--min-time', '0.1', folder=self.folder)
        self.assertEqual(code, 0, err)
        rows = json.loads(out)['rows']
        self.assertEqual([row['batch'] for row in rows], [2, 3])
        for row in rows:
            plan = json.loads(alone('plan', 'm.json', '--batch-size', str(row['batch']), '--cluster', cluster, '--json',
                                    '--parallel', 'tensor=2', folder=self.folder).stdout)
            for measured, predicted in zip(row['parallel']['collectives'], plan['collectives'], strict=True):
                for key in ('op', 'count', 'bytes', 'predicted'):
                    self.assertEqual(measured[key], predicted[key])
                self.assertGreater(measured['seconds'], 0)
            self.assertEqual(row['predicted_ms'], plan['ms'])
            self.assertLess(row['difference'], 1e-5)
            self.assertAlmostEqual(row['efficiency'], row['alone_ms']['median'] / row['ms']['median'] / 2)
            self.assertEqual(len(row['parallel']['per_rank']), 2)

    def test_groups_share_rows_and_ranks_of_a_group_the_model(self):
        words = ('m.json', '--batch-size', '5', '--json', '--parallel')
        self.assertEqual(run(1, 'run', 'm.json', '--batch-size', '5', '-o', 'one.npz', folder=self.folder)[0], 0)
        for word, ranks in (('tensor=2,data=2', 4), ('data=3,tensor=1', 3), ('sequence=2,data=2', 4)):
            code, out, err = run(ranks, 'run', *words, word, '-o', 'all.npz', folder=self.folder)
            self.assertEqual(code, 0, err)
            self.assertLess(arrays.largest_difference(self.folder / 'one.npz', self.folder / 'all.npz'), 1e-5)
            told = json.loads(out)['parallel']
            self.assertEqual(told['ranks'], ranks)
            plan = json.loads(alone('plan', *words, word, folder=self.folder).stdout)
            for part in (told, plan):
                self.assertEqual(part['data'], ranks // 2 if ranks == 4 else 3)
            # run reports the group of rank 0, plan that of the last rank, which can have one row more: bytes differ.
            self.assertEqual([each['op'] for each in told['collectives']], [each['op'] for each in plan['collectives']])
            self.assertEqual([each['count'] for each in told['collectives']], [each['count'] for each in plan['collectives']])
        code, out, err = run(4, 'bench', 'm.json', '--batch-size', '4', '--json', '--parallel', 'tensor=2,data=2', '--cluster',
                             'cpu-100g', '--min-time', '0.1', folder=self.folder)
        self.assertEqual(code, 0, err)
        row = json.loads(out)['rows'][0]
        self.assertLess(row['difference'], 1e-5)
        plan = json.loads(alone('plan', 'm.json', '--batch-size', '4', '--json', '--parallel', 'tensor=2,data=2',
                                folder=self.folder).stdout)
        self.assertEqual([each['bytes'] for each in row['parallel']['collectives']],
                         [each['bytes'] for each in plan['collectives']])
        self.assertEqual(row['predicted_ms'], plan['ms'])

    def test_equal_ranks_give_equal_bits(self):
        for name in ('a.npz', 'b.npz'):
            self.assertEqual(run(3, 'run', 'm.json', '--parallel', 'tensor', '-o', name, folder=self.folder)[0], 0)
        self.assertEqual((self.folder / 'a.npz').read_bytes(), (self.folder / 'b.npz').read_bytes())

    def test_doctor_measures_the_cluster_that_plan_reads(self):
        code, out, err = run(2, 'doctor', '--parallel', '--json', folder=self.folder)
        self.assertEqual(code, 0, err)
        told = json.loads(out)['parallel']
        self.assertEqual((told['ranks'], len(told['all_reduce']), len(told['cores'])), (2, 5, 2))
        (self.folder / 'd.json').write_text(out)
        for cluster in ('d.json', json.dumps(told['cluster'])):
            plan = alone('plan', 'm.json', '--parallel', 'tensor=2', '--cluster', cluster, folder=self.folder)
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
    cases = [case for kind in (Failures, Training, Mpi, Fixtures, Operations, Mpich) for case in unittest.defaultTestLoader.loadTestsFromTestCase(kind)
             if not sys.argv[1:] or any(word in case.id() for word in sys.argv[1:])]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(result_of, cases))
    for result in results:
        for case, text in result.failures + result.errors + result.skipped:
            print(f'{case.id()}\n{text}')
    failed, skipped = sum(not each.wasSuccessful() for each in results), sum(bool(each.skipped) for each in results)
    print(f'mpi: of {len(cases)} cases {failed} failed and {skipped} were skipped, in {time.monotonic() - began:.1f} s')
    return 1 if failed or not cases else 0


def result_of(case):
    result = unittest.TestResult()
    case.run(result)
    return result


if __name__ == '__main__':
    sys.exit(main())
