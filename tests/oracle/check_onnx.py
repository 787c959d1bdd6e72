"""Compares ONNX Runtime's results for files of `attn convert` with Keras's.

    python tests/oracle/check_onnx.py ATTN [--opset N] [--fixed] [FOLDER…]

A FOLDER may be a case of tests/data/keras, such as mha/causal, a folder of tests/data, such as quantized/dense_int8, or any
other folder. The default is all of tests/data/keras and tests/data/quantized. All models in a folder are used:

- model.keras beside inputs.npz and outputs.npz
- presets of generation beside backbone.npz
- models without outputs (training, gradients), which are compared with attn's reference backend on random inputs

Each model is converted, checked by onnx.checker, and run on the inputs of the case. Its outputs must agree with Keras's
within the tolerances of attn's float32 tests. Sizes that the model leaves open stay open in the file, unless attn asks for
them (--fixed: always). If the batch is open, the inputs also run a second time, concatenated with themselves. onnx.reference
runs models for which ONNX Runtime has no kernels (bfloat16). Needs numpy, onnx, onnxruntime and ml_dtypes.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.reference
import onnxruntime

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


class Case:
    """A model with inputs and expected outputs."""

    def __init__(self, path, attn):
        self.path = path
        self.preset = path.name == "preset"
        self.folder = path.parent
        self.label = f"{self.folder.parent.name}/{self.folder.name}" + ("" if path.name == "model.keras" else f"/{path.stem}")
        self.told = True
        if self.preset:
            arrays = dict(np.load(self.folder / "backbone.npz"))
            self.inputs = {name[3:]: x for name, x in arrays.items() if name.startswith("in_")}
            self.result = next(name for name in ("logits", "task_output", "decoder_sequence_output", "hidden") if name in arrays)
            self.outputs = {"output_0": arrays[self.result]}
        elif (self.folder / "outputs.npz").exists() and path.name == "model.keras":
            self.inputs, self.outputs = (dict(np.load(self.folder / f"{name}.npz")) for name in ("inputs", "outputs"))
        else:
            self.told = False
            self.inputs, self.outputs, self.computed = random_pass(attn, path)

    def tolerance(self, name, expected):
        if not self.told:  # with a mixed policy, both round at different places
            share = {"float16": 4e-3, "bfloat16": 3e-2}.get(self.computed, 1e-5)
            return share * max(float(np.nanmax(np.abs(expected), initial=0.0)), 1e-3)
        if self.preset:
            meta = json.loads((self.folder / "meta.json").read_text())
            largest, keras = float(np.abs(expected).max()), self.folder / "backbone_keras.npz"
            allowed = max(4 * ((meta.get("float32_error") or {}).get(self.result) or 0.0), 2e-6 * largest)
            if keras.exists() and self.result in np.load(keras):
                allowed = max(allowed, 4 * float(np.abs(np.load(keras)[self.result].astype("float64") - expected).max()))
            return allowed
        return tolerance(self.folder, name, expected)


def random_pass(attn, path):
    """Returns random inputs, and the results of attn's reference backend."""
    with tempfile.TemporaryDirectory() as folder:
        words = [attn, "run", path, "--batch-size", "2", "--backend", "reference", "-q"]
        run = lambda *more: subprocess.run([str(word) for word in (*words, *more)], capture_output=True, text=True, check=True).stdout
        random, inputs = np.random.default_rng(1), {}
        told = json.loads(run("--json"))
        for given in told["inputs"]:
            floats = "float" in given["dtype"]
            drawn = random.standard_normal(given["shape"]) if floats else random.integers(0, 2, given["shape"])
            inputs[given["name"]] = drawn.astype("float32" if given["dtype"] == "bfloat16" else given["dtype"])
        np.savez(f"{folder}/in.npz", **inputs)
        run("--input", f"{folder}/in.npz", "-o", f"{folder}/out.npz")
        return inputs, dict(np.load(f"{folder}/out.npz")), told["dtype"]


def tolerance(case, name, expected):
    """Returns the tolerance of tests/fixtures/fixture_cases.cpp; half precision is rounded at different places here."""
    meta = json.loads((case / "meta.json").read_text())
    if "mode" in meta:  # quantized: see tests/fixtures/quantized_test.cpp; half precision: see above
        share = 4e-2 if meta["policy"] != "float32" else 2e-5 if meta["mode"] == "int8" else 2e-6
        return share * float(np.nanmax(np.abs(expected), initial=0.0))
    error = meta["float32_error"]
    error = (error.get(name) if isinstance(error, dict) else error) or 0.0
    allowed = max(4 * error, 2e-6 * float(np.nanmax(np.abs(expected), initial=0.0)))
    if (case / "keras_outputs.npz").exists():
        keras = np.load(case / "keras_outputs.npz")[name].astype("float64")
        allowed = max(allowed, 4 * float(np.nanmax(np.abs(keras - expected), initial=0.0)))
    return allowed


def run(path, inputs):
    model = onnx.load(path)
    if set(inputs) != {i.name for i in model.graph.input}:  # some cases name arrays by tensors; these are in order
        inputs = dict(zip([i.name for i in model.graph.input], inputs.values()))
    inputs = {i.name: inputs[i.name].astype(onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type))
              for i in model.graph.input}
    names = [output.name for output in model.graph.output]
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        given = {i.name for i in session.get_inputs()}
        return dict(zip(names, session.run(names, {k: v for k, v in inputs.items() if k in given}))), "onnxruntime"
    except Exception as error:
        if "bfloat16" not in str(error) and "NOT_IMPLEMENTED" not in str(error):
            raise
        reason = str(error).splitlines()[0][:160]
    evaluator = onnx.reference.ReferenceEvaluator(str(path))
    return dict(zip(names, evaluator.run(names, inputs))), "onnx.reference: " + reason


def check(attn, case, opset, fixed, folder):
    inputs, expected = case.inputs, case.outputs
    path = folder / "model.onnx"
    words = [attn, "convert", case.path, path, "--quiet", "--opset", opset]
    if fixed is None:
        result = check(attn, case, opset, False, folder)
        return check(attn, case, opset, True, folder) if result.startswith("refused") else result
    if fixed:
        for name, x in inputs.items():
            words += ["--shape", f"{name}={','.join(map(str, x.shape))}"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        return "refused: " + done.stderr.strip().splitlines()[-1].split(": ", 2)[-1]
    onnx.checker.check_model(str(path), full_check=True)
    got, by = run(path, inputs)
    worst = ""
    if set(got) != set(expected):
        return f"outputs {sorted(got)} are not {sorted(expected)}"
    for name, wanted in expected.items():
        wanted = wanted.astype("float64")
        value = got[name].astype("float64")
        if value.shape != wanted.shape:
            return f"{name}: shape {value.shape}, not {wanted.shape}"
        error = float(np.max(np.where(np.isnan(value) & np.isnan(wanted), 0, np.abs(value - wanted)), initial=0.0))
        if not error <= case.tolerance(name, wanted):
            return f"{name}: off by {error:.3g} of {np.abs(wanted).max():.3g} ({by})"
    given = onnx.load(path).graph.input
    opened = {d.dim_param for i in given for d in i.type.tensor_type.shape.dim if d.dim_param}
    if "batch" in opened:
        rows = {i.name: [d.dim_param for d in i.type.tensor_type.shape.dim[:1]] for i in given}
        twice = lambda name, x: np.concatenate([x, x]) if rows.get(name, ["batch"]) == ["batch"] else x
        try:
            doubled, _ = run(path, {name: twice(name, x) for name, x in inputs.items()})
        except Exception as error:
            return f"of twice the batch: {str(error)[:300]}"
        for name, value in doubled.items():
            one = got[name].astype("float64")
            if value.ndim == 0 or value.shape[0] != 2 * one.shape[0]:
                continue
            if not np.allclose(value.astype("float64")[: len(one)], one, rtol=1e-4, atol=1e-5, equal_nan=True):
                return f"{name}: another result in a batch twice as large"
    return f"agrees by {by.split(':')[0]}" + (", sizes open" if opened else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attn")
    parser.add_argument("--opset", default="23")
    parser.add_argument("--fixed", action="store_const", const=True)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    roots = options.cases or ["keras", "quantized"]
    found = [next(p for p in (DATA / root, DATA / "keras" / root, pathlib.Path(root)) if p.exists()) for root in roots]
    cases = sorted({path for root in found for kind in ("model.keras", "start.keras", "preset") for path in root.rglob(kind)})
    score, failed = collections.Counter(), 0
    for model in cases:
        label = "/".join(model.parts[-3:])
        with tempfile.TemporaryDirectory() as folder:
            try:
                case = Case(model, options.attn)
                label = case.label
                result = check(options.attn, case, options.opset, options.fixed, pathlib.Path(folder))
            except Exception as error:
                result = f"{type(error).__name__}: {str(error)[:400]}"
        kind = result if result.startswith("agrees") else "refused" if result.startswith("refused") else "fails"
        score[kind] += 1
        if not result.startswith("agrees"):
            failed += 1
            print(f"{label}: {result}")
    for kind, count in sorted(score.items()):
        print(f"{count} {kind}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
