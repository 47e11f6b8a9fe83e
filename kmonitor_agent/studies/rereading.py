"""Stops a script at `run_folds` in a process that reads it only to find a fold's function."""

from collections.abc import Generator
from contextlib import contextmanager

from kmonitor_agent.studies.function_source import Reached

_loading = [False]


@contextmanager
def loading() -> Generator[None]:
    """In a fold's process, while its script is read again."""
    _loading[0] = True
    try:
        yield
    finally:
        _loading[0] = False


def stop_if_loading(function: object) -> None:
    """Called first by `run_folds`: a script without a main guard has come far enough.

    Raises:
        Reached: The script is read by a fold's process.
    """
    if _loading[0]:
        raise Reached(function)
