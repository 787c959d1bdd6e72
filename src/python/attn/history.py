"""The course of a training."""
from __future__ import annotations

from typing import Any


class History:
    """The result of Model.fit, as keras.callbacks.History.

    history: the values of each epoch by name: "loss", metrics, "val_loss", …
    epoch: the numbers of the epochs, from 0.
    params: "epochs", the requested number.
    """

    history: dict[str, list[float]]
    epoch: list[int]
    params: dict[str, Any]

    def __init__(self, epochs: int) -> None:
        self.history = {}
        self.epoch = []
        self.params = {"epochs": epochs}

    def add(self, epoch: int, values: dict[str, float]) -> None:
        """Append the values of an epoch, which is counted from 0."""
        self.epoch.append(epoch)
        for name, value in values.items():
            self.history.setdefault(name, []).append(value)

    def __repr__(self) -> str:
        return f"<attn.History of {len(self.epoch)} epochs: {', '.join(self.history)}>"
