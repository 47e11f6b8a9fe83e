"""The newest verdict on each metric of each run."""

from collections.abc import Collection

from kmonitor.ui.runs.sent_commands import SendRequest
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.events import AnyEvent, EpochEnded, FitEnded, Verdict
from kmonitor_agent.wire.messages.unions import VerdictsReply, VerdictsRequest


class VerdictStore:
    """Stores streamed verdicts, and requests those of the selected run; main thread only."""

    def __init__(self, request: SendRequest) -> None:
        self._send_request = request
        self._runs: dict[str, dict[str, Verdict]] = {}
        self._watched_run = ""
        self._open: dict[int, str] = {}
        self._is_stale = False

    def get(self, run: str, metric: LimitMetric) -> Verdict | None:
        return self._runs.get(run, {}).get(metric)

    def of_run(self, run: str) -> list[Verdict]:
        return list(self._runs.get(run, {}).values())

    def want(self, run: str) -> None:
        """Keep the verdicts of this run up to date, and of no other."""
        if run != self._watched_run:
            self._watched_run = run
            self._request_now()

    def apply_event(self, run: str, event: AnyEvent, *, is_live: bool) -> bool:
        """Process an event of any run; True if a verdict changed.

        Args:
            event: A verdict, or an event that outdates the newest verdicts.
            is_live: False: the event is from history.
        """
        if isinstance(event, Verdict):
            return self._store(run, event)
        if is_live and run == self._watched_run and isinstance(event, EpochEnded | FitEnded):
            self._request_now()
        return False

    def apply_reply(self, reply: VerdictsReply) -> bool:
        """Process a reply; True if a verdict changed."""
        if self._open.pop(reply.request_id, None) is not None and self._is_stale:
            self._request_now()
        changed = [self._store(reply.run, verdict) for verdict in reply.verdicts]
        return any(changed)

    def refuse(self, request_number: int) -> None:
        """Record that a request was refused: it is repeated when an epoch ends."""
        self._open.pop(request_number, None)

    def forget(self, runs: Collection[str]) -> None:
        for run in runs:
            self._runs.pop(run, None)
        self._open = {
            request_number: run for request_number, run in self._open.items() if run not in runs
        }
        if self._watched_run in runs:
            self._watched_run = ""

    def _request_now(self) -> None:
        # One request at a time: epochs may be shorter than a hub's reply takes.
        self._is_stale = self._watched_run in self._open.values()
        if self._watched_run and not self._is_stale:
            request = VerdictsRequest(request_id=0, run=self._watched_run)
            self._open[self._send_request(request)] = self._watched_run

    def _store(self, run: str, verdict: Verdict) -> bool:
        known = self._runs.setdefault(run, {})
        before = known.get(verdict.metric)
        # Pages of history may come after what is newer.
        if before is not None and (before.per, before.unit) == (verdict.per, verdict.unit):
            is_newer = before != verdict and not verdict.turned
        else:
            is_newer = before is None or before.to_s <= verdict.to_s
        if is_newer:
            known[verdict.metric] = verdict
        return is_newer
