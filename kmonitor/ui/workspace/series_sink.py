"""What the charts are fed through, so that the desk need not know them."""

from collections.abc import Collection
from typing import Protocol

from kmonitor_agent.wire.messages.events import AnyEvent
from kmonitor_agent.wire.messages.unions import Row, RunSummary, SeriesTold, Working


class SeriesSink(Protocol):
    """Takes what the charts draw; made when the charts are loaded."""

    def take_event(self, row: Row, event: AnyEvent, *, is_live: bool) -> None:
        """A decoded event of any run, live or from history."""
        ...

    def take_series(self, told: SeriesTold) -> None:
        """An answer to a question for columns."""
        ...

    def hear_working(self, working: Working) -> None:
        """An answer to a question for columns takes long."""
        ...

    def refuse(self, ask: int) -> None:
        """A question was refused."""
        ...

    def show_runs(self, runs: list[RunSummary]) -> None:
        """These runs are drawn, the selected one first."""
        ...

    def forget(self, runs: Collection[str]) -> None:
        """All that was told of these runs is void."""
        ...
