"""The same tests with MPICH's hydra, if it and its plugin are installed."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import arrays
import processes
from processes import gone, sentences
from rank_case import RankCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASE = ROOT / 'tests/data/keras/model/encoder_decoder'
TRAINING = ROOT / 'tests/data/training/dropout/attention'


def ranks_below(launcher):
    """Returns the process ids of attn under hydra, which starts them through a process of its own."""
    done = subprocess.run(['ps', '-e', '-o', 'pid=,ppid=,comm='], capture_output=True, text=True)
    parents, names = {}, {}
    for line in done.stdout.splitlines():
        pid, parent, name = line.split(None, 2)
        parents[int(pid)], names[int(pid)] = int(parent), name
    return sorted(pid for pid, name in names.items() if name == 'attn' and parents.get(parents[pid]) == launcher)


class Mpich(RankCase):
    def setUp(self):
        super().setUp()
        self.launcher = shutil.which('mpiexec.mpich') or shutil.which('mpiexec.hydra')
        if not self.launcher:
            self.skipTest('there is no mpiexec of MPICH')
        if not pathlib.Path(processes.ATTN).with_name('libattn_mpi_mpich.so').exists():
            self.skipTest('attn has no plugin for MPICH')

    def start(self, ranks, *words):
        return subprocess.Popen([self.launcher, '-n', str(ranks), processes.ATTN, *words], cwd=self.folder,
                                env=processes.environment(self.folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def mpich(self, ranks, *words):
        process = self.start(ranks, *words)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def test_ranks_of_mpich_compute_kerass_results(self):
        for kind in ('tensor', 'data', 'sequence'):
            code, out, err = self.mpich(2, 'run', str(CASE / 'model.keras'), '--input', str(CASE / 'inputs.npz'), '--expect',
                                        str(CASE / 'outputs.npz'), '--atol', '1e-5', '--parallel', kind, '--json')
            self.assertEqual(code, 0, err)
            told = json.loads(out)['parallel']
            self.assertEqual((told['kind'], told['ranks'], told['launcher']), (kind, 2, 'PMI'))
            self.assertIn('MPICH', told['library'])

    def test_ranks_of_mpich_train_to_the_bits_of_one_process(self):
        words = ('train', str(TRAINING / 'start.keras'), '--data', str(TRAINING / 'data.npz'), '--batch-size', '4', '--steps', '5',
                 '--progress', 'none', '--deterministic', '-o', 'o.keras', '--dump')
        self.assertEqual(self.mpich(1, *words, '1.npz')[0], 0)
        code, _, err = self.mpich(2, *words, '2.npz', '--parallel', 'data', '--zero', '1')
        self.assertEqual(code, 0, err)
        self.assertEqual(arrays.largest_difference(self.folder / '1.npz', self.folder / '2.npz'), 0)

    def test_ranks_of_mpich_report_an_error_in_one_sentence(self):
        code, out, err = self.mpich(2, 'run', 'not_here.json', '--parallel', 'tensor', '-o', 'y.npz')
        self.assertEqual((code, out, len(sentences(err))), (3, '', 1), err)
        self.assertFalse((self.folder / 'y.npz').exists())

    def test_a_killed_rank_of_mpich_ends_all(self):
        process = self.start(2, 'bench', 'long.json', '--parallel', 'tensor', '--min-time', '60')
        deadline = time.monotonic() + 60
        while len(found := ranks_below(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(len(found), 2)
        time.sleep(1)
        os.kill(found[1], signal.SIGKILL)
        process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        self.assertTrue(gone(found))
