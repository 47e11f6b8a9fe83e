"""One save, collect or reload while it runs, and how it fails."""

from dataclasses import dataclass, field, replace
from typing import Any

from kmonitor_agent import guard
from kmonitor_agent.frameworks.base import Framework, KerasModel, ReclaimSteps
from kmonitor_agent.reclaim.checkpoint_file import NotAStateFile
from kmonitor_agent.reclaim.memory import footprint
from kmonitor_agent.reclaim.outcome import Outcome


class Failed(Exception):
    """An action that did not do what was asked; `why` for the user."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(slots=True)
class Run:
    """One action while it runs: what it works on, and the outcome as far as it is known."""

    framework: Framework
    steps: ReclaimSteps
    model: KerasModel
    outcome: Outcome
    notes: list[str]
    held: list[Any] = field(default_factory=list[Any])
    """The state's values while they are in the variables' own memory; empty if they are not."""

    def tell(self, **known: Any) -> None:
        """Fill in fields of the outcome."""
        self.outcome = replace(self.outcome, **known)

    def measure(self) -> None:
        """Take the footprint after the action."""
        self.tell(after=footprint(self.framework, self.model))


def described(exc: BaseException) -> str:
    """Why an action failed, for the user."""
    if isinstance(exc, Failed):
        return exc.why
    if isinstance(exc, NotAStateFile):
        return f"the checkpoint is damaged: {exc.why}"
    return guard.described(exc)
