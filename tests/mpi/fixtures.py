"""Models that real Keras made and ran, on ranks that are processes: within four times the error of Keras's own float32."""
import json
import pathlib

from arrays import read
from processes import run
from rank_case import CHECKS_LONG, RankCase

KERAS = pathlib.Path(__file__).resolve().parents[2] / 'tests/data/keras'
CASES = sorted(path.parent for family in ('mha', 'model', 'hub') for path in KERAS.glob(f'{family}/*/model.keras'))
SHOWN = ('mha/cross_mask', 'hub/bert_backbone', 'model/encoder_decoder')


def tolerance(case):
    error = json.loads((case / 'meta.json').read_text())['float32_error']
    largest = max(abs(number) for array in read(case / 'outputs.npz').values() for number in array)
    return max(4 * (error if isinstance(error, (int, float)) else 1e-5), 1e-6 * largest)


class Fixtures(RankCase):
    def hold(self, case, ranks):
        code, _, err = run(ranks, 'run', str(case / 'model.keras'), '--input', str(case / 'inputs.npz'), '--expect',
                           str(case / 'outputs.npz'), '--rtol', '0', '--atol', repr(tolerance(case)), '--parallel', 'tensor',
                           folder=self.folder)
        if code == 2:  # fewer heads than ranks
            self.assertRegex(err, r'cannot be split over \d+ ranks: (any number from 1 to \d+ works|only 1 works)')
        else:
            self.assertEqual(code, 0, err)


def add(case, ranks):
    name = f'{case.parent.name}/{case.name}'
    if CHECKS_LONG or name in SHOWN:
        setattr(Fixtures, f'test_{name}_on_{ranks}_ranks'.replace('/', '_'), lambda self: self.hold(case, ranks))


for each in CASES:
    for count in (2, 3, 4):
        add(each, count)
