"""The step time that the chart draws, the card says and limits are held against is one."""

import struct

from kmonitor.ui.charts.cards import ChartCardState
from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.standard_charts import StandardCharts
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochParts,
    EpochStarted,
    Event,
    Sample,
    StepTimes,
)
from kmonitor_agent.wire.messages.unions import (
    Message,
    MetricReading,
    RowsReply,
    SeriesReply,
    SeriesRequest,
    ThinnedColumn,
)
from tests.support.made_up_runs import HUB, made_up_row, made_up_run, told_hub, told_runs


class Charts:
    """A desk whose run has these medians of whole epochs, 10 s each, and has begun another."""

    def __init__(self, medians: list[float]) -> None:
        self.asked: list[Message] = []
        self.desk = Workspace(clock=SystemClock(), user="tester")
        self.desk.attach_hub(self._ask)
        feed = ChartFeed(self._ask)
        self.charts = StandardCharts(self.desk, feed)
        self.desk.attach_charts(feed)
        self.desk.connected(told_hub())
        self.row = 100
        # Sent by the hub from the running epoch's samples.
        now = MetricReading(value=0.9, source="start to start")
        self.desk.apply_message(told_runs(made_up_run(step_time=now)))
        number, request = next(
            (i, m)
            for i, m in enumerate(self.asked)
            if isinstance(m, SeriesRequest) and "epoch:step_time_s" in m.columns
        )
        n = len(medians)
        starts, ends = [10.0 * i for i in range(n + 1)], [10.0 * (i + 1) for i in range(n)]
        known = {
            "epoch:step_time_s": ThinnedColumn(
                "epoch:step_time_s", doubles(ends), doubles(medians), n
            ),
            "step_time_s": ThinnedColumn(
                "step_time_s", doubles([10.0 * n + 1]), doubles([0.9]), 1
            ),
        }
        self.desk.apply_message(
            SeriesReply(
                request_id=number,
                run="run1",
                row=50,
                columns=[
                    known.get(column, ThinnedColumn(column, b"", b"", 0))
                    for column in request.columns
                ],
                epoch_t_s=doubles(starts),
                epoch_end_t_s=doubles([*ends, float("nan")]),
            )
        )

    def _ask(self, message: Message) -> int:
        self.asked.append(message)
        return len(self.asked) - 1

    def tell(self, *events: Event) -> None:
        rows = []
        for event in events:
            self.row += 1
            rows.append(made_up_row(self.row, event))
        told = RowsReply(
            request_id=-1, hub=HUB, cursor=self.row, rows=rows, more=False, head=self.row
        )
        self.desk.apply_message(told)

    def drawn(self) -> list[float]:
        return self.charts.state("step_time", 400).curves[0].y.tolist()

    def said(self) -> str:
        return with_plain_spaces(self._card().value)

    def hint(self) -> str:
        return with_plain_spaces(self._card().hint)

    def _card(self) -> ChartCardState:
        card = self.charts.card("step_time", now_s=0.0)
        assert card is not None
        return card


def doubles(values: list[float]) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def test_chart_and_card_show_medians_of_whole_epochs_and_none_is_left_out():
    charts = Charts([0.1, 0.2, 0.3])

    assert charts.drawn() == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]
    assert charts.said() == "300 ms"
    charts.tell(Sample(t_s=33.0, step_time_s=0.9))
    assert charts.said() == "300 ms"


def test_an_epoch_that_ends_now_is_added_though_no_sample_fell_into_it():
    charts = Charts([0.1])
    times = StepTimes(count=9, mean_s=0.4, p50_s=0.4, p95_s=0.4, p99_s=0.4, max_s=0.5)
    charts.tell(
        EpochEnded(t_s=20.0, fit=1, epoch=1, seconds=10, step_times=times),
        EpochStarted(t_s=20.0, fit=1, epoch=2),
    )

    assert charts.drawn() == [0.1, 0.1, 0.4, 0.4]
    assert charts.said() == "400 ms"


def test_card_says_where_the_last_epoch_spent_its_time():
    charts = Charts([0.1])
    parts = EpochParts(
        wall_s=10.0, input_s=3.2, compute_s=5.2, callbacks_s=0.9, validation_s=0.4, rest_s=0.3
    )
    charts.tell(EpochEnded(t_s=20.0, fit=1, epoch=1, seconds=10, parts=parts))

    assert charts.hint() == (
        "last epoch: compute 52% \u00b7 waiting for input 32% \u00b7 callbacks 9%"
    )


def test_slow_steps_are_said_before_the_parts_of_the_epoch():
    charts = Charts([0.1])
    times = StepTimes(count=90, mean_s=0.1, p50_s=0.02, p95_s=0.4, p99_s=0.5, max_s=0.6)
    parts = EpochParts(wall_s=10.0, input_s=3.2, compute_s=6.8)
    charts.tell(EpochEnded(t_s=20.0, fit=1, epoch=1, seconds=10, step_times=times, parts=parts))

    assert charts.hint() == "mean 100 ms \u00b7 p99 500 ms \u00b7 max 600 ms"


def test_during_the_first_epoch_its_own_median_so_far_is_shown():
    charts = Charts([])

    assert charts.drawn() == [0.9]
    assert charts.said() == "900 ms"
