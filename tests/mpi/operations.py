"""Runs tests of the suite's own programs on ranks that are processes: collectives, and every operation of the table of
cases that can be sharded."""
import pathlib
import re

import processes
from processes import start
from rank_case import CHECKS_LONG, RankCase


class Operations(RankCase):
    def hold(self, ranks, name, cases, least):
        program = pathlib.Path(processes.ATTN).with_name('tests') / name
        if not program.exists():
            self.skipTest(f'{program} is not built')
        words = ('env', 'ATTN_TEST_LONG=1') if CHECKS_LONG else ()
        process = start(ranks, *words, str(program), '--no-colors', f'-tc={cases}', folder=self.folder)
        out, err = process.communicate(timeout=540)
        self.assertEqual(process.returncode, 0, out[-2000:] + err[-2000:])
        passed = re.findall(r'assertions: *(\d+) \| *(\d+) passed \| *0 failed', out)
        self.assertEqual(len(passed), ranks, out)
        self.assertGreaterEqual(int(passed[0][0]), least)

    def test_collectives(self):
        for ranks in (2, 3, 4):
            self.hold(ranks, 'attn_test_communicators', 'processes:*', 3)


def add(ranks):
    setattr(Operations, f'test_operations_on_{ranks}_ranks',
            lambda self: self.hold(ranks, 'attn_test_ops', 'ops: ranks that share*', 1000))


for each in (2, 3, 4) if CHECKS_LONG else (2,):
    add(each)
