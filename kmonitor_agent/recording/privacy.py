"""Privacy of a run: with `private=True`, leaves texts out of events and hashes names."""

import hashlib
import os
from typing import Final

_PUBLIC_LOGS: Final = frozenset({"loss", "val_loss"})
_PUBLIC_OPTIMIZERS: Final = frozenset(
    {"Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lamb", "Lion"}
    | {"LossScaleOptimizer", "Muon", "Nadam", "RMSprop", "SGD"}
)


class Privacy:
    """Passes names and texts through, or hides them.

    The hash is salted with random bytes that never leave the process: equal names have equal
        hashes within a run, which reveal nothing outside of it. Only the host is hashed
        differently, so that this user's own hub can recognise it:
        `kmonitor_agent.wire.local.host_identity`.
    """

    def __init__(self, *, private: bool) -> None:
        self.private = private
        self._salt = os.urandom(16) if private else b""

    def name(self, name: str) -> str:
        """A name, or its hash."""
        if not self.private or not name:
            return name
        return hashlib.sha256(self._salt + name.encode("utf-8", "backslashreplace")).hexdigest()[
            :12
        ]

    def log_name(self, name: str) -> str:
        """Name of a metric in Keras' logs or its hash; "loss" and "val_loss" are not private."""
        return name if name in _PUBLIC_LOGS else self.name(name)

    def optimizer(self, name: str) -> str:
        """Class name of an optimizer or its hash; Keras' own names are not private."""
        return name if name in _PUBLIC_OPTIMIZERS else self.name(name)

    def text(self, text: str) -> str:
        """A text, or "" if private."""
        return "" if self.private else text

    def source(self, source: str) -> str:
        """Source of a reading; if private, without the part after the colon."""
        return source.partition(":")[0] if self.private else source
