#!/usr/bin/env python3
"""Tests the Python package against Keras's results: python_test.py, with a Python that has the package

`run` creates a fresh environment with a wheel, and runs this script in it. Exits with 77 and a message if there is no package.
Tests of the program run if the package contains it; tests with Keras, PyTorch and mypy run if these are installed.
"""
import base64
import contextlib
import doctest
import gc
import importlib.util
import io
import json
import os
import pathlib
import re
import signal
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
    def test_predict_returns_kerass_results(self):
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
                    finite = np.abs(expected[np.isfinite(expected)])
                    allowed = max(4 * single, 1e-6 * finite.max(initial=0))
                    if half.exists():
                        keras = arrays(half)[name].astype(float)
                        allowed = max(allowed, 2 * np.abs(keras - expected).max(initial=0))
                    self.assertEqual(got[name].shape, expected.shape)
                    np.testing.assert_allclose(got[name].astype(float), expected, rtol=0, atol=allowed, equal_nan=True)

    def test_config_is_kerass_json(self):
        for path in CASES:
            with self.subTest(label(path)):
                model, wanted = attn.Model(str(path / 'model.keras')), json.loads((path / 'model.json').read_text())
                self.assertEqual(json.loads(model.to_json()), wanted)
                self.assertEqual(model.get_config(), wanted['config'])

    def test_layers_have_kerass_names_classes_and_counts(self):
        for path in CASES:
            with self.subTest(label(path)):
                layers = {layer.name: layer for layer in attn.Model(str(path / 'model.keras')).layers}
                for wanted in json.loads((path / 'layers.json').read_text()):
                    if wanted['name'] in layers:
                        layer = layers[wanted['name']]
                        self.assertEqual((layer.class_name, layer.params), (wanted['class'], wanted['params']))

    def test_scores_equal_the_layers_return_value(self):
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

    def test_an_array_a_dict_and_nested_lists_are_accepted_as_input(self):
        (name,) = self.model.input_names
        self.same({name: self.x})
        self.same(self.x.tolist())

    def test_arrays_may_have_any_strides(self):
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

    def test_rows_are_computed_in_batches(self):
        x = np.concatenate([self.x + 0.01 * i for i in range(35)])
        whole = self.model(x)
        for batch_size in (None, 1, 7, 32, 1000):
            np.testing.assert_allclose(self.model.predict(x, batch_size=batch_size), whole, rtol=0, atol=1e-6)
        self.assertEqual(error_of(self.model.predict, x, batch_size=0).code, BAD_USAGE)

    def test_a_fixed_batch_size_is_used(self):
        config = {'class_name': 'Sequential', 'config': {'name': 'fixed', 'layers': [
            {'class_name': 'InputLayer', 'config': {'batch_shape': [40, 3], 'name': 'x'}},
            {'class_name': 'Dense', 'config': {'name': 'dense', 'units': 2}}]}}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'fixed.json'
            path.write_text(json.dumps(config))
            self.assertEqual(attn.Model(path).predict(np.zeros((40, 3), 'float32')).shape, (40, 2))

    def test_each_batch_size_is_compiled_separately(self):
        for batch in (1, 3, 1, 5, 2, 7, 3):
            np.testing.assert_allclose(self.model.predict(np.repeat(self.x[:1], batch, axis=0)),
                                       np.repeat(self.y[:1], batch, axis=0), rtol=0, atol=1e-6)

    def test_several_inputs_are_a_list_or_a_dict(self):
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

    def test_a_large_input_is_read_without_a_copy(self):
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

    def test_threads_take_turns_and_get_their_own_results(self):
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

    def test_objects_with_dlpack_are_arrays(self):
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
    def test_strings_and_hashed_numbers_give_kerass_results(self):
        for name in ('classifier', 'hashes', 'integers', 'layers', 'nested', 'weighed'):
            with self.subTest(name):
                folder = ROOT / 'tests/data/text' / name
                got = by_name(attn.Model(folder / 'model.keras').predict(arrays(folder / 'inputs.npz')))
                wanted = arrays(folder / 'outputs.npz')
                self.assertEqual(set(got), set(wanted))
                for output, expected in wanted.items():
                    np.testing.assert_allclose(got[output], expected, rtol=1e-4, atol=1e-5)

    def test_string_outputs_are_arrays_of_str(self):
        for name in ('decoded', 'named'):
            folder = ROOT / 'tests/data/text' / name
            model = attn.Model(folder / 'model.keras')
            got, wanted = by_name(model.predict(arrays(folder / 'inputs.npz'))), arrays(folder / 'outputs.npz')
            self.assertEqual(set(got), set(wanted))
            for output, expected in wanted.items():
                with self.subTest(name=name, output=output):
                    self.assertEqual(got[output].dtype.kind, expected.dtype.kind)
                    np.testing.assert_array_equal(got[output], expected)

    def test_strings_may_be_lists_and_bytes(self):
        model = attn.Model(ROOT / 'tests/data/text/classifier/model.keras')
        text = 'The dog sat on a mat.'
        y = model.predict(np.array([[text]]))
        for same in ([text], [text.encode()], np.array([text]), {'text': [text]}):
            np.testing.assert_array_equal(model.predict(same), y)


class Options(unittest.TestCase):
    def test_backends_seeds_and_dtypes_equal_the_programs(self):
        config = str(ROOT / 'configs/encoder.json')
        x = np.random.default_rng(0).standard_normal((1, 50, 512), 'float32')
        y = attn.Model(config, seed=3).predict(x)
        np.testing.assert_array_equal(attn.Model(config, seed=3, threads=1).predict(x).shape, y.shape)
        self.assertGreater(np.abs(attn.Model(config, seed=4).predict(x) - y).max(), 1e-4)
        np.testing.assert_allclose(attn.Model(config, seed=3, backend='reference').predict(x), y, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(attn.Model(config, seed=3, dtype='bfloat16').predict(x), y, atol=1e-2)

    def test_weights_are_read_from_a_file(self):
        path = ENCODER
        (x,) = arrays(path / 'inputs.npz').values()
        model = attn.Model(path / 'model.json', weights=path / 'model.weights.h5')
        np.testing.assert_array_equal(model.predict(x), attn.Model(str(path / 'model.keras')).predict(x))

    def test_a_single_layer_requires_a_shape(self):
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

    def test_unknown_inputs_are_named_in_the_error(self):
        self.assertIn("'wrong'", str(error_of(self.model.predict, {'wrong': self.x})))
        for bad in (np.array(['a']), object(), [[1.0], [1.0, 2.0]], None, self.x.astype(complex), {}, {3: self.x}):
            with self.subTest(type(bad).__name__):
                with self.assertRaises((attn.Error, ValueError, TypeError)):
                    self.model.predict(bad)

    def test_a_wrong_shape_is_rejected_and_the_model_stays_usable(self):
        y = self.model.predict(self.x)
        for bad in (self.x[..., :-1], self.x[0], np.zeros(()), np.zeros((0,), 'float32')):
            self.assertEqual(error_of(self.model.predict, bad).code, BAD_INPUT)
        np.testing.assert_array_equal(self.model.predict(self.x), y)

    def test_unknown_options_are_rejected(self):
        self.assertEqual(error_of(attn.Model, str(ENCODER / 'model.keras'), compat='torch').code, BAD_USAGE)
        self.assertEqual(error_of(attn.Model(str(ENCODER / 'model.keras'), device='tpu').predict, self.x).code, BAD_USAGE)
        self.assertEqual(error_of(attn.Model(str(ENCODER / 'model.keras'), threads=-1).predict, self.x).code, BAD_USAGE)
        with self.assertRaises(TypeError):
            attn.Model(str(ENCODER / 'model.keras'), threads='many')
        for no_model in (3, None, self.model):
            with self.assertRaises(TypeError):
                attn.Model(no_model)
        if not pathlib.Path('/proc/driver/nvidia').exists():
            self.assertEqual(error_of(attn.Model(str(ENCODER / 'model.keras'), device='cuda').predict, self.x).code, NO_DEVICE)

    def test_a_truncated_file_is_rejected(self):
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
        self.assertRegex(maps, r'cpu \(\w+\), float32, batch \d+, length \d+, \d+ threads?')
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

    def test_a_model_has_a_repr(self):
        self.assertRegex(repr(self.model), r'^<attn\.Model \w+: \d+ layers, [\d,]+ parameters>$')
        self.assertRegex(repr(self.model.layers[0]), r'^<Layer ')
        self.assertRegex(repr(self.model.plot()), r'^<attn\.Svg of [\d,]+ characters>$')
        self.assertEqual(self.model.plot()._repr_svg_(), str(self.model.plot()))

    def test_a_summary_is_printed(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertIsNone(self.model.summary(100))
        self.assertEqual(printed.getvalue(), self.model.summary_text(100) + '\n')
        lines = []
        self.model.summary(print_fn=lines.append)
        self.assertEqual(lines, [self.model.summary_text()])

    def test_layers_are_found_by_name_and_index(self):
        last = self.model.layers[-1]
        self.assertEqual(self.model.get_layer(last.name).name, last.name)
        self.assertEqual(self.model.get_layer(index=-1).name, last.name)
        for wrong in ({'name': 'no'}, {'index': 99}, {}, {'name': last.name, 'index': 0}):
            with self.assertRaises(ValueError):
                self.model.get_layer(**wrong)
        self.assertEqual(sum(layer.count_params() for layer in self.model.layers), self.model.count_params())
        self.assertEqual(self.model.output_names, [last.name])


PROGRAM = pathlib.Path(attn.__file__).with_name('attn')


@unittest.skipUnless(PROGRAM.exists(), 'this package has no program')
class Program(unittest.TestCase):
    def run_program(self, *arguments):
        return subprocess.run([sys.executable, '-m', 'attn', *arguments], capture_output=True, encoding='utf-8')

    def test_the_program_has_the_modules_version(self):
        self.assertIn(attn.__version__, self.run_program('--version').stdout)

    def test_the_program_prints_the_modules_summary(self):
        # tests/fixtures compares the program's table with Keras's.
        for path in (KERAS / 'model').iterdir():
            model = str(path / 'model.keras')
            self.assertEqual(self.run_program('summary', model, '--line-length', '100').stdout.rstrip('\n'),
                             attn.Model(model).summary_text(100).rstrip('\n'))
            self.assertEqual(self.run_program('summary', model).stdout.rstrip('\n'),
                             attn.Model(model).summary_text().rstrip('\n'))

    def test_the_program_reads_hdf5_and_has_its_exit_codes(self):
        self.assertEqual(self.run_program('weights', str(ENCODER / 'model.weights.h5')).returncode, 0)
        self.assertEqual(self.run_program('run', str(ENCODER / 'model.keras'), '--quiet').returncode, 0)
        failed = self.run_program('summary', 'missing.keras')
        self.assertEqual((failed.returncode, failed.stdout), (BAD_INPUT, ''))
        self.assertTrue(failed.stderr.startswith('attn: error: '))

    @unittest.skipUnless(PROGRAM.with_name('libattn_sentencepiece.so').exists(), 'built without SentencePiece')
    def test_the_program_finds_sentencepiece(self):
        done = self.run_program('tokenize', str(ROOT / 'tests/data/generation/t5/preset'), '--text', 'the', '--format', 'ids')
        self.assertEqual((done.returncode, done.stdout.split()[0]), (0, '6'), done.stderr)

    def test_the_programs_scores_equal_the_modules(self):
        model, inputs = str(ENCODER / 'model.keras'), str(ENCODER / 'inputs.npz')
        with tempfile.TemporaryDirectory() as folder:
            path = f'{folder}/scores.npz'
            self.assertEqual(self.run_program('run', model, '--input', inputs, '--scores', path, '--quiet').returncode, 0)
            wanted = arrays(path)
        got = attn.Model(model).scores(arrays(inputs))
        self.assertEqual(set(got), set(wanted))
        for name, scores in wanted.items():
            np.testing.assert_array_equal(got[name], scores)


SMALL = {'name': 'small', 'input_shape': [3, 4], 'num_layers': 1, 'num_heads': 2, 'key_dim': 2, 'intermediate_dim': 8,
         'units': 2}
ADAM = {'class_name': 'Adam', 'config': {'learning_rate': 0.01}}


def small_model(seed=0):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'small.json'
        path.write_text(json.dumps(SMALL))
        return attn.Model(path, seed=seed)


def small_data(rows):
    x = np.sin(np.arange(rows * 12, dtype='float32')).reshape(rows, 3, 4)
    return x, x[..., :2] + x[..., 2:]


class Training(unittest.TestCase):
    def setUp(self):
        self.model = small_model()
        self.model.compile(ADAM, 'mse', metrics=['mae'])
        self.x, self.y = small_data(12)

    def test_a_history_has_the_values_of_each_epoch(self):
        before = self.model.evaluate(self.x, self.y, verbose=0)
        history = self.model.fit(self.x, self.y, batch_size=4, epochs=5, verbose=0, validation_split=0.25)
        self.assertEqual(history.epoch, [0, 1, 2, 3, 4])
        self.assertEqual(set(history.history), {'loss', 'mae', 'val_loss', 'val_mae'})
        self.assertLess(history.history['loss'][-1], history.history['loss'][0])
        self.assertLess(self.model.evaluate(self.x, self.y, verbose=0)[0], before[0])

    def test_evaluate_returns_values_in_kerass_order(self):
        error = self.model.predict(self.x) - self.y
        values = self.model.evaluate(self.x, self.y, verbose=0)
        np.testing.assert_allclose(values, [(error ** 2).mean(), np.abs(error).mean()], rtol=1e-5)
        self.assertEqual(self.model.evaluate(self.x, self.y, verbose=0, return_dict=True),
                         {'loss': values[0], 'mae': values[1]})
        self.model.compile(ADAM, 'mse')
        self.assertEqual(self.model.evaluate(self.x, self.y, verbose=0), values[0])

    def test_validation_data_and_sample_weights_are_used(self):
        weight = np.repeat(np.array([[0.0]] * 6 + [[2.0]] * 6, 'float32'), 3, axis=1)
        self.model.compile({'class_name': 'SGD', 'config': {'learning_rate': 0.0}}, 'mse')
        history = self.model.fit(self.x, self.y, sample_weight=weight, batch_size=12, verbose=0,
                                 validation_data=(self.x[:6], self.y[:6]))
        error = ((self.model.predict(self.x) - self.y) ** 2).mean(2)
        np.testing.assert_allclose(history.history['loss'], [(error * weight).mean()], rtol=1e-5)
        np.testing.assert_allclose(history.history['val_loss'], [error[:6].mean()], rtol=1e-5)

    def test_a_second_fit_continues(self):
        other = small_model()
        other.compile(ADAM, 'mse', metrics=['mae'])
        whole = self.model.fit(self.x, self.y, epochs=4, shuffle=False, verbose=0, batch_size=4).history['loss']
        halves = [other.fit(self.x, self.y, epochs=2, shuffle=False, verbose=0, batch_size=4).history['loss']
                  for _ in range(2)]
        self.assertEqual(halves[0] + halves[1], whole)

    def test_a_saved_training_is_loaded_with_its_optimizer(self):
        self.model.fit(self.x, self.y, epochs=2, shuffle=False, verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'trained.keras'
            self.model.save(path)
            loaded = attn.Model(path)
            np.testing.assert_array_equal(loaded.predict(self.x), self.model.predict(self.x))
            self.assertEqual(loaded.fit(self.x, self.y, shuffle=False, verbose=0).history,
                             self.model.fit(self.x, self.y, shuffle=False, verbose=0).history)

    def test_an_epoch_prints_a_line(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.model.fit(self.x, self.y, epochs=2)
        self.assertRegex(printed.getvalue(), r'^Epoch 1/2 - [\d.]+s - loss: [\d.]+ - mae: [\d.]+\nEpoch 2/2 - ')

    def test_an_interrupted_training_keeps_its_weights(self):
        before = self.model.get_weights()
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            self.model.fit(self.x, self.y, epochs=10_000_000, verbose=0)
        self.assertGreater(np.abs(self.model.get_weights()[0] - before[0]).max(), 0)

    def test_a_loss_that_is_not_finite_ends_the_training(self):
        self.x[3] = np.nan
        with self.assertWarns(RuntimeWarning):
            self.assertEqual(self.model.fit(self.x, self.y, verbose=0).history, {})

    def test_mismatched_data_is_rejected(self):
        self.assertIn('rows', str(error_of(self.model.fit, self.x, self.y[:5], verbose=0)))
        self.assertIn('loss', str(error_of(small_model().fit, self.x, self.y, verbose=0)))
        with self.assertRaises(ValueError):
            self.model.fit(self.x, {'no': self.y}, verbose=0)
        with self.assertRaises(ValueError):
            self.model.fit(self.x, self.y, validation_data=self.x, verbose=0)
        self.assertEqual(error_of(self.model.fit, self.x, self.y, epochs=0, verbose=0).code, BAD_USAGE)
        self.assertIn('adma', str(error_of(self.model.compile, 'adma', 'mse')))

    def test_gradients_equal_the_slopes_of_the_loss(self):
        loss, gradients = self.model.grad(self.x, self.y, input_gradients=True)
        self.assertAlmostEqual(loss, self.model.evaluate(self.x, self.y, verbose=0)[0], places=5)
        self.assertEqual(list(gradients), [*self.model.weights, 'input:' + self.model.input_names[0]])
        for path, weight in self.model.weights.items():
            self.assertEqual(gradients[path].shape, weight.shape)
        error = 2 * (self.model.predict(self.x) - self.y) / self.y.size
        bias = list(self.model.weights)[-1]
        np.testing.assert_allclose(gradients[bias], error.sum((0, 1)), rtol=1e-4, atol=1e-6)
        self.assertEqual(list(self.model.grad(self.x, self.y, wrt=bias)[1]), [bias])


class Weights(unittest.TestCase):
    def test_weights_are_set_by_order_and_by_path(self):
        model, other = small_model(), small_model(seed=3)
        x, _ = small_data(2)
        y = other.predict(x)
        self.assertGreater(np.abs(model.predict(x) - y).max(), 1e-3)
        model.set_weights(other.get_weights())
        np.testing.assert_array_equal(model.predict(x), y)
        again = small_model()
        weights = other.weights
        again.set_weights(weights)
        for weight in weights.values():
            weight[...] = 0  # the arrays were copied
        np.testing.assert_array_equal(again.predict(x), y)
        with self.assertRaises(ValueError):
            model.set_weights(other.get_weights()[:-1])
        self.assertIn('not in it', str(error_of(model.set_weights, dict(list(weights.items())[:-1]))))

    def test_weight_files_are_read_and_written(self):
        model = small_model(seed=3)
        x, _ = small_data(2)
        y = model.predict(x)
        with tempfile.TemporaryDirectory() as folder:
            for name in ('w.weights.h5', 'w.h5', 'w.npz', 'w.safetensors'):
                with self.subTest(name):
                    path = pathlib.Path(folder) / name
                    model.save_weights(path)
                    other = small_model()
                    other.load_weights(path)
                    np.testing.assert_array_equal(other.predict(x), y)
            model.convert(pathlib.Path(folder) / 'half.npz', dtype='float16')
            self.assertEqual({array.dtype.name for array in arrays(f'{folder}/half.npz').values()}, {'float16'})
            for wrong in (lambda: model.save(f'{folder}/w.npz'), lambda: model.save_weights(f'{folder}/w.keras'),
                          lambda: model.convert(f'{folder}/w.txt')):
                with self.assertRaises(ValueError):
                    wrong()

    def test_a_quantized_model_has_the_programs_integers(self):
        model = small_model()
        x, _ = small_data(2)
        y = model.predict(x)
        model.quantize('int8')
        self.assertIn('int8', {array.dtype.name for array in model.get_weights()})
        np.testing.assert_allclose(model.predict(x), y, atol=0.1)
        self.assertGreater(np.abs(model.predict(x) - y).max(), 0)
        with tempfile.TemporaryDirectory() as folder:
            model.save(f'{folder}/int8.keras')
            np.testing.assert_array_equal(attn.Model(f'{folder}/int8.keras').predict(x), model.predict(x))
        self.assertIn('already', str(error_of(model.quantize, 'int8')))


GPT2 = ROOT / 'tests/data/generation/gpt2/preset'


class Generation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = attn.Model(GPT2)

    def test_ids_equal_the_tokenizers(self):
        ids = self.model.tokenize('the cat')
        self.assertEqual(self.model.detokenize(ids), 'the cat')
        self.assertEqual(self.model.tokenize(['the cat', 'the']), [ids, self.model.tokenize('the')])
        self.assertEqual(self.model.detokenize([ids, ids]), ['the cat', 'the cat'])
        tokenizer = attn.Tokenizer(GPT2)
        self.assertEqual(tokenizer.tokenize('the cat'), ids)
        self.assertGreater(tokenizer.vocabulary_size(), max(ids))
        self.assertIsInstance(tokenizer.id_to_token(ids[0]), str)
        self.assertEqual(error_of(tokenizer.detokenize, [10 ** 6]).code, BAD_USAGE)

    def test_texts_and_ids_are_returned_in_the_form_of_the_input(self):
        named = {'sampler': 'greedy', 'max_new_tokens': 4}
        text = self.model.generate('the', **named)
        self.assertTrue(text.startswith('the'))
        self.assertEqual(self.model.generate(['the'], **named), [text])
        self.assertEqual(self.model.generate('the', strip_prompt=True, **named), text[len('the'):])
        ids = self.model.generate([1, 2, 3], **named)
        self.assertEqual(ids[:3], [1, 2, 3])
        self.assertEqual(self.model.generate(np.array([[1, 2, 3]]), **named), [ids])
        self.assertEqual(self.model.generate([1, 2, 3], strip_prompt=True, **named), ids[3:])
        drawn = [self.model.generate('the', sampler='random', seed=seed, max_new_tokens=8) for seed in (1, 1, 2)]
        self.assertEqual(drawn[0], drawn[1])

    def test_scores_are_logarithms_of_probabilities(self):
        ids = self.model.tokenize('the cat the')
        scores = self.model.score(ids)
        self.assertEqual((scores.shape, scores.dtype), ((len(ids) - 1,), np.dtype('float64')))
        self.assertLess(scores.max(), 0)
        both = self.model.score([ids, 'the cat the'])
        np.testing.assert_array_equal(both[0], scores)
        self.assertGreaterEqual(len(both[1]), len(scores))

    def test_a_model_that_is_not_a_decoder_is_rejected(self):
        model = small_model()
        self.assertEqual(error_of(model.generate, [1, 2]).code, BAD_INPUT)
        self.assertEqual(error_of(self.model.generate, 'the', sampler='best').code, BAD_USAGE)


class Probes(unittest.TestCase):
    """model.probe, against tests/data/probe."""

    @classmethod
    def setUpClass(cls):
        cls.folder = ROOT / 'tests/data/probe/gpt2'
        cls.meta = json.loads((cls.folder / 'meta.json').read_text())
        cls.probe = attn.Model(ROOT / 'tests/data' / cls.meta['model']).probe
        inputs = arrays(cls.folder / 'inputs.npz')
        cls.ids, cls.clean, cls.corrupt, cls.repeated = (inputs[name][0] for name in
                                                         ('ids', 'clean', 'corrupt', 'repeated'))
        cls.inputs = inputs
        cls.pair = {'token': cls.meta['token_a'], 'versus': cls.meta['token_b']}

    def close(self, got, file, name, rows=()):
        wanted = arrays(self.folder / f'{file}.npz')[name][rows]
        np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-5 * max(1, np.abs(wanted).max()), err_msg=name)

    def test_the_lens_equals_the_programs(self):
        lens = self.probe.lens(self.ids, mid=True)
        self.assertEqual(lens.points[:2], ['resid_pre.0', 'resid_mid.0'])
        np.testing.assert_array_equal(lens.top_ids, arrays(self.folder / 'lens.npz')['top_ids'])
        self.close(lens.top_log_probs, 'lens', 'top_log_probs')
        self.close(lens.entropy, 'lens', 'entropy')
        self.close(lens.kl_to_final, 'lens', 'kl_to_final')
        np.testing.assert_array_equal(lens.target_ids, [*self.ids[1:], -1])
        np.testing.assert_array_equal(lens.target_ranks[:, :-1], arrays(self.folder / 'lens.npz')['next_token_rank'])
        self.close(lens.target_log_probs[:, :-1], 'lens', 'next_token_log_prob')

    def test_direct_logit_attribution(self):
        found = self.probe.dla(self.clean, **self.pair)
        self.assertEqual((found.token, found.versus), (self.pair['token'], self.pair['versus']))
        self.close(np.stack([found.parts['z.0'], found.parts['z.1']]), 'dla', 'pair_heads')
        self.close(found.parts['embed'], 'dla', 'pair_embed')
        self.close(found.sum, 'dla', 'pair_sum')
        np.testing.assert_allclose(found.sum, found.logit, atol=1e-4)

    def test_ablation(self):
        found = self.probe.ablate(self.ids, parts=['heads', 'attn', 'mlp'], **self.pair)
        for point, site in (('z', 'head'), ('attn_out', 'attn'), ('mlp_out', 'mlp')):
            for values, what in ((found.metric_changes, 'metric'), (found.loss_changes, 'loss'), (found.kl, 'kl')):
                self.close(np.stack([values[f'{point}.0'], values[f'{point}.1']]), 'ablation', f'{site}_zero_{what}')
        self.close(found.loss, 'ablation', 'loss')
        by_mean = self.probe.ablate(self.ids, parts=['mlp'], how='mean', reference=self.inputs['reference'], **self.pair)
        self.close([by_mean.metric_changes[f'mlp_out.{layer}'] for layer in (0, 1)], 'ablation',
                   'mlp_mean_reference_metric')

    def test_patching(self):
        found = self.probe.patch(self.clean, self.corrupt, points='resid_pre,z', **self.pair)
        for point in ('resid_pre', 'z'):
            self.close([found.values[f'{point}.{layer}'] for layer in (0, 1)], 'patching', point)
        self.assertEqual(found.estimates, {})
        self.close(found.clean, 'patching', 'metric_clean')
        self.assertAlmostEqual(found.restored()['resid_pre.0'].max(), 1, delta=1)
        estimated = self.probe.patch(self.clean, self.corrupt, points='z', by='head-position', approximate=True,
                                     confirm=3, **self.pair)
        self.assertEqual(estimated.estimates['z.0'].shape, (4, 10))
        self.close(np.stack([estimated.estimates['z.0'], estimated.estimates['z.1']]), 'attribution_patching',
                   'z_by_position')
        self.assertEqual(sum(np.isfinite(values).sum() for values in estimated.values.values()), 3)

    def test_attention_and_the_stream(self):
        self.close(self.probe.rollout(self.ids), 'rollout', 'mean')
        heads = self.probe.heads(self.repeated)
        self.close(heads.induction, 'heads', 'induction')
        self.close(heads.previous_share, 'heads', 'previous_share')
        self.assertEqual(len(self.probe.heads(length=6, seed=1).ids), 12)
        found = self.probe.outliers(self.ids, least=2, ratio=5, top=5)
        self.close([layer.median for layer in found], 'sinks', 'median')
        self.close(np.stack([layer.values for layer in found]), 'sinks', 'top_values')
        np.testing.assert_array_equal([layer.positions for layer in found],
                                      arrays(self.folder / 'sinks.npz')['top_positions'])

    def test_saliency(self):
        found = self.probe.saliency(self.ids, token=self.meta['target'])
        self.close(found.values, 'saliency', 'grad_x_input')
        self.assertIsNone(found.gap)
        self.assertEqual(found.encoder_values.shape, (0,))
        integrated = self.probe.saliency(self.ids, method='integrated', rule='gauss', baseline=self.meta['pad_id'],
                                         token=self.meta['target'])
        self.close(integrated.gradient, 'saliency', 'ig_pad_gauss')
        self.close(integrated.baseline_score, 'saliency', 'score_pad')

    def test_captures_comparisons_and_directions(self):
        found = self.probe.capture(self.ids, 'z,resid_post.-1')
        self.assertEqual(list(found), ['z.0', 'z.1', 'resid_post.1', 'ids'])
        self.close(found['z.1'][0], 'activations', 'z', 1)
        padded = self.probe.capture([self.ids, self.clean], 'embed')
        self.assertEqual(padded['embed'].shape, (2, 12, 32))
        np.testing.assert_array_equal(padded['lengths'], [12, 10])
        self.assertEqual(self.probe.points()['z.0'], '(B, T, 4, 8)')
        vector = self.probe.steer(self.inputs['positive'], self.inputs['negative'],
                                  point=f"resid_post.{self.meta['steering_layer']}")
        self.close(vector, 'steering', 'vector_last')
        other = attn.Model(ROOT / 'tests/data' / self.meta['model'])
        self.assertEqual({point.max_abs for point in self.probe.compare(other, self.ids)}, {0})

    def test_an_encoder_decoder_reads_two_prompts(self):
        probe = attn.Model(ROOT / 'tests/data/generation/t5_tied/preset').probe
        inputs = arrays(ROOT / 'tests/data/probe/t5_tied/inputs.npz')
        found = probe.saliency(inputs['encoder'][0], decoder=inputs['decoder'][0])
        self.assertEqual((found.encoder_values.shape, found.values.shape), ((9,), (6,)))
        self.assertIn('`decoder`', str(error_of(probe.lens, inputs['encoder'][0])))

    def test_a_prompt_may_be_a_text_and_a_token_a_word(self):
        model = attn.Model(GPT2)
        (token,) = model.tokenize('a')
        found = model.probe.lens('the cat', token='a')
        ids = [attn.Tokenizer(GPT2).start_token_id, *model.tokenize('the cat')]
        np.testing.assert_array_equal(found.top_ids, model.probe.lens(ids).top_ids)
        self.assertEqual(set(found.target_ids), {token})

    def test_a_new_weight_changes_the_answer(self):
        model = attn.Model(GPT2.parent / 'task.keras')
        before = model.probe.lens(self.ids).entropy
        model.set_weights([array * 0.5 for array in model.get_weights()])
        self.assertGreater(np.abs(model.probe.lens(self.ids).entropy - before).max(), 1e-3)

    def test_a_wrong_argument_raises_one_sentence(self):
        for wrong in (lambda: self.probe.ablate(self.ids, how='nothing'), lambda: self.probe.lens([]),
                      lambda: self.probe.capture(self.ids, 'z.9'), lambda: self.probe.lens(self.ids, top=0),
                      lambda: self.probe.patch(self.clean, self.ids)):
            self.assertEqual(error_of(wrong).code, BAD_USAGE)
        self.assertEqual(error_of(small_model().probe.lens, [1, 2]).code, BAD_INPUT)


@unittest.skipUnless(PROGRAM.exists(), 'this package has no program')
class LikeTheProgram(unittest.TestCase):
    def output_of(self, *arguments):
        done = subprocess.run([sys.executable, '-m', 'attn', *map(str, arguments)], capture_output=True, encoding='utf-8')
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_module_generates_and_scores_like_the_program(self):
        model = attn.Model(GPT2)
        for prompt in ('the', 'the cat'):
            shown = json.loads(self.output_of('generate', GPT2, '--prompt', prompt, '--sampler', 'greedy',
                                              '--max-new-tokens', 6, '--json'))
            self.assertIn(model.generate(prompt, sampler='greedy', max_new_tokens=6), json.dumps(shown, ensure_ascii=False))
        shown = json.loads(self.output_of('score', GPT2, '--text', 'the cat the', '--json'))
        found = [token['log_prob'] for token in shown['results'][0]['tokens'] if token.get('log_prob') is not None]
        np.testing.assert_allclose(model.score('the cat the'), found, rtol=1e-9)

    def test_gradients_equal_the_programs(self):
        model = small_model()
        x, y = small_data(5)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(f'{folder}/small.json').write_text(json.dumps(SMALL))
            np.savez(f'{folder}/data.npz', y=y, **{model.input_names[0]: x})
            self.output_of('grad', f'{folder}/small.json', '--data', f'{folder}/data.npz', '--loss', 'mse', '--inputs', '-o',
                           f'{folder}/grad.npz')
            wanted = arrays(f'{folder}/grad.npz')
        loss, gradients = model.grad(x, y, loss='mse', input_gradients=True)
        self.assertEqual(loss, float(wanted.pop('loss')))
        self.assertEqual(set(gradients), set(wanted))
        for name, gradient in gradients.items():
            np.testing.assert_array_equal(gradient, wanted[name])

    def test_quantized_weights_equal_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            self.output_of('convert', ENCODER / 'model.keras', f'{folder}/int8.keras', '--quantize', 'int8')
            wanted = attn.Model(f'{folder}/int8.keras').weights
        model = attn.Model(ENCODER / 'model.keras')
        model.quantize('int8')
        self.assertEqual(list(model.weights), list(wanted))
        for name, array in model.weights.items():
            np.testing.assert_array_equal(array, wanted[name])


class Page(unittest.TestCase):
    def test_the_examples_of_the_page_print_what_it_shows(self):
        x = np.load(ROOT / 'src/cli/commands/demo/word.npy')
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            pathlib.Path('model.keras').symlink_to(ROOT / 'src/cli/commands/demo/reverser.keras')
            pathlib.Path('gpt2').symlink_to(GPT2)
            failed, tried = doctest.testfile(str(ROOT / 'docs/python.md'), module_relative=False, encoding='utf-8',
                                             optionflags=doctest.ELLIPSIS,
                                             globs={'x': x, 'targets': x[:, ::-1].copy()})
            os.chdir(before)
        self.assertGreater(tried, 10)
        self.assertEqual(failed, 0)


@unittest.skipUnless(importlib.util.find_spec('keras'), 'Keras is not installed')
class LiveKeras(unittest.TestCase):
    """Models in the memory of Keras."""

    @staticmethod
    def encoder(dropout=0.0):
        import keras
        keras.utils.set_random_seed(1)
        x = keras.Input((6, 8), name='x')
        h = keras.layers.MultiHeadAttention(2, 4, dropout=dropout, name='attention')(x, x)
        h = keras.layers.LayerNormalization(name='norm')(x + h)
        h = keras.layers.Dense(16, activation='gelu', name='wide')(h)
        return keras.Model(x, keras.layers.Dense(3, name='head')(h), name='encoder')

    def setUp(self):
        self.x = np.random.default_rng(0).standard_normal((20, 6, 8), 'float32')
        self.y = np.random.default_rng(1).standard_normal((20, 6, 3)).astype('float32')

    def test_predictions_equal_live_kerass(self):
        keras_model = self.encoder()
        model = attn.Model(keras_model)
        np.testing.assert_allclose(model.predict(self.x), keras_model.predict(self.x, verbose=0), rtol=1e-4, atol=1e-5)
        self.assertEqual(model.output_names, keras_model.output_names)
        self.assertEqual(model.count_params(), keras_model.count_params())
        self.assertEqual(list(model.weights), [weight.path for weight in keras_model.weights])
        shown = []
        keras_model.summary(print_fn=lambda text, **named: shown.append(text))
        self.assertEqual(model.summary_text(line_length=None).split()[-1], '\n'.join(shown).split()[-1])

    def test_losses_equal_live_kerass(self):
        import keras
        for optimizer, metrics in (('sgd', None), (keras.optimizers.Adam(1e-2), ['mae']), ('rmsprop', ['mse'])):
            keras_model = self.encoder()
            keras_model.compile(optimizer, 'mse', metrics=metrics)
            model = attn.Model(keras_model)
            named = {'epochs': 3, 'batch_size': 8, 'shuffle': False, 'verbose': 0, 'validation_split': 0.25}
            wanted = keras_model.fit(self.x, self.y, **named)
            got = model.fit(self.x, self.y, **named)
            self.assertEqual(got.epoch, wanted.epoch)
            self.assertEqual(set(got.history), set(wanted.history))
            for name, values in wanted.history.items():
                np.testing.assert_allclose(got.history[name], values, rtol=1e-4)
            np.testing.assert_allclose(model.evaluate(self.x, self.y, verbose=0),
                                       keras_model.evaluate(self.x, self.y, verbose=0), rtol=1e-4)
            for array, expected in zip(model.get_weights(), keras_model.get_weights()):
                np.testing.assert_allclose(array, expected, rtol=1e-2, atol=1e-4)

    def test_keras_loads_what_it_saves(self):
        import keras
        model = attn.Model(self.encoder())
        model.compile(keras.optimizers.Adam(1e-2), keras.losses.MeanSquaredError())
        model.fit(self.x, self.y, epochs=2, shuffle=False, verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            model.save(f'{folder}/trained.keras')
            loaded = keras.models.load_model(f'{folder}/trained.keras')
        np.testing.assert_allclose(loaded.predict(self.x, verbose=0), model.predict(self.x), rtol=1e-4, atol=1e-5)
        self.assertEqual(int(loaded.optimizer.iterations), 2)
        named = {'shuffle': False, 'verbose': 0}
        np.testing.assert_allclose(model.fit(self.x, self.y, **named).history['loss'],
                                   loaded.fit(self.x, self.y, **named).history['loss'], rtol=1e-4)

    def test_quantized_weights_equal_live_kerass(self):
        keras_model = self.encoder()
        model = attn.Model(keras_model)
        model.quantize('int8')
        keras_model.quantize('int8')
        for array, expected in zip(model.get_weights(), keras_model.get_weights()):
            np.testing.assert_array_equal(array, np.asarray(expected))


TYPED = '''
import pathlib

import attn
import numpy as np

model = attn.Model(pathlib.Path("model.keras"), input_shape=[None, 4], seed=3, threads=2)
names: list[str] = [layer.name for layer in model.layers]
count: int = sum(layer.params for layer in model.layers) + model.count_params()
table: str = model.summary_text(line_length=80)
page: str = model._repr_html_()
picture: attn.Svg = model.plot()
maps: dict[str, np.ndarray] = model.scores(np.zeros((1, 3, 4)))
y = model.predict({"x": np.zeros((1, 3, 4))}, batch_size=8)
z = model(y)
model.compile("adam", "mse", metrics=["mae"])
history: attn.History = model.fit(y, z, epochs=3, validation_data=(y, z))
losses: list[float] = history.history["loss"]
loss, gradients = model.grad(y, z, wrt="*kernel")
rate: float = loss
model.set_weights(model.weights)
config: dict[str, object] = model.get_config()
lens: attn.probe.Lens = model.probe.lens("a text", token=" word")
entropy: np.ndarray = lens.entropy
parts: dict[str, np.ndarray] = model.probe.dla([1, 2, 3], versus=5).parts
lost: float | None = model.probe.ablate(np.zeros(3, int), parts=["mlp"]).loss
streams: dict[str, np.ndarray] = model.probe.capture(["a", "b"], "resid_post.-1")
tokens: list[int] = attn.Tokenizer("preset").tokenize("a text")
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

    def test_the_package_itself_is_typed(self):
        folder = pathlib.Path(attn.__file__).parent
        done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '--cache-dir', os.devnull, '-p', 'attn'],
                              capture_output=True, encoding='utf-8', env={**os.environ, 'MYPYPATH': str(folder.parent)})
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_type_checker_finds_a_wrong_argument(self):
        code, said = self.check('import attn\nattn.Model(3)\nattn.Model("m").layer\n')
        self.assertEqual(code, 1)
        self.assertIn('arg-type', said)
        self.assertIn('attr-defined', said)


if __name__ == '__main__':
    unittest.main(verbosity=1)
