"""The fold and study of a process, as its environment names them."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from kmonitor_agent.wire.messages.fields import Count, Id, Text

FOLD_VARIABLE: Final = "KMONITOR_FOLD"
"""Environment variable of a fold's process: its `FoldIdentity` as JSON."""

Noun = Literal["fold", "trial"]
"""Noun for people: a fold of `run_folds` or a trial of a search."""


class FoldIdentity(msgspec.Struct, frozen=True):
    """A fold's place in its study.

    Attributes:
        study: The study's id.
        fold: Index of the fold, from 0.
        folds: Number of folds of the study; 0: unknown.
        attempt: Number of the attempt, from 1.
        script: Path of the script or name of the module that the function is from.
        noun: See `Noun`.
    """

    study: Id
    fold: Count
    folds: Count
    attempt: Count = 1
    script: Text = ""
    noun: Noun = "fold"

    @property
    def text(self) -> str:
        """Text for people, the same for every attempt, and its run's name: "fold 2", from 0."""
        return f"{self.noun} {self.fold}"

    def as_variable(self) -> str:
        """Value of the environment variable."""
        return msgspec.json.encode(self).decode()


def fold_identity(environ: Mapping[str, str]) -> FoldIdentity | None:
    """The fold that this process is; None outside of a study."""
    written = environ.get(FOLD_VARIABLE)
    if not written:
        return None
    try:
        return msgspec.json.decode(written.encode("utf-8", "replace"), type=FoldIdentity)
    except (msgspec.MsgspecError, RecursionError):
        return None
