"""Questions about the inside of a model, as attn probe.

Letters in shapes: B prompts, P points, L layers, N heads, T positions of the prompt, D width of the model, V tokens. A
prompt is a text, which the model's tokenizer reads, or token ids. A token is an id, or a text that is one token. For an
encoder-decoder model a prompt is what the encoder reads, and `decoder`, of the same form, the start of the output.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _attn

if TYPE_CHECKING:
    from .model import Model

Array = npt.NDArray[Any]
Prompt = Union[str, Sequence[int], Array]
Token = Union[str, int]


@dataclass(frozen=True)
class Lens:
    """Predictions of the model as if it ended after each point.

    points: the names of P points, the first of the pass first.
    top_ids, top_log_probs: (P, T, top) the most probable tokens, and natural logarithms of their probabilities.
    entropy: (P, T) in nats. kl_to_final: (P, T) the divergence of the last point from this one, in nats.
    target_ids: (T,) the token whose place is asked for: the next token of the prompt, or `token`; -1 if there is none.
    target_log_probs, target_ranks: (P, T) its place; the rank is the number of tokens with a larger logit.
    """

    points: list[str]
    top_ids: Array
    top_log_probs: Array
    entropy: Array
    kl_to_final: Array
    target_ids: Array
    target_log_probs: Array
    target_ranks: Array


@dataclass(frozen=True)
class Attribution:
    """The parts of a logit, or of a difference of two.

    token, versus: the tokens of the metric, logit[token] − logit[versus].
    parts: arrays by the name of the part: "embed", "attn_bias.0", "mlp_out.0", … (T,), and "z.0", … (N, T) by head.
    sum: (T,) of all parts. logit: (T,) the model's own number before a soft cap. after_cap: (T,).
    """

    token: int
    versus: int | None
    parts: dict[str, Array]
    sum: Array
    logit: Array
    after_cap: Array


@dataclass(frozen=True)
class Ablation:
    """Changes of the results without a part.

    token, versus: the tokens of the metric, logit[token] − logit[versus] at the last position.
    loss, metric: without ablation. The loss, in nats, is None for a model that does not predict the next token.
    loss_changes, kl, metric_changes: arrays by point: "z.0", … (N,) by head, "attn_out.0" and "mlp_out.0" (). kl is the
        mean over positions of KL(without ‖ with), in nats.
    """

    token: int
    versus: int | None
    loss: float | None
    metric: float
    loss_changes: dict[str, Array]
    kl: dict[str, Array]
    metric_changes: dict[str, Array]


@dataclass(frozen=True)
class Patching:
    """The metric of the corrupted prompt with a value of the clean one at each place.

    token, versus: the tokens of the metric, logit[token] − logit[versus] at the last position.
    clean, corrupt: the metric of the two prompts.
    values: arrays by point: (T,) by position for streams and parts, (N,) by head, (N, T) by head and position; NaN for
        a place that was not run. estimates: the same of the change by one gradient, if it was asked for.
    """

    token: int
    versus: int | None
    clean: float
    corrupt: float
    values: dict[str, Array]
    estimates: dict[str, Array]

    def restored(self) -> dict[str, Array]:
        """Return (value − corrupt) / (clean − corrupt) for each place; NaN if the two prompts do not differ."""
        gap = self.clean - self.corrupt
        gap = gap if abs(gap) >= 1e-6 else float("nan")
        return {point: (values - self.corrupt) / gap for point, values in self.values.items()}


@dataclass(frozen=True)
class Saliency:
    """The share of each token in a prediction.

    token, versus: the tokens of the score, logit[token] − logit[versus] at the last position.
    values: (T,) Σ e·∂s/∂e over the embedding e of a token, its integral, or for "gradient" the norm ‖∂s/∂e‖.
    norms: (T,) the norm of the summands. gradient: (T, D) ∂s/∂e, or the summands of the integral.
    encoder_values, encoder_norms: the same for the tokens of an encoder; (0,) without one.
    baseline_score, gap: of "integrated" the score at the baseline, and Σ values − (score − baseline_score).
    """

    token: int
    versus: int | None
    score: float
    values: Array
    norms: Array
    encoder_values: Array
    encoder_norms: Array
    gradient: Array
    baseline_score: float | None
    gap: float | None


@dataclass(frozen=True)
class Heads:
    """Scores of the heads of the decoder, or of the only stack: (L, N), NaN for a head that a layer does not have.

    ids: the tokens of the prompt.
    previous, duplicate, induction: mean attention to the position before, to an earlier copy of the token, and to the
        position after an earlier copy. The mean is over the queries that have such a key.
    previous_share, duplicate_share, induction_share: the same over all queries.
    first: mean attention to the first token, over the queries after it. It is large for an attention sink.
    """

    ids: list[int]
    previous: Array
    duplicate: Array
    induction: Array
    previous_share: Array
    duplicate_share: Array
    induction_share: Array
    first: Array


@dataclass(frozen=True)
class Outliers:
    """Massive activations of the stream after a block.

    count: the number of elements above both limits. median: of |x| in the layer.
    values, ratios, positions, dimensions: (top,) the largest elements by |x|, and their ratio to the median.
    """

    layer: int
    median: float
    count: int
    values: Array
    ratios: Array
    positions: Array
    dimensions: Array


@dataclass(frozen=True)
class ComparedPoint:
    """The values A and B of a point in two models.

    a, b: the names of the point. max_abs: max |B−A|. relative: ‖B−A‖/‖A‖. cosine: of the flattened arrays; all three
    are NaN if the shapes differ. cka: linear centered kernel alignment over all positions.
    """

    a: str
    b: str
    max_abs: float
    relative: float
    cosine: float
    cka: float


def _words(prompt: Prompt) -> str | list[int]:
    return prompt if isinstance(prompt, str) else [int(each) for each in prompt]


def _all(prompts: Sequence[Prompt] | Prompt) -> list[str | list[int]]:
    """Return the prompts of one prompt or of several."""
    is_one = isinstance(prompts, str) or (len(prompts) > 0 and isinstance(prompts[0], (int, np.integer)))
    given: Any = [prompts] if is_one else prompts
    return [_words(each) for each in given]


def _decoder(prompt: Optional[Prompt]) -> str | list[int] | None:
    return None if prompt is None else _words(prompt)


class Probe:
    """Looks inside a model of token ids; model.probe is one. Raises attn.Error.

    All methods take prompts, tokens and `decoder` in the forms that the docstring of attn.probe describes. The default
    metric is the logit of the best token at the last position. Tokens of a classifier are its classes.
    """

    def __init__(self, engine: _attn.Engine) -> None:
        self._engine = engine

    def points(self) -> dict[str, str]:
        """Return the points that can be captured and edited, with their shapes: {"z.0": "(B, T, 4, 8)"}."""
        return _attn.points(self._engine)

    def lens(
        self,
        prompt: Prompt,
        *,
        decoder: Prompt | None = None,
        mid: bool = False,
        norm: bool = True,
        top: int = 5,
        token: Token | None = None,
    ) -> Lens:
        """Run the part of the model behind the last block on the stream after each block (logit lens).

        mid: also after the attention of each block. norm: apply the final norm. top: the number of tokens of a cell.
        """
        return Lens(**_attn.lens(self._engine, _words(prompt), _decoder(decoder), mid, norm, top, token))

    def dla(
        self,
        prompt: Prompt,
        *,
        decoder: Prompt | None = None,
        token: Token | None = None,
        versus: Token | None = None,
    ) -> Attribution:
        """Split a logit, or a difference of two, into the parts of the residual stream (direct logit attribution)."""
        return Attribution(**_attn.dla(self._engine, _words(prompt), _decoder(decoder), token, versus))

    def ablate(
        self,
        prompt: Prompt,
        *,
        decoder: Prompt | None = None,
        parts: Sequence[str] = ("heads", "mlp"),
        how: str = "zero",
        reference: Sequence[Prompt] = (),
        token: Token | None = None,
        versus: Token | None = None,
    ) -> Ablation:
        """Replace the output of one part after the other.

        parts: "heads", "attn" and "mlp". how: "zero"; "mean" over the positions of the prompt, or over the prompts of
        `reference`; "mean_by_position" of the reference; or "resample", the value of the reference.
        """
        return Ablation(
            **_attn.ablate(
                self._engine, _words(prompt), _decoder(decoder), list(parts), how, _all(reference), token, versus
            )
        )

    def patch(
        self,
        clean: Prompt,
        corrupt: Prompt,
        *,
        decoder: Prompt | None = None,
        points: str = "resid_pre",
        by: str = "head",
        approximate: bool = False,
        confirm: int = 0,
        token: Token | None = None,
        versus: Token | None = None,
    ) -> Patching:
        """Run the corrupted prompt, and at one place after the other take the value of the clean one.

        points: names with commas: streams and parts by position, or z, q, k, v, pattern by head. by: "head", or for z
        "head-position". approximate: estimate all places by one gradient, and run only the `confirm` largest.
        The default metric is the clean best token against the token that corruption raises most.
        """
        return Patching(
            **_attn.patch(
                self._engine,
                _words(clean),
                _words(corrupt),
                _decoder(decoder),
                points,
                by,
                approximate,
                confirm,
                token,
                versus,
            )
        )

    def rollout(self, prompt: Prompt, *, decoder: Prompt | None = None, fuse: str = "mean") -> Array:
        """Return the product of the attention of all layers up to each, (L, T, T): query, input position.

        fuse: the function that joins heads: "mean", "max" or "min". Rollout ignores values, MLPs and norms.
        """
        out: Array = _attn.rollout(self._engine, _words(prompt), _decoder(decoder), fuse)
        return out

    def saliency(
        self,
        prompt: Prompt,
        *,
        decoder: Prompt | None = None,
        method: str = "grad-x-input",
        steps: int = 32,
        rule: str = "midpoint",
        baseline: Token = "pad",
        token: Token | None = None,
        versus: Token | None = None,
    ) -> Saliency:
        """Return gradients of a logit with respect to the embeddings of the tokens.

        method: "grad-x-input", "gradient" or "integrated". Integrated gradients have `steps` steps, by the rule
        "midpoint", "gauss" or "trapezoid", from `baseline`: "pad", "zero" or a token. Quantized models have no gradients.
        """
        return Saliency(
            **_attn.saliency(
                self._engine, _words(prompt), _decoder(decoder), method, steps, rule, baseline, token, versus
            )
        )

    def heads(
        self, prompt: Prompt | None = None, *, decoder: Prompt | None = None, length: int = 50, seed: int = 0
    ) -> Heads:
        """Score heads on a prompt that repeats itself; by default on `length` random tokens, twice."""
        return Heads(**_attn.heads(self._engine, _decoder(prompt), _decoder(decoder), length, seed))

    def outliers(
        self,
        prompt: Prompt,
        *,
        decoder: Prompt | None = None,
        least: float = 100.0,
        ratio: float = 1000.0,
        top: int = 10,
    ) -> list[Outliers]:
        """List the largest elements of the stream after each block.

        An element is massive above `least` and above `ratio` times the median of its layer.
        """
        found = _attn.outliers(self._engine, _words(prompt), _decoder(decoder), float(least), float(ratio), top)
        return [Outliers(**each) for each in found]

    def compare(
        self,
        other: Model,
        prompts: Sequence[Prompt] | Prompt,
        *,
        decoder: Prompt | None = None,
        points: str = "attn_out,mlp_out,resid_post",
    ) -> list[ComparedPoint]:
        """Compare the points of this model and another one on the same prompts."""
        found = _attn.compare(self._engine, other.probe._engine, _all(prompts), _decoder(decoder), points)
        return [ComparedPoint(**each) for each in found]

    def steer(
        self,
        positive: Sequence[Prompt] | Prompt,
        negative: Sequence[Prompt] | Prompt,
        *,
        decoder: Prompt | None = None,
        point: str = "resid_post.-1",
        at: str = "last",
    ) -> Array:
        """Return the mean of a point over some prompts minus that over others, (D,).

        at: "last" position of each prompt, or "mean" over all. attn generate adds a saved one: --steer FILE:SCALE.
        """
        out: Array = _attn.steer(self._engine, _all(positive), _all(negative), _decoder(decoder), point, at)
        return out

    def capture(
        self, prompts: Sequence[Prompt] | Prompt, points: str = "resid_post", *, decoder: Prompt | None = None
    ) -> dict[str, Array]:
        """Return an array for each point, with the prompts as rows, and the token ids as "ids".

        points: names with commas: "z.3", "resid_post.-1", or "z" for all layers. Shorter rows end in zeros, and an array
        "lengths" is added. Half-precision values become float32.
        """
        found: dict[str, Array] = _attn.capture(self._engine, _all(prompts), _decoder(decoder), points)
        return found
