#!/usr/bin/env python3
"""The Python package, against what Keras computed: python_test.py, by a Python that has it

`run` makes a fresh environment with a wheel, and runs this there. Exits with 77, and says so, where there is no package. The
program is tested where the package has it; PyTorch and mypy are taken where they are installed.
"""
import base64
import gc
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import unittest
import xml.etree.ElementTree as tree

SKIPPED = 77
try:
    import attn
    import numpy as np
except ImportError as error:
    if __name__ == '__main__':
        print(f'python_test.py: skipped, {error}')
        sys.exit(SKIPPED)
    raise

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERAS = ROOT / 'tests/data/keras'
CASES = sorted(path.parent for path in KERAS.glob('*/*/model.keras'))
ENCODER = KERAS / 'model/encoder'
BAD_USAGE, BAD_INPUT, NO_DEVICE = 2, 3, 5


def arrays(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def label(path):
    return f'{path.parent.name}/{path.name}'


def by_name(outputs):
    """Returns the results of predict(), by the names of outputs.npz."""
    if isinstance(outputs, dict):
        return outputs
    listed = outputs if isinstance(outputs, list) else [outputs]
    return {f'output_{i}': output for i, output in enumerate(listed)}


def error_of(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except attn.Error as error:
        return error
    raise AssertionError('no attn.Error')


class Fixtures(unittest.TestCase):
    def test_predict_computes_what_keras_computes(self):
        # The tolerance of tests/fixtures: 4 times the error of Keras's own float32 run, or 1e-6 of the largest output;
        # in half precision twice the error of Keras under the same policy.
        self.assertGreater(len(CASES), 100)
        for path in CASES:
            with self.subTest(label(path)):
                got = by_name(attn.Model(str(path / 'model.keras')).predict(arrays(path / 'inputs.npz')))
                wanted = arrays(path / 'outputs.npz')
                self.assertEqual(set(got), set(wanted))
                single = json.loads((path / 'meta.json').read_text())['float32_error'] or 1e-5
                half = path / 'keras_outputs.npz'
                for name, expected in wanted.items():
                    allowed = max(4 * single, 1e-6 * np.abs(expected).max(initial=0))
                    if half.exists():
                        keras = arrays(half)[name].astype(float)
                        allowed = max(allowed, 2 * np.abs(keras - expected).max(initial=0))
                    self.assertEqual(got[name].shape, expected.shape)
                    self.assertLessEqual(np.abs(got[name].astype(float) - expected).max(initial=0), allowed)

    def test_config_is_kerass_json(self):
        for path in CASES:
            with self.subTest(label(path)):
                self.assertEqual(json.loads(attn.Model(str(path / 'model.keras')).config()),
                                 json.loads((path / 'model.json').read_text()))

    def test_layers_have_kerass_names_classes_and_counts(self):
        for path in CASES:
            with self.subTest(label(path)):
                layers = {layer.name: layer for layer in attn.Model(str(path / 'model.keras')).layers}
                for wanted in json.loads((path / 'layers.json').read_text()):
                    if wanted['name'] in layers:
                        layer = layers[wanted['name']]
                        self.assertEqual((layer.class_name, layer.params), (wanted['class'], wanted['params']))

    def test_scores_are_what_the_layer_itself_returns(self):
        # The model has two outputs: the layer's result and its attention scores.
        path = KERAS / 'mha/scores'
        scores = attn.Model(str(path / 'model.keras')).scores(arrays(path / 'inputs.npz'))
        (weights,) = scores.values()
        np.testing.assert_allclose(weights, arrays(path / 'outputs.npz')['output_1'], rtol=0, atol=1e-6)
        self.assertEqual(weights.ndim, 4)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


class Inputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = attn.Model(str(ENCODER / 'model.keras'))
        (cls.x,) = arrays(ENCODER / 'inputs.npz').values()
        cls.y = cls.model.predict(cls.x)

    def same(self, x):
        np.testing.assert_array_equal(self.model.predict(x), self.y)

    def test_an_array_a_dict_and_numbers_in_lists_are_one_input(self):
        (name,) = self.model.input_names
        self.same({name: self.x})
        self.same(self.x.tolist())

    def test_arrays_may_lie_anyhow(self):
        self.same(np.asfortranarray(self.x))
        self.same(np.repeat(self.x, 2, axis=1)[:, ::2])
        self.same(self.x[::-1][::-1])
        frozen = self.x.copy()
        frozen.setflags(write=False)
        self.same(frozen)

    def test_other_dtypes_are_converted(self):
        self.same(self.x.astype('float64'))
        self.same(self.x.astype('>f4'))
        halves = self.x.astype('float16')
        np.testing.assert_array_equal(self.model.predict(halves), self.model.predict(halves.astype('float32')))

    def test_each_batch_size_is_compiled_for_itself(self):
        for batch in (1, 3, 1, 5, 2, 7, 3):
            np.testing.assert_allclose(self.model.predict(np.repeat(self.x[:1], batch, axis=0)),
                                       np.repeat(self.y[:1], batch, axis=0), rtol=0, atol=1e-6)

    def test_several_inputs_come_as_a_list_or_a_dict(self):
        path = KERAS / 'model/encoder_decoder'
        model = attn.Model(str(path / 'model.keras'))
        given = arrays(path / 'inputs.npz')
        listed = [given[name] for name in model.input_names]
        self.assertGreater(len(listed), 1)
        by_list, by_dict = model.predict(listed), model.predict(given)
        self.assertEqual(set(by_list), set(by_dict))
        for name, output in by_list.items():
            np.testing.assert_array_equal(output, by_dict[name])
        self.assertIn("'" + model.input_names[1] + "'", str(error_of(model.predict, {model.input_names[0]: listed[0]})))
        self.assertIn('list of arrays', str(error_of(model.predict, listed[0])))
        self.assertIn('1 arrays', str(error_of(model.predict, listed[:1])))

    def test_a_large_input_is_read_where_it_lies(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'mean.json'
            path.write_text(json.dumps({
                'class_name': 'Sequential', 'config': {'name': 'mean', 'layers': [
                    {'class_name': 'InputLayer', 'config': {'batch_shape': [None, None, 1024], 'name': 'x'}},
                    {'class_name': 'GlobalAveragePooling1D', 'config': {'name': 'pool'}}]}}))
            model = attn.Model(str(path))
            x = np.ones((1, 16384, 1024), 'float32')  # 64 MiB
            model.predict(x)  # ends the compilation's temporary memory
            tracemalloc.start()
            before = resident_peak()
            y = model.predict(x)
            grown, traced = resident_peak() - before, tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        np.testing.assert_array_equal(y, np.ones((1, 1024), 'float32'))
        self.assertLess(traced, x.nbytes // 8)
        self.assertLess(grown, x.nbytes // 2)

    def test_outputs_belong_to_the_caller(self):
        model = attn.Model(str(ENCODER / 'model.keras'))
        first = model.predict(self.x)
        kept = first.copy()
        first_view = first[0]
        model.predict(np.zeros_like(self.x))
        del model, first
        gc.collect()
        np.testing.assert_array_equal(first_view, kept[0])
        self.assertTrue(first_view.flags.writeable)

    def test_threads_take_turns_and_get_their_own_numbers(self):
        wrong = []

        def work(batch):
            x = np.repeat(self.x[:1], batch, axis=0)
            for _ in range(20):
                if np.abs(self.model.predict(x) - self.y[:1]).max() > 1e-6:
                    wrong.append(batch)

        threads = [threading.Thread(target=work, args=(batch,)) for batch in (1, 2, 3, 4, 5, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_what_speaks_dlpack_is_an_array(self):
        class Spoken:
            """An array that supports only DLPack."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **named):
                return self.array.__dlpack__(**named)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        (name,) = self.model.input_names
        self.same(Spoken(self.x))
        self.same({name: Spoken(self.x)})
        self.same(Spoken(self.x.astype('float64')))

    @unittest.skipUnless(importlib.util.find_spec('jax'), 'JAX is not installed')
    def test_arrays_of_jax_are_arrays(self):
        import jax.numpy as jnp
        self.same(jnp.asarray(self.x))
        self.same(jnp.asarray(self.x.swapaxes(0, 1).copy()).swapaxes(0, 1))
        np.testing.assert_allclose(self.model.predict(jnp.asarray(self.x, 'bfloat16')), self.y, atol=0.05)

    @unittest.skipUnless(importlib.util.find_spec('torch'), 'PyTorch is not installed')
    def test_tensors_of_pytorch_are_arrays(self):
        import torch
        x = torch.from_numpy(self.x)
        self.same(x)
        self.same(x.double())
        self.same(x.transpose(0, 1).contiguous().transpose(0, 1))
        np.testing.assert_allclose(self.model.predict(x.bfloat16()), self.y, atol=0.05)


def resident_peak():
    """Returns bytes: the process's peak memory since the last call."""
    status = pathlib.Path('/proc/self/status').read_text()
    peak = int(re.search(r'VmHWM:\s+(\d+) kB', status)[1]) * 1024
    pathlib.Path('/proc/self/clear_refs').write_text('5')
    return peak


class Texts(unittest.TestCase):
    def test_strings_and_hashed_numbers_give_what_keras_gives(self):
        for name in ('classifier', 'hashes', 'integers', 'layers', 'nested', 'weighed'):
            with self.subTest(name):
                folder = ROOT / 'tests/data/text' / name
                got = by_name(attn.Model(folder / 'model.keras').predict(arrays(folder / 'inputs.npz')))
                wanted = arrays(folder / 'outputs.npz')
                self.assertEqual(set(got), set(wanted))
                for output, expected in wanted.items():
                    np.testing.assert_allclose(got[output], expected, rtol=1e-4, atol=1e-5)

    def test_strings_that_a_model_gives_are_arrays_of_str(self):
        for name in ('decoded', 'named'):
            folder = ROOT / 'tests/data/text' / name
            model = attn.Model(folder / 'model.keras')
            got, wanted = by_name(model.predict(arrays(folder / 'inputs.npz'))), arrays(folder / 'outputs.npz')
            self.assertEqual(set(got), set(wanted))
            for output, expected in wanted.items():
                with self.subTest(name=name, output=output):
                    self.assertEqual(got[output].dtype.kind, expected.dtype.kind)
                    np.testing.assert_array_equal(got[output], expected)

    def test_strings_come_in_lists_and_as_bytes(self):
        model = attn.Model(ROOT / 'tests/data/text/classifier/model.keras')
        text = 'The dog sat on a mat.'
        y = model.predict(np.array([[text]]))
        for same in ([text], [text.encode()], np.array([text]), {'text': [text]}):
            np.testing.assert_array_equal(model.predict(same), y)


class Options(unittest.TestCase):
    def test_backends_seeds_and_dtypes_are_the_programs(self):
        config = str(ROOT / 'configs/encoder.json')
        x = np.random.default_rng(0).standard_normal((1, 50, 512), 'float32')
        y = attn.Model(config, seed=3).predict(x)
        np.testing.assert_array_equal(attn.Model(config, seed=3, threads=1).predict(x).shape, y.shape)
        self.assertGreater(np.abs(attn.Model(config, seed=4).predict(x) - y).max(), 1e-4)
        np.testing.assert_allclose(attn.Model(config, seed=3, backend='reference').predict(x), y, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(attn.Model(config, seed=3, dtype='bfloat16').predict(x), y, atol=1e-2)

    def test_weights_come_from_a_file(self):
        path = ENCODER
        (x,) = arrays(path / 'inputs.npz').values()
        model = attn.Model(path / 'model.json', weights=path / 'model.weights.h5')
        np.testing.assert_array_equal(model.predict(x), attn.Model(str(path / 'model.keras')).predict(x))

    def test_a_layer_alone_takes_a_shape(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'dense.json'
            path.write_text('{"class_name": "Dense", "config": {"units": 4}}')
            self.assertEqual(attn.Model(str(path), input_shape=[3, 8]).predict(np.zeros((2, 3, 8), 'float32')).shape, (2, 3, 4))


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = attn.Model(str(ENCODER / 'model.keras'))
        (cls.x,) = arrays(ENCODER / 'inputs.npz').values()

    def test_an_error_is_a_value_error_with_the_programs_exit_code(self):
        error = error_of(attn.Model, 'missing.keras')
        self.assertIsInstance(error, ValueError)
        self.assertIn('missing.keras', str(error))
        self.assertEqual(error.code, BAD_INPUT)

    def test_what_is_no_input_is_named(self):
        self.assertIn("'wrong'", str(error_of(self.model.predict, {'wrong': self.x})))
        for bad in (np.array(['a']), object(), [[1.0], [1.0, 2.0]], None, self.x.astype(complex), {}, {3: self.x}):
            with self.subTest(type(bad).__name__):
                with self.assertRaises((attn.Error, ValueError, TypeError)):
                    self.model.predict(bad)

    def test_a_wrong_shape_is_refused_and_the_model_goes_on(self):
        y = self.model.predict(self.x)
        for bad in (self.x[..., :-1], self.x[0], np.zeros(()), np.zeros((0,), 'float32')):
            self.assertEqual(error_of(self.model.predict, bad).code, BAD_INPUT)
        np.testing.assert_array_equal(self.model.predict(self.x), y)

    def test_options_that_there_are_not_are_refused(self):
        self.assertEqual(error_of(attn.Model, str(ENCODER / 'model.keras'), compat='torch').code, BAD_USAGE)
        self.assertEqual(error_of(attn.Model(str(ENCODER / 'model.keras'), device='tpu').predict, self.x).code, BAD_USAGE)
        self.assertEqual(error_of(attn.Model(str(ENCODER / 'model.keras'), threads=-1).predict, self.x).code, BAD_USAGE)
        with self.assertRaises(TypeError):
            attn.Model(str(ENCODER / 'model.keras'), threads='many')
        if not pathlib.Path('/proc/driver/nvidia').exists():
            self.assertEqual(error_of(attn.Model(str(ENCODER / 'model.keras'), device='cuda').predict, self.x).code, NO_DEVICE)

    def test_a_file_that_is_cut_off_is_refused(self):
        whole = (ENCODER / 'model.keras').read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            for size in (0, 100, len(whole) // 2):
                path = pathlib.Path(folder) / f'{size}.keras'
                path.write_bytes(whole[:size])
                self.assertEqual(error_of(attn.Model, str(path)).code, BAD_INPUT)


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = attn.Model(str(ENCODER / 'model.keras'))

    def test_plot_and_attention_maps_are_svg(self):
        plot = self.model.plot()
        self.assertTrue(tree.fromstring(plot).tag.endswith('}svg'))
        for layer in self.model.layers:
            self.assertIn(layer.name, plot)
        maps = self.model.attention_maps()
        self.assertTrue(tree.fromstring(maps).tag.endswith('}svg'))
        self.assertRegex(maps, r'cpu \(\w+\), float32, batch \d+, \d+ threads?')
        self.assertTrue(tree.fromstring(self.model.attention_maps(arrays(ENCODER / 'inputs.npz'))).tag.endswith('}svg'))

    def test_a_notebook_shows_table_graph_and_maps(self):
        page = self.model._repr_html_()
        self.assertIn(self.model.layers[-1].name, page)
        pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
        self.assertEqual(len(pictures), 2)
        for picture in pictures:
            self.assertTrue(tree.fromstring(base64.b64decode(picture)).tag.endswith('}svg'))

    def test_a_model_without_attention_has_no_maps(self):
        model = attn.Model(str(KERAS / 'misc/flatten/model.keras'))
        self.assertEqual(model.scores(arrays(KERAS / 'misc/flatten/inputs.npz')), {})
        self.assertEqual(model._repr_html_().count('<img'), 1)

    def test_names_in_a_page_stay_text(self):
        config = json.loads((KERAS / 'misc/flatten/model.json').read_text())
        config['config']['name'] = '<script>alert(1)</script>'
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'model.json'
            path.write_text(json.dumps(config))
            self.assertNotIn('<script', attn.Model(str(path))._repr_html_())

    def test_a_model_says_what_it_is(self):
        self.assertRegex(repr(self.model), r'^<attn\.Model \w+: \d+ layers, [\d,]+ parameters>$')
        self.assertRegex(repr(self.model.layers[0]), r'^<Layer ')
        self.assertEqual(repr(self.model.summary()), str(self.model.summary()))


PROGRAM = pathlib.Path(attn.__file__).with_name('attn')


@unittest.skipUnless(PROGRAM.exists(), 'this package has no program')
class Program(unittest.TestCase):
    def run_program(self, *arguments):
        return subprocess.run([sys.executable, '-m', 'attn', *arguments], capture_output=True, encoding='utf-8')

    def test_it_is_of_the_modules_version(self):
        self.assertIn(attn.__version__, self.run_program('--version').stdout)

    def test_it_prints_the_modules_summary(self):
        # tests/fixtures compares the program's table with Keras's.
        for path in (KERAS / 'model').iterdir():
            model = str(path / 'model.keras')
            self.assertEqual(self.run_program('summary', model, '--line-length', '100').stdout.rstrip('\n'),
                             attn.Model(model).summary(100).rstrip('\n'))
            self.assertEqual(self.run_program('summary', model).stdout.rstrip('\n'),
                             attn.Model(model).summary().rstrip('\n'))

    def test_it_reads_hdf5_and_ends_with_its_own_codes(self):
        self.assertEqual(self.run_program('weights', str(ENCODER / 'model.weights.h5')).returncode, 0)
        self.assertEqual(self.run_program('run', str(ENCODER / 'model.keras'), '--quiet').returncode, 0)
        failed = self.run_program('summary', 'missing.keras')
        self.assertEqual((failed.returncode, failed.stdout), (BAD_INPUT, ''))
        self.assertTrue(failed.stderr.startswith('attn: error: '))

    @unittest.skipUnless(PROGRAM.with_name('libattn_sentencepiece.so').exists(), 'built without SentencePiece')
    def test_it_finds_sentencepiece(self):
        done = self.run_program('tokenize', str(ROOT / 'tests/data/generation/t5/preset'), '--text', 'the', '--format', 'ids')
        self.assertEqual((done.returncode, done.stdout.split()[0]), (0, '6'), done.stderr)

    def test_its_scores_are_the_modules(self):
        model, inputs = str(ENCODER / 'model.keras'), str(ENCODER / 'inputs.npz')
        with tempfile.TemporaryDirectory() as folder:
            path = f'{folder}/scores.npz'
            self.assertEqual(self.run_program('run', model, '--input', inputs, '--scores', path, '--quiet').returncode, 0)
            wanted = arrays(path)
        got = attn.Model(model).scores(arrays(inputs))
        self.assertEqual(set(got), set(wanted))
        for name, scores in wanted.items():
            np.testing.assert_array_equal(got[name], scores)


TYPED = '''
import pathlib

import attn
import numpy as np

model = attn.Model(pathlib.Path("model.keras"), input_shape=[None, 4], seed=3, threads=2)
names: list[str] = [layer.name for layer in model.layers]
count: int = sum(layer.params for layer in model.layers)
table: str = model.summary(line_length=80)
page: str = model._repr_html_()
maps: dict[str, np.ndarray] = model.scores(np.zeros((1, 3, 4)))
y = model.predict({"x": np.zeros((1, 3, 4))})
try:
    attn.Model("missing.keras")
except attn.Error as error:
    code: int = error.code
version: str = attn.__version__
'''


@unittest.skipUnless(importlib.util.find_spec('mypy'), 'mypy is not installed')
class Types(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'typed.py'
            path.write_text(text)
            done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '--cache-dir', folder, str(path)],
                                  capture_output=True, encoding='utf-8')
        return done.returncode, done.stdout

    def test_stubs_describe_the_module(self):
        code, said = self.check(TYPED)
        self.assertEqual(code, 0, said)

    def test_a_wrong_argument_is_found(self):
        code, said = self.check('import attn\nattn.Model(3)\nattn.Model("m").layer\n')
        self.assertEqual(code, 1)
        self.assertIn('arg-type', said)
        self.assertIn('attr-defined', said)


if __name__ == '__main__':
    unittest.main(verbosity=1)
