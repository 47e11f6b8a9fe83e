"""Functions of trials: each sends a request to whoever runs it."""

import multiprocessing.pool  # noqa: F401 - it names this process' main as `Trials` names scripts
from typing import Any

from kmonitor_agent import Fold
from kmonitor_agent.studies.fold import NotAnswered


def asked(fold: Fold) -> Any:
    """Its answers, twice, the second time to a large question."""
    answer = fold.ask("what")
    return [answer["q"], answer["i"], len(answer["big"]), len(fold.ask(b"y" * 400000)["q"])]


def refused(fold: Fold) -> Any:
    """The error that it gets when answering fails."""
    try:
        return fold.ask("what")
    except NotAnswered as exc:
        return [exc.kind, exc.why]


def met(fold: Fold) -> Any:
    """Its answer."""
    return fold.ask("met")


def came_to(fold: Fold) -> None:
    """Comes to what it is answered, and to no value."""
    fold.set_outcome(*fold.ask("to what"))


def called(fold: Fold, function: Any) -> Any:
    """The result of another function for 1."""
    return function(1)
