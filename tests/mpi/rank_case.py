"""Common parts of tests of ranks: a folder with small models, and checks of reported failures."""
import json
import os
import pathlib
import shutil
import tempfile
import time
import unittest

import processes
from processes import sentences, start

MODEL = {'name': 'encoder', 'input_shape': [8, 16], 'num_layers': 2, 'num_heads': 5, 'key_dim': 4, 'intermediate_dim': 48}
LONG = {'name': 'encoder', 'input_shape': [128, 256], 'num_layers': 8, 'num_heads': 4, 'key_dim': 64,
        'intermediate_dim': 1024}
CHECKS_LONG = bool(os.environ.get('ATTN_TEST_LONG'))


class RankCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='attn-mpi-'))
        (self.folder / 'm.json').write_text(json.dumps(MODEL))
        (self.folder / 'long.json').write_text(json.dumps(LONG))

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def shell(self, ranks, script):
        """Runs a shell command on each rank, in which RANK is a number. Returns exit code, stdout, stderr, seconds."""
        words = script.replace('ATTN', processes.ATTN).replace('RANK', '$OMPI_COMM_WORLD_RANK')
        process = start(ranks, 'sh', '-c', words, folder=self.folder)
        began = time.monotonic()
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err, time.monotonic() - began

    def fails(self, script, code, sentence, ranks=2):
        """Checks that one sentence gives the reason, nobody waits, and there is no output, complete or not."""
        got, out, err, took = self.shell(ranks, script)
        self.assertEqual(got, code, err)
        self.assertEqual(len(sentences(err)), 1, err)
        self.assertIn(sentence, sentences(err)[0])
        self.assertEqual(out, '')
        self.assertLess(took, 30)
        self.assertFalse(list(self.folder.glob('.y*')))
        self.assertFalse((self.folder / 'y.npz').exists())
