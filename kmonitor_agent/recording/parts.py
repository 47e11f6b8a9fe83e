"""One training in several calls of Keras' `fit`, with a new model object in each.

`kmonitor_agent.fit` registers its training here for as long as it runs on its thread. A reload of
the model that it trains is then not done at the safe point, but between two of its calls.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.reclaim.outcome import Outcome


@dataclass(frozen=True, slots=True)
class AskedReload:
    """A reload that waits for the end of the running call of `fit`.

    Attributes:
        fit: Ordinal of the fit.
        run: Run id.
        folder: Where its checkpoints go.
        keep: How many checkpoints stay there.
        done: Takes what came of it; tells it on.
    """

    fit: int
    run: str
    folder: Path
    done: Callable[[Outcome], None]
    keep: int = 2


class Parts:
    """A training of `kmonitor_agent.fit`; owned by its thread.

    Attributes:
        model: The model of the running part.
        asked: Reloads that wait.
    """

    def __init__(self, model: KerasModel) -> None:
        """Begin with nothing asked.

        Args:
            model: Of the first part.
        """
        self.model = model
        self.asked: list[AskedReload] = []

    def __enter__(self) -> Self:
        """Register for this thread."""
        _RUNNING.setdefault(threading.get_ident(), []).append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the register; who waits is told."""
        _RUNNING[threading.get_ident()].remove(self)
        if not _RUNNING[threading.get_ident()]:
            del _RUNNING[threading.get_ident()]


def parts_of(model: KerasModel) -> Parts | None:
    """The training in parts that this thread runs for this model; None for a plain `fit`."""
    for parts in reversed(_RUNNING.get(threading.get_ident(), [])):
        if parts.model is model:
            return parts
    return None


_RUNNING: Final[dict[int, list[Parts]]] = {}
"""By thread ident, innermost last."""
