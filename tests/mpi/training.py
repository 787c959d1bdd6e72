"""Data-parallel training."""
import json
import os
import pathlib
import signal
import time
import zipfile

import arrays
import processes
from processes import alone, gone, run, sentences, start, wait_for_ranks, wake
from rank_case import RankCase

CASES = pathlib.Path(__file__).resolve().parents[2] / 'tests/data/training'
# Masks, weights of tokens, rows that do not divide by three, and dropout.
SMALL = (('mask/token_weights', 5), ('dropout/attention', 4), ('embedding/adam_global_clipnorm', 5))
MODEL = {'name': 'encoder', 'input_shape': [16, 32], 'num_layers': 2, 'num_heads': 2, 'key_dim': 16, 'intermediate_dim': 64}


class Training(RankCase):
    def train(self, ranks, *words):
        shared = ('--parallel', 'data') if ranks > 1 else ()
        code, out, err = run(ranks, 'train', *words, '--progress', 'none', *shared, folder=self.folder)
        self.assertEqual(code, 0, err)
        return out

    def test_twenty_steps_equal_those_of_one_rank(self):
        for case, batch in SMALL:
            words = (str(CASES / case / 'start.keras'), '--data', str(CASES / case / 'data.npz'), '--epochs', '20', '--steps', '20',
                     '--batch-size', str(batch), '--optimizer', 'sgd')
            for ranks in (1, 2, 3, 4):
                self.train(ranks, *words, '-o', f'{ranks}.keras', '--dump', f'{ranks}.npz')
                difference = arrays.largest_difference(self.folder / '1.npz', self.folder / f'{ranks}.npz')
                self.assertLess(difference, 1e-5, f'{case} on {ranks}')

    def test_a_batch_in_parts_gives_the_same_bits_on_any_number_of_ranks(self):
        for case, batch in SMALL + (('embedding/adam_global_clipnorm', 24),):
            words = (str(CASES / case / 'start.keras'), '--data', str(CASES / case / 'data.npz'), '--epochs', '20', '--steps', '20',
                     '--batch-size', str(batch), '--deterministic')
            for ranks in (1, 2, 3, 4):
                shared = ('--zero', '1') if ranks == 3 else ()
                self.train(ranks, *words, *shared, '-o', f'{ranks}.keras', '--dump', f'{ranks}.npz')
                difference = arrays.largest_difference(self.folder / '1.npz', self.folder / f'{ranks}.npz')
                self.assertEqual(difference, 0, f'{case} on {ranks}')

    def test_parts_that_ranks_cannot_share_are_rejected(self):
        (self.folder / 'm.json').write_text(json.dumps(MODEL))
        arrays.write(self.folder / 'd.npz', {'input_layer': (6, 16, 32), 'y': (6, 16, 32)})
        words = ('train', 'm.json', '--loss', 'mse', '--data', 'd.npz', '-o', 'o.keras', '--parallel', 'data', '--deterministic')
        code, _, err = run(9, *words, folder=self.folder)
        self.assertEqual(code, 2)
        self.assertIn('a batch has 8 parts, so 9 ranks are unsupported: use 1 to 8', err)
        code, _, err = run(2, *words, '--reduce-dtype', 'bfloat16', folder=self.folder)
        self.assertEqual(code, 2)
        self.assertIn('--deterministic cannot be combined with --reduce-dtype bfloat16', err)

    def test_overlapped_buckets_give_the_results_of_one_rank(self):
        model = {'name': 'wide', 'input_shape': [4, 512], 'num_layers': 4, 'num_heads': 8, 'key_dim': 64, 'intermediate_dim': 3072}
        (self.folder / 'm.json').write_text(json.dumps(model))
        arrays.write(self.folder / 'd.npz', {'input_layer': (6, 4, 512), 'y': (6, 4, 512)})
        words = ('m.json', '--loss', 'mse', '--optimizer', 'sgd', '--data', 'd.npz', '--batch-size', '3', '-o', 'o.keras', '--json')
        for ranks in (1, 2, 3):
            told = json.loads(self.train(ranks, *words, '--dump', f'{ranks}.npz'))
            self.assertLess(arrays.largest_difference(self.folder / '1.npz', self.folder / f'{ranks}.npz'), 1e-5)
            if ranks > 1:
                sums = next(each for each in told['parallel']['collectives'] if each['op'] == 'all_reduce')
                self.assertGreaterEqual(sums['count'], 2 * 3)  # two steps with 67 MB of gradients each
                self.assertGreater(sums['bytes'], 2 * 64e6)

    def test_any_number_of_ranks_resumes_a_checkpoint_of_others(self):
        case = CASES / 'dropout/attention'
        words = ('--data', str(case / 'data.npz'), '--epochs', '20', '--batch-size', '4')
        self.train(1, str(case / 'start.keras'), *words, '--steps', '20', '-o', 'one.keras', '--dump', 'one.npz')
        self.train(3, str(case / 'start.keras'), *words, '--steps', '10', '-o', 'half.keras')
        for ranks in (1, 2):
            self.train(ranks, 'half.keras', *words, '--resume', '--steps', '20', '-o', 'all.keras', '--dump', 'all.npz')
            self.assertLess(arrays.largest_difference(self.folder / 'one.npz', self.folder / 'all.npz'), 1e-5)

    def test_counts_are_printed_in_one_document(self):
        case = CASES / 'mask/token_weights'
        told = json.loads(self.train(2, str(case / 'start.keras'), '--data', str(case / 'data.npz'), '-o', 'o.keras', '--json'))
        self.assertEqual((told['parallel']['kind'], told['parallel']['ranks']), ('data', 2))
        self.assertEqual({each['op'] for each in told['parallel']['collectives']}, {'all_reduce'})

    def test_half_precision_gradients_take_half_the_bytes_and_train_alike(self):
        case = CASES / 'dropout/attention'
        words = (str(case / 'start.keras'), '--data', str(case / 'data.npz'), '--epochs', '20', '--steps', '20', '--batch-size',
                 '4', '--optimizer', 'sgd', '-o', 'o.keras', '--json')
        sums = []
        for dtype in ('float32', 'bfloat16', 'float16'):
            told = json.loads(self.train(2, *words, '--reduce-dtype', dtype, '--dump', f'{dtype}.npz'))
            sums.append(told['parallel']['collectives'][0]['bytes'])
        self.assertLess(sums[1], 0.6 * sums[0])
        self.assertEqual(sums[1], sums[2])
        for dtype in ('bfloat16', 'float16'):
            difference = arrays.largest_difference(self.folder / 'float32.npz', self.folder / f'{dtype}.npz')
            self.assertTrue(0 < difference < 1e-2, difference)
        done = alone('train', *words, '--reduce-dtype', 'bfloat16', folder=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn('--reduce-dtype requires --parallel data', done.stderr)

    def test_ranks_with_a_sharded_optimizer_write_the_same_file(self):
        case = CASES / 'dropout/attention'
        words = ('--data', str(case / 'data.npz'), '--epochs', '20', '--batch-size', '4')
        for zero in ('0', '1'):
            self.train(3, str(case / 'start.keras'), *words, '--optimizer', 'adam', '--steps', '10', '-o', f'{zero}.keras', '--zero',
                       zero)
            # Another number of ranks resumes, with other shards.
            self.train(2, f'{zero}.keras', *words, '--resume', '--steps', '20', '-o', f'{zero}.keras', '--zero', zero, '--dump',
                       f'{zero}.npz')
        self.assertEqual(arrays.largest_difference(self.folder / '0.npz', self.folder / '1.npz'), 0)
        done = alone('train', '1.keras', *words, '--resume', '--steps', '22', '-o', 'one.keras', folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def begin(self, ranks, *words):
        """Starts a training and waits for its first checkpoint."""
        (self.folder / 'm.json').write_text(json.dumps(MODEL))
        arrays.write(self.folder / 'd.npz', {'input_layer': (24, 16, 32), 'y': (24, 16, 32)})
        process = start(ranks, processes.ATTN, 'train', 'm.json', '--data', 'd.npz', '--loss', 'mse', '-o', 'o.keras', '--epochs',
                        '100000', '--batch-size', '6', '--save-every', '5', '--progress', 'none', '--parallel', 'data', *words,
                        folder=self.folder)
        pids = wait_for_ranks(process, ranks)
        deadline = time.monotonic() + 60
        while not (self.folder / 'o.keras').exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(len(pids), ranks)
        return process, pids

    def expect_untorn(self):
        with zipfile.ZipFile(self.folder / 'o.keras') as file:
            self.assertIsNone(file.testzip())

    def expect_whole(self):
        """Checks that one process can resume from the checkpoint."""
        self.expect_untorn()
        self.assertLessEqual(len(list(self.folder.glob('.o*'))), 1)
        done = alone('train', 'o.keras', '--resume', '--data', 'd.npz', '-o', 'o.keras', '--epochs', '100000', '--steps', '100000',
                     '--batch-size', '6', '--time-limit', '0.1s', '--progress', 'none', folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(list(self.folder.glob('.o*')))

    def test_a_signal_to_one_rank_ends_all_at_one_step_with_a_checkpoint(self):
        process, pids = self.begin(3)
        os.kill(pids[2], signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        self.assertTrue(gone(pids))
        self.assertEqual(process.returncode, 143, err)
        self.assertFalse(sentences(err))
        self.assertIn('resume with: attn train o.keras', err)
        self.expect_whole()

    def kill(self, victim):
        process, pids = self.begin(2)
        os.kill(pids[victim], signal.SIGKILL)
        self.assertTrue(gone(pids))
        process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)

    def test_a_killed_rank_ends_all_and_keeps_the_last_checkpoint(self):
        self.kill(1)
        self.expect_whole()

    def test_a_killed_writing_rank_keeps_a_complete_checkpoint(self):
        self.kill(0)
        self.expect_untorn()

    def test_a_hanging_rank_ends_the_others(self):
        process, pids = self.begin(2, '--timeout', '4')
        os.kill(pids[1], signal.SIGSTOP)
        try:
            _, err = process.communicate(timeout=30)
        finally:
            wake(pids)
        self.assertEqual(process.returncode, 5, err)
        self.assertEqual(len(sentences(err)), 1, err)
        self.assertIn('not all ranks arrived within', sentences(err)[0])
        self.assertTrue(gone(pids))
        self.expect_whole()

    def refused(self, script, code, sentence):
        (self.folder / 'm.json').write_text(json.dumps(MODEL))
        for rank in range(2):
            arrays.write(self.folder / f'd{rank}.npz', {'input_layer': (6, 16, 32), 'y': (6, 16, 32)}, seed=rank)
        words = 'ATTN train m.json --loss mse -o o.keras --progress none --parallel '
        self.fails(script.replace('TRAIN ', words), code, sentence)
        self.assertFalse((self.folder / 'o.keras').exists())

    def test_ranks_with_different_data_are_rejected(self):
        self.refused('TRAIN data --data dRANK.npz', 3, 'rank 1 differs from rank 0 in its data')

    def test_ranks_with_different_options_are_rejected(self):
        self.refused('TRAIN data --data d0.npz --epochs 1RANK', 3, 'rank 1 differs from rank 0 in its options')

    def test_a_rank_without_data_is_reported(self):
        self.refused('rm -f d1.npz; TRAIN data --data dRANK.npz', 3, 'rank 1 of 2')

    def test_a_step_that_ranks_cannot_share_is_rejected(self):
        self.refused('TRAIN tensor --data d0.npz', 2, 'training supports only --parallel data')
