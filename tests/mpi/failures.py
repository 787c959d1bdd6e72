"""Failures of a rank: each row of the table in docs/scale.md. One sentence, an exit code, no incomplete file, no process
left."""
import errno
import json
import os
import pathlib
import random
import shutil
import signal
import zipfile

import processes
from processes import compute_for, gone, run, sentences, start, wait_for_ranks, wake
from rank_case import CHECKS_LONG, MODEL, RankCase


class Failures(RankCase):
    def test_a_missing_file_on_one_rank_is_reported(self):
        shutil.copy(self.folder / 'm.json', self.folder / 'm0.json')
        self.fails('ATTN run mRANK.json --parallel tensor -o y.npz', 3, 'rank 1 of 2')

    def test_the_first_of_several_ranks_without_a_file_is_reported(self):
        shutil.copy(self.folder / 'm.json', self.folder / 'm0.json')
        self.fails('ATTN run mRANK.json --parallel data --batch-size 3 -o y.npz', 3, 'rank 1 of 3', ranks=3)

    def test_a_wrong_file_on_one_rank_is_reported(self):
        for rank in range(2):
            shutil.copy(self.folder / 'm.json', self.folder / f'm{rank}.json')
        (self.folder / 'm0.json').write_text('{"name": ')
        self.fails('ATTN run mRANK.json --parallel tensor -o y.npz', 3, 'rank 0 of 2')

    def test_a_different_model_on_one_rank_is_reported(self):
        for rank, units in ((0, 48), (1, 64)):
            (self.folder / f'm{rank}.json').write_text(json.dumps(MODEL | {'intermediate_dim': units}))
        self.fails('ATTN run mRANK.json --parallel tensor -o y.npz', 3, 'rank 1 differs from rank 0 in its plan')

    def test_different_weights_on_one_rank_are_reported(self):
        self.fails('ATTN run m.json --seed RANK --parallel tensor -o y.npz', 3,
                   'rank 1 differs from rank 0 in its weights')

    def test_different_inputs_on_one_rank_are_reported(self):
        for rank in range(2):
            self.assertEqual(run(1, 'run', 'm.json', '--seed', str(rank), '-o', f'x{rank}.npz', folder=self.folder)[0], 0)
        # The model's output has the shape of its input.
        self.fails('ATTN run m.json --input input_layer=xRANK.npz --parallel tensor -o y.npz', 3,
                   'rank 1 differs from rank 0 in its inputs')

    def test_a_different_version_on_one_rank_is_reported(self):
        """The same program and plugin in another version."""
        other = self.copy_of_attn()
        done = processes.alone('--version', folder=self.folder)
        version = done.stdout.split()[1].encode()
        newer = version[:-1] + (b'1' if version[-1:] != b'1' else b'2')
        for path in (other / 'attn', other / 'libattn_mpi.so'):
            path.write_bytes(path.read_bytes().replace(version, newer))
        self.fails('if [ RANK = 1 ]; then exec other/attn run m.json --parallel tensor -o y.npz; fi; '
                   'ATTN run m.json --parallel tensor -o y.npz', 3, 'rank 1 differs from rank 0 in its attn')

    def copy_of_attn(self):
        """Makes a folder with the program, its plugin for MPI and its libraries."""
        build, other = pathlib.Path(processes.ATTN).parent, self.folder / 'other'
        other.mkdir()
        (other / 'deps').symlink_to(build / 'deps')
        for name in ('attn', 'libattn_mpi.so'):
            shutil.copy(build / name, other / name)
        return other

    def test_too_little_memory_on_one_rank_is_reported(self):
        self.fails('limit=1GB; [ RANK = 1 ] && limit=1KB; ATTN run m.json --mem-limit $limit --parallel tensor -o y.npz', 4,
                   'rank 1 of 2')

    def full_disk(self, rank):
        """Returns the commands of ranks, one of which cannot write to its disk."""
        library = pathlib.Path(processes.ATTN).parent / 'tests/robust/libfault.so'
        if not library.exists():
            self.skipTest(f'{library} is not built')
        return (f'if [ RANK = {rank} ]; then export LD_PRELOAD={library} FAULT_PROGRAM=attn FAULT_CALLS=fsync FAULT_AT=1 '
                f'FAULT_FOR=0 FAULT_ERROR={errno.ENOSPC}; fi; ATTN run m.json --parallel tensor -o y.npz')

    def test_a_full_disk_on_the_writing_rank_is_reported(self):
        self.fails(self.full_disk(0), 3, os.strerror(errno.ENOSPC))

    def test_a_full_disk_on_another_rank_does_not_matter(self):
        code, _, err, _ = self.shell(2, self.full_disk(1))
        self.assertEqual(code, 0, err)
        with zipfile.ZipFile(self.folder / 'y.npz') as file:
            self.assertIsNone(file.testzip())

    def test_ranks_with_different_numbers_of_threads_agree(self):
        code, out, err, _ = self.shell(2, 'ATTN run m.json --threads $((RANK+1)) --parallel tensor --json')
        self.assertEqual(code, 0, err)
        self.assertEqual([rank['threads'] for rank in json.loads(out)['parallel']['per_rank']], [1, 2])

    def test_a_missing_plugin_on_one_rank_is_reported(self):
        (self.copy_of_attn() / 'libattn_mpi.so').unlink()
        code, _, err, _ = self.shell(2, 'other/attn run m.json --parallel tensor -o y.npz')
        self.assertEqual(code, 5, err)
        for sentence in sentences(err):  # ranks that have not met cannot agree on which one reports
            self.assertIn('this attn was built without MPI for Open MPI', sentence)
        self.assertTrue(sentences(err))

    def test_a_missing_gpu_on_one_rank_is_reported(self):
        self.fails('ATTN run m.json --device cuda --parallel tensor -o y.npz', 5, 'rank 0 of 2')

    def test_nccl_requires_gpus(self):
        self.fails('ATTN run m.json --communicator nccl --parallel tensor -o y.npz', 2, '--device cuda')

    def test_too_many_ranks_are_rejected_with_numbers_that_work(self):
        self.fails('ATTN run m.json --parallel tensor -o y.npz', 2, 'any number from 1 to 5 works', ranks=6)

    def test_a_wrong_number_of_ranks_is_rejected(self):
        self.fails('ATTN run m.json --parallel tensor=3 -o y.npz', 2, '--parallel tensor=3: 2 processes were started')

    def test_a_usage_error_is_printed_once(self):
        self.fails('ATTN run m.json --parallel tensr -o y.npz', 2, "did you mean 'tensor'?", ranks=4)
        self.fails('ATTN train m.json --data x.npz -o y.keras --parallel tensor', 2, '--parallel data', ranks=4)

    def test_a_usage_error_on_only_one_rank_is_printed(self):
        self.fails('[ RANK = 1 ] && word=tensr || word=tensor; ATTN run m.json --parallel $word -o y.npz', 2, 'tensr')

    def test_several_ranks_without_parallel_are_rejected(self):
        for command, way in (('run', 'use --parallel tensor or data to share the work, or --output-dir to distribute '
                              'files'), ('bench', 'use --parallel tensor or data to measure them together')):
            code, _, err, _ = self.shell(2, f'ATTN {command} m.json')
            self.assertEqual(code, 2)
            self.assertIn(way, err)

    def long_run(self, *words, ranks=2):
        process = start(ranks, processes.ATTN, 'run', 'long.json', '--batch-size', '64', '--backend', 'reference', '--parallel',
                        'tensor', '-o', 'y.npz', *words, folder=self.folder)
        return process, wait_for_ranks(process, ranks)

    def ends(self, victim, number, moment, ranks=2):
        """Checks that all ranks end within five seconds after one got the signal, with an exit code and without an
        incomplete file."""
        process, pids = self.long_run(ranks=ranks)
        self.assertEqual(len(pids), ranks)
        compute_for(pids, moment)
        os.kill(pids[victim], number)
        self.assertTrue(gone(pids))
        process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        self.assertFalse((self.folder / 'y.npz').exists())
        return process.returncode

    def test_a_killed_rank_ends_all_within_five_seconds(self):
        draws = random.Random(29)
        for _ in range(100 if CHECKS_LONG else 2):
            ranks = draws.choice((2, 3))
            self.ends(draws.randrange(ranks), signal.SIGKILL, draws.uniform(0, 1), ranks)

    def test_a_crashing_rank_ends_all_with_the_code_of_its_signal(self):
        self.assertEqual(self.ends(1, signal.SIGSEGV, 0.5), 128 + signal.SIGSEGV)

    def test_a_hanging_rank_ends_the_others(self):
        process, pids = self.long_run('--timeout', '4')
        compute_for(pids, 0.8)  # longer than it takes to reach the first layer
        os.kill(pids[1], signal.SIGSTOP)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            wake(pids)
        self.assertEqual(process.returncode, 5, err)
        self.assertEqual(len(sentences(err)), 1, err)
        self.assertIn('not all ranks arrived within', err)
        self.assertIn("for layer '", err)
        self.assertTrue(gone(pids))

    def test_a_rank_that_never_starts_ends_the_others(self):
        self.fails('[ RANK = 1 ] && exec sleep 60; ATTN run m.json --timeout 3 --parallel tensor -o y.npz', 5,
                   'not all ranks started within 3 s')

    def test_a_rank_that_does_not_join_its_group_ends_the_others(self):
        late = pathlib.Path(processes.ATTN).parent / 'tests/mpi/liblate_split.so'
        if not late.exists():
            self.skipTest(f'{late} is not built')
        self.fails(f'[ RANK = 1 ] && export LD_PRELOAD={late}; '
                   'ATTN run m.json --timeout 3 --batch-size 4 --parallel tensor=2,data=2 -o y.npz', 5,
                   'not all ranks formed groups within 3 s', ranks=4)
