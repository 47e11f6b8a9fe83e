"""A desk and its charts as a window has them, filled from one hub's answers for one run."""

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.ui.charts.chart_kinds import kinds_of
from kmonitor.ui.charts.extra_charts import MetricCharts
from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.standard_charts import ChartDesk
from kmonitor.ui.workspace.workspace import Desk
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.messages.unions import (
    ErrorMessage,
    Message,
    RowsAsked,
    RowsTold,
    RunsTold,
    RunSummary,
    SeriesAsked,
    SeriesTold,
    VerdictsAsked,
    VerdictsTold,
)

_MOST_CHARTS: Final = 40


class ToldDesk:
    """Answers each question of the desk's own at once; for one thread.

    Attributes:
        desk: What is known of the run; it is the selected one, and the only one.
        charts: Its charts, in epochs where the run has some, else in seconds.
        metrics: Further ones, of what the training and the GPU told.
        kinds: Those that this run has.
    """

    def __init__(self, client: HubClient, run: RunSummary) -> None:
        """Ask for everything that a window would. Raises: `HubUnreachable`, `HubClosed`."""
        self._client = client
        self._run = run
        self._asked: deque[tuple[int, Message]] = deque()
        self._number = 0
        self.desk = Desk(ask=self._ask, clock=SystemClock(), user="")
        self._feed = ChartFeed(self._ask)
        self.charts = ChartDesk(self.desk, self._feed)
        self.desk.attach_charts(self._feed)
        self.metrics = MetricCharts(self.desk, self._feed, self.charts)
        self._fill()
        self.kinds = [
            kind
            for kind in kinds_of(self._feed.have([run.run]))
            if kind.group in ("training", "gpu")
        ][:_MOST_CHARTS]
        self._feed.want(column for kind in self.kinds for column in kind.asked)
        self._take_answers()
        has_epochs = len(self._feed.store.epoch_marks(run.run, "epochs")) > 0
        self.charts.count("epochs" if has_epochs else "seconds")

    def take_epochs(self, runs: Sequence[str]) -> None:
        """Let the desk's metrics of folds know the epochs of these runs."""
        self.desk.fold_metrics.want(runs)
        self._take_answers()

    def _fill(self) -> None:
        hub = self._client.hub()
        told = RunsTold(
            ask=0,
            hub=hub.hub,
            change=self._run.change,
            head=hub.rows,
            version=hub.version,
            host=hub.host,
            runs=[self._run],
        )
        self.desk.connected(hub)
        self.desk.book.want(self._run.run)
        self.desk.take(told)
        self._take_answers()

    def _take_answers(self) -> None:
        while self._asked:
            number, question = self._asked.popleft()
            answer = self._answer(question)
            if answer is not None:
                self.desk.take(msgspec.structs.replace(answer, ask=number))

    def _ask(self, message: Message) -> int:
        self._number += 1
        self._asked.append((self._number, message))
        return self._number

    def _answer(
        self, question: Message
    ) -> SeriesTold | RowsTold | VerdictsTold | ErrorMessage | None:
        client = self._client
        try:
            match question:
                case SeriesAsked(run=run, columns=columns, from_s=from_s, buckets=buckets):
                    return client.series(run, columns, from_s=from_s, buckets=buckets)
                case RowsAsked(cursor=cursor, runs=runs, kinds=kinds):
                    return client.rows(cursor=cursor, runs=runs, kinds=kinds)
                case VerdictsAsked(run=run):
                    return VerdictsTold(ask=0, run=run, verdicts=client.verdicts(run))
                case _:
                    return None
        except HubRefused as refused:
            # An older hub judges nothing, and keeps no series of what it does not know.
            return ErrorMessage(code="unsupported", text=refused.text)
