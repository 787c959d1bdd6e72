"""The model."""
from __future__ import annotations

import html
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _attn, live
from .data import targets_of, validation_of
from ._errors import Error
from .history import History
from .probe import Probe
from .svg import Svg, as_html

# Above this number of parameters a notebook does not show attention maps automatically, since they need a run.
MOST_PARAMS_SHOWN = 20_000_000

Array = npt.NDArray[Any]
Path = Union[str, "os.PathLike[str]"]


def _is_ids(given: Any) -> bool:
    """Return whether `given` is a list of token ids, rather than a text or a list of inputs."""
    if isinstance(given, (str, bytes)):
        return False
    return len(given) > 0 and all(isinstance(each, (int, np.integer)) for each in given)


def _rows_of_ids(given: Any) -> list[list[int]]:
    return [[int(token) for token in row] for row in given]


class Model:
    """A Keras model, opened from files or copied from a keras.Model in memory.

    model: the path of a .keras archive, of Keras JSON, of a whole-model .h5, of the short encoder config, or of a folder
        of KerasHub or Hugging Face; or a keras.Model, whose config and weights are copied.
    input_shape: the shape without the batch axis, for a single layer or a Sequential without an input. None is any size.
    keras_version: the version that wrote the model ("3.12"), if its file does not contain it.
    compat: "keras-hub" reads a Hugging Face config as KerasHub does, including its errors.
    device: "cpu", "cuda", "cuda:N" or "auto", for predict, scores, grad and generate. fit and evaluate use the CPU.
    backend: "reference", "onednn" or "cuda"; "" selects the fastest of the device.
    dtype: "float32", "bfloat16", "float16" or "float64" replaces the dtype of the model's policy; "int8", "int4" or
        "int4:BLOCK" quantize the weights for the run.
    weights: a file of weights (default: the model's own, otherwise drawn from its initializers).
    seed: the seed of drawn weights and inputs, and of the order of rows in fit.
    threads: the number of threads; 0 uses all cores.

    Raises attn.Error, a ValueError whose `code` is the program's exit code, for a file that cannot be read.
    Other threads of Python run while a model computes. Concurrent calls of one model run one after the other.
    """

    def __init__(
        self,
        model: Path | live.KerasModel,
        *,
        input_shape: Sequence[int | None] | None = None,
        keras_version: str | None = None,
        compat: str = "none",
        device: str = "cpu",
        backend: str = "",
        dtype: str | None = None,
        weights: Path | None = None,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        is_live = live.is_keras_model(model)
        given: Any = model
        place: str = given.name if is_live else os.fspath(given)
        self._path = None if is_live else place
        self._engine = _attn.Engine(
            place,
            given.to_json() if is_live else None,
            input_shape=None if input_shape is None else list(input_shape),
            keras_version=keras_version,
            compat=compat,
            device=device,
            backend=backend,
            dtype=dtype,
            weights=None if weights is None else os.fspath(weights),
            seed=seed,
            threads=threads,
        )
        if is_live and weights is None:
            paths, arrays = live.arrays_of(given)
            # Layers inside layers may share a path.
            self.set_weights(dict(zip(paths, arrays)) if len(set(paths)) == len(paths) else arrays)

    # Description

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._engine.name

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, in order."""
        return self._engine.input_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs, in order: of the layers that compute them, or the keys of a dict."""
        return self._engine.output_names

    @property
    def layers(self) -> list[_attn.Layer]:
        """The layers of the top level, in Keras's order."""
        return self._engine.layers

    @property
    def warnings(self) -> list[str]:
        """Deviations that were accepted while the model was read."""
        return self._engine.warnings

    def get_layer(self, name: str | None = None, index: int | None = None) -> _attn.Layer:
        """Return a layer of the top level by its name or its index. Raises ValueError if there is none."""
        if (name is None) == (index is None):
            raise ValueError("get_layer: give a name or an index")
        layers = self.layers
        if index is not None:
            if not -len(layers) <= index < len(layers):
                raise ValueError(f"the model has {len(layers)} layers, and none with the index {index}")
            return layers[index]
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(f"no layer is called '{name}'; the layers are {', '.join(layer.name for layer in layers)}")

    def count_params(self) -> int:
        """Return the number of elements of all weights."""
        return self._engine.count_params()

    def get_config(self) -> dict[str, Any]:
        """Return the config of the model, as keras.Model.get_config."""
        config: dict[str, Any] = json.loads(self.to_json())["config"]
        return config

    def to_json(self) -> str:
        """Return JSON that keras.models.model_from_json loads."""
        return self._engine.config()

    def summary_text(
        self, line_length: int | None = None, expand_nested: bool = False, show_trainable: bool = False
    ) -> str:
        """Return the text that summary() prints. Without a line length no name is truncated."""
        return self._engine.summary(line_length, expand_nested, show_trainable)

    def summary(
        self,
        line_length: int | None = None,
        print_fn: Callable[[str], object] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
    ) -> None:
        """Print the table of layers, as keras.Model.summary: by print, or in one call of `print_fn`.

        Raises attn.Error for a line that is too short for the columns.
        """
        (print if print_fn is None else print_fn)(self.summary_text(line_length, expand_nested, show_trainable))

    def plot(self) -> Svg:
        """Return the layers and their connections as SVG."""
        return Svg(self._engine.plot())

    def __repr__(self) -> str:
        return f"<attn.Model {self.name}: {len(self.layers)} layers, {self.count_params():,} parameters>"

    def _repr_html_(self) -> str:
        parts = [f"<pre>{html.escape(self.summary_text(100))}</pre>"]
        parts.append(f"<details><summary>Layers and connections</summary>{as_html(self.plot())}</details>")
        if self.count_params() <= MOST_PARAMS_SHOWN:
            try:
                maps = self.attention_maps()
            except Error as error:
                maps = Svg()
                parts.append(f"<p>{html.escape(str(error))}</p>")
            if maps:
                parts.append(f"<details><summary>Attention for random inputs</summary>{as_html(maps)}</details>")
        return "\n".join(parts)

    @property
    def probe(self) -> Probe:
        """Questions about the inside of a model of token ids: model.probe.lens("The capital of"), …"""
        return Probe(self._engine)

    # Forward passes

    def predict(self, x: Any, batch_size: int | None = None) -> Any:
        """Run forward passes over the rows of x, `batch_size` (default 32) at a time.

        x: an array of the input's shape with the batch axis first; a list of arrays in the order of input_names; or a
            dict by these names. NumPy arrays and CPU arrays with DLPack of the model's dtype are read in place, others
            are converted. An input of strings takes str or bytes, in lists or arrays.

        Returns an array that the caller owns, or a list or dict of arrays if the model has several outputs; bfloat16,
        which NumPy does not have, becomes float32. Raises attn.Error for an input that does not fit.
        """
        return self._engine.predict(x, 32 if batch_size is None else batch_size)

    def __call__(self, inputs: Any) -> Any:
        """Run one forward pass over all rows; arguments and results are those of predict."""
        return self._engine.predict(inputs, None)

    def scores(self, x: Any) -> dict[str, Array]:
        """Return the attention scores of every attention layer in a pass over x, by layer name.

        The arrays are (batch, heads, target length, source length).
        """
        return self._engine.scores(x)

    def attention_maps(self, x: Any = None) -> Svg:
        """Return the attention maps of each head for the first row of x (default random), as SVG."""
        return Svg(self._engine.attention_maps(x))

    def grad(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        loss: Any = None,
        wrt: str | Sequence[str] = (),
        input_gradients: bool = False,
        training: bool = True,
        dropout: bool = False,
    ) -> tuple[float, dict[str, Array]]:
        """Return the loss over x and y, and its gradients by the path of each weight.

        y: the targets, as for fit. Missing targets are drawn from the seed.
        loss: a name, or an object as for compile (default: that of compile, otherwise the mean squared error).
        wrt: patterns of weight paths, with * and ? (default: all trainable weights).
        input_gradients: also return the gradients of floating-point inputs, named "input:x".
        training: let layers behave as in training.
        dropout: also apply dropout.

        A gradient has the shape and dtype of its weight, and is 0 if the loss does not depend on it. Raises attn.Error.
        """
        targets = targets_of(y, sample_weight, self.output_names)
        return self._engine.gradients(
            x,
            targets,
            loss=None if loss is None else _name_or_json(live.json_of(loss)),
            wrt=[wrt] if isinstance(wrt, str) else list(wrt),
            input_gradients=input_gradients,
            training=training,
            dropout=dropout,
        )

    # Training

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Sequence[float] | Mapping[str, float] | None = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
    ) -> None:
        """Set the optimizer, the loss and the metrics of fit and evaluate. The optimizer starts from scratch.

        Each is a name ("adam"), a config as Keras writes it ({"class_name": "Adam", "config": {"learning_rate": 1e-4}}),
        or an object of Keras. For several outputs it is a list or a dict of these. Raises attn.Error, also for a custom
        function, because attn never runs a model's Python code.
        """
        self._engine.compile(
            json.dumps(
                {
                    "optimizer": live.json_of(optimizer),
                    "loss": live.json_of(loss),
                    "loss_weights": live.json_of(loss_weights),
                    "metrics": live.json_of(metrics),
                    "weighted_metrics": live.json_of(weighted_metrics),
                }
            )
        )

    def fit(
        self,
        x: Any,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int | str = "auto",
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Mapping[int, float] | None = None,
        sample_weight: Any = None,
    ) -> History:
        """Train on arrays, on the CPU, as keras.Model.fit.

        x: the inputs, as for predict.
        y: the targets, an array. For several outputs, a list in the order of output_names or a dict by name.
        batch_size: the number of rows in a step (default 32).
        verbose: 0 prints nothing; 1, 2 and "auto" print a line for each epoch.
        validation_split: the share of rows at the end that is not trained on, but evaluated after each epoch.
        validation_data: (x, y) or (x, y, sample_weight), instead of validation_split.
        shuffle: use a new random order of rows in each epoch.
        class_weight: the weight of a sample, by the class of its target.
        sample_weight: the weights of samples, or of their positions. For several outputs, a list or dict as for y.

        Returns the History. The model keeps its new weights and the optimizer's state, also after an error or Ctrl-C,
        and another fit continues from there. A loss that is not finite ends training with a RuntimeWarning. Raises
        attn.Error for data that does not fit, and for a model without a loss.
        """
        outputs = self.output_names
        history = History(epochs)
        started = time.monotonic()

        def on_epoch(epoch: int, values: dict[str, float]) -> None:
            nonlocal started
            history.add(epoch - 1, values)
            if verbose != 0:
                shown = " - ".join(f"{name}: {value:.4f}" for name, value in values.items())
                print(f"Epoch {epoch}/{epochs} - {time.monotonic() - started:.1f}s - {shown}", flush=True)
            started = time.monotonic()

        end = self._engine.fit(
            x,
            targets_of(y, sample_weight, outputs),
            validation_of(validation_data, outputs),
            on_epoch,
            batch_size=32 if batch_size is None else batch_size,
            epochs=epochs,
            shuffle=shuffle,
            validation_split=float(validation_split),
            class_weight={int(label): float(weight) for label, weight in (class_weight or {}).items()},
        )
        if end == "not finite":
            message = f"the loss or a gradient was not finite in epoch {len(history.epoch) + 1}; the training ended there"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        return history

    def evaluate(
        self,
        x: Any,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Return the loss and the metrics over arrays, given as for fit, on the CPU.

        The result is a float, or for several values a list in Keras's order, with the loss first. `return_dict` returns
        a dict by name, and `verbose` other than 0 prints the values. Raises attn.Error.
        """
        targets = targets_of(y, sample_weight, self.output_names)
        values = self._engine.evaluate(x, targets, 32 if batch_size is None else batch_size)
        if verbose != 0:
            print(" - ".join(f"{name}: {value:.4f}" for name, value in values), flush=True)
        if return_dict:
            return dict(values)
        return values[0][1] if len(values) == 1 else [value for _, value in values]

    # Weights and files

    @property
    def weights(self) -> dict[str, Array]:
        """Copies of the weights by path ("dense/kernel"), in Keras's order; bfloat16 becomes float32."""
        return dict(self._engine.weights())

    def get_weights(self) -> list[Array]:
        """Return copies of the weights in Keras's order."""
        return [array for _, array in self._engine.weights()]

    def set_weights(self, weights: Sequence[Any] | Mapping[str, Any]) -> None:
        """Set all weights from a list in Keras's order, or from a dict by path. The arrays are copied.

        Raises attn.Error if one is missing, or has another shape.
        """
        if not isinstance(weights, Mapping):
            names = self._engine.weight_names
            if len(names) != len(weights):
                raise ValueError(f"{len(weights)} arrays were given for {len(names)} weights")
            weights = dict(zip(names, weights))
        self._engine.set_weights(dict(weights))

    def load_weights(self, filepath: Path) -> None:
        """Read all weights from .weights.h5, .keras, .h5, .safetensors, .npz or a folder. Raises attn.Error."""
        self._engine.load_weights(os.fspath(filepath))

    def save_weights(self, filepath: Path) -> None:
        """Write the weights to .weights.h5, .h5, .safetensors or .npz, atomically. Raises attn.Error."""
        if os.fspath(filepath).endswith(".keras"):
            raise ValueError(f"{os.fspath(filepath)}: a .keras holds the model too; save() writes it")
        self._engine.save(os.fspath(filepath), None, None)

    def save(self, filepath: Path) -> None:
        """Write config, weights and the optimizer's state as a .keras archive, which keras.models.load_model reads.

        The tokenizer of a task is written too. Raises attn.Error.
        """
        if not os.fspath(filepath).endswith(".keras"):
            raise ValueError(f"{os.fspath(filepath)}: save() writes .keras; convert() writes other forms")
        self._engine.save(os.fspath(filepath), None, None)

    def convert(self, filepath: Path, form: str | None = None, dtype: str | None = None) -> None:
        """Write the model or its weights in another form, as `attn convert`.

        filepath: .keras, .weights.h5, .h5, .safetensors or .npz.
        form: "preset" (a folder of KerasHub), "hf" (a folder of Hugging Face) or "keras" (a task's .keras): the whole
            model with its tokenizer.
        dtype: the dtype of the stored floating-point numbers, "float32", "float16" or "bfloat16".

        Raises attn.Error, also if a number is too large for the dtype.
        """
        self._engine.save(os.fspath(filepath), form, dtype)

    def quantize(self, mode: str) -> None:
        """Quantize the weights in place, as keras.Model.quantize: "int8", "int4" (in blocks of 128), "int4:BLOCK" or
        "int4:-1" (without blocks). The integers are Keras's, bit for bit. Raises attn.Error.
        """
        self._engine.quantize(mode)

    # Text

    @property
    def tokenizer(self) -> _attn.Tokenizer:
        """The tokenizer of the model's files. Raises ValueError, or attn.Error, if there is none."""
        if self._path is None:
            raise ValueError(
                "the model was copied from a keras.Model, without files; attn.Tokenizer(path) opens a tokenizer"
            )
        return _attn.Tokenizer(self._path)

    def tokenize(self, text: str | Sequence[str]) -> Any:
        """Return the token ids of a text as a list, or of several texts as a list of lists. Raises attn.Error."""
        tokenizer = self.tokenizer
        return tokenizer.tokenize(text) if isinstance(text, str) else [tokenizer.tokenize(each) for each in text]

    def detokenize(self, ids: Any) -> Any:
        """Return the text of a list of token ids, or a list of texts for several rows. Raises attn.Error."""
        tokenizer = self.tokenizer
        if len(ids) == 0 or _is_ids(ids):
            return tokenizer.detokenize([int(token) for token in ids])
        return [tokenizer.detokenize(row) for row in _rows_of_ids(ids)]

    def generate(
        self,
        inputs: Any,
        max_length: int | None = None,
        *,
        max_new_tokens: int | None = None,
        sampler: str = "",
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 0.1,
        num_beams: int = 5,
        alpha: float = 0.6,
        seed: int | None = None,
        stop_token_ids: Sequence[int] | None = None,
        stop: Sequence[str] = (),
        strip_prompt: bool = False,
    ) -> Any:
        """Continue texts or token ids with a decoder that was opened from files, as KerasHub's CausalLM.generate.

        inputs: a str or a list of str, or a list of token ids or a list of such lists.
        max_length: the largest number of tokens in a sequence, with the prompt (default: the preprocessor's).
        max_new_tokens: the same without the prompt.
        sampler: "greedy", "random", "top_k" (5 by default), "top_p", "beam" or "contrastive" (default: KerasHub's for
            the model). temperature, top_k, top_p, num_beams and alpha are parameters of the samplers.
        seed: the seed of the sampler; None draws one.
        stop_token_ids: the tokens that end a text (default: the tokenizer's).
        stop: strings that end a text, which stops before them.
        strip_prompt: remove the prompts from the results.

        Returns texts or ids in the form of `inputs`. Raises attn.Error for a model that is not a decoder.
        """
        named: dict[str, Any] = {
            "max_length": max_length,
            "max_new_tokens": max_new_tokens,
            "sampler": sampler,
            "temperature": float(temperature),
            "top_k": top_k,
            "top_p": float(top_p),
            "num_beams": num_beams,
            "alpha": float(alpha),
            "seed": seed,
            "stop_token_ids": None if stop_token_ids is None else [int(token) for token in stop_token_ids],
            "stop": [stop] if isinstance(stop, str) else list(stop),
        }
        if isinstance(inputs, str):
            return self._engine.generate([inputs], strip_prompt=strip_prompt, **named)[0]
        if _is_ids(inputs):
            return self._ids(_rows_of_ids([inputs]), strip_prompt, named)[0]
        if all(isinstance(each, str) for each in inputs):
            return self._engine.generate(list(inputs), strip_prompt=strip_prompt, **named)
        return self._ids(_rows_of_ids(inputs), strip_prompt, named)

    def _ids(self, prompts: list[list[int]], strip_prompt: bool, named: dict[str, Any]) -> list[list[int]]:
        rows = self._engine.generate_ids(prompts, **named)
        return [row[len(prompt):] for row, prompt in zip(rows, prompts)] if strip_prompt else rows

    def score(self, inputs: Any) -> Any:
        """Return the natural logarithm of the probability of each token except the first, given those before it.

        inputs: a str, a list of token ids, or a list of either. A start token is added to a str if the preprocessor
            adds one.

        The result is a float64 array, one number shorter than the tokens, or a list of arrays for a list of inputs.
        Raises attn.Error for fewer than two tokens, and for a model that is not a decoder.
        """
        if isinstance(inputs, str):
            return self._engine.score(self._engine.encode_prompt(inputs))
        if _is_ids(inputs):
            return self._engine.score([int(token) for token in inputs])
        return [self.score(each) for each in inputs]


def _name_or_json(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)
