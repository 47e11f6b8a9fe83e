"""Charts of the training's own metrics: curves, words, smoothing, and columns requested later."""

import math
import struct
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from kmonitor.ui.charts.arrangement import ChartSetup
from kmonitor.ui.charts.cards import ChartCardState
from kmonitor.ui.charts.chart_kinds import ChartKind, chart_kind
from kmonitor.ui.charts.extra_charts import ExtraCharts
from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.standard_charts import StandardCharts
from kmonitor.ui.plots.layout import last_finite_index, y_axis_of
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_label import NO_VERDICT
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    Event,
    FieldSource,
    FieldSources,
    Sample,
)
from kmonitor_agent.wire.messages.unions import (
    ErrorMessage,
    Message,
    MetricReading,
    RowsReply,
    SeriesReply,
    SeriesRequest,
    ThinnedColumn,
)
from tests.support.made_up_runs import HUB, made_up_row, made_up_run, told_hub, told_runs

MIB = 2**20
LOSS = [2.0, 1.0, 0.5, 0.8]
N = len(LOSS)


def doubles(values: Iterable[float]) -> bytes:
    some = list(values)
    return struct.pack(f"<{len(some)}d", *some)


class Board:
    """A desk with one run of four epochs of 10 s, and the requests to its hub."""

    def __init__(self, runs: int = 1) -> None:
        self.asked: list[Message] = []
        self.desk = Workspace(clock=SystemClock(), user="tester")
        self.desk.attach_hub(self._ask)
        self.feed = ChartFeed(self._ask)
        charts = StandardCharts(self.desk, self.feed)
        self.metrics = ExtraCharts(self.desk, self.feed, charts)
        self.desk.attach_charts(self.feed)
        self.desk.connected(told_hub())
        self.row = 100
        names = [f"run{n}" for n in range(1, runs + 1)]
        self.desk.apply_message(told_runs(*(made_up_run(name) for name in names)))
        self.desk.select("run1")
        self.answered = 0
        self.columns: dict[str, list[float]] = {
            "log:loss": LOSS,
            "log:val_loss": [2.5, 1.5, 1.25, 1.75],
            "epoch:learning_rate": [0.1, 0.1, 0.01, 0.01],
        }

    def questions(self) -> list[tuple[int, SeriesRequest]]:
        found = [(n, m) for n, m in enumerate(self.asked) if isinstance(m, SeriesRequest)]
        return [pair for pair in found if pair[0] >= self.answered]

    def answer(self, row: int = 50) -> None:
        while questions := self.questions():
            number, asked = questions[0]
            self.answered = number + 1
            ends = [10.0 * (n + 1) for n in range(N)]
            self.desk.apply_message(
                SeriesReply(
                    request_id=number,
                    run=asked.run,
                    row=row,
                    columns=[
                        ThinnedColumn(
                            name, doubles(ends[: len(values)]), doubles(values), len(values)
                        )
                        for name in asked.columns
                        for values in [self.columns.get(name, [])]
                    ],
                    epoch_t_s=doubles(10.0 * n for n in range(N + 1)),
                    epoch_end_t_s=doubles([*ends, math.nan]),
                    fit_of_epoch=struct.pack(f"<{N + 1}i", *([1] * (N + 1))),
                    have=sorted(self.columns),
                )
            )

    def tell(self, *events: Event) -> None:
        rows = []
        for event in events:
            self.row += 1
            rows.append(made_up_row(self.row, event))
        self.desk.apply_message(
            RowsReply(
                request_id=-1, hub=HUB, cursor=self.row, rows=rows, more=False, head=self.row
            )
        )

    def card(self, key: str, **look: float) -> ChartCardState:
        card = self.metrics.card(kind(key), ChartSetup(key, **look))  # pyright: ignore[reportArgumentType]
        assert card is not None
        return card

    def _ask(self, message: Message) -> int:
        self.asked.append(message)
        return len(self.asked) - 1


def kind(key: str) -> ChartKind:
    found = chart_kind(key)
    assert found is not None
    return found


def loss_board(runs: int = 1) -> Board:
    board = Board(runs)
    board.feed.want([*kind("log:loss").columns, "batch:loss", "epoch:learning_rate"])
    board.answer()
    return board


@pytest.mark.parametrize(
    ("counted", "title", "value"),
    [(0.0, "Native memory in use", 700.0), (300.0, "Framework allocator (CPU)", 300.0)],
)
def test_native_memory_stands_for_an_allocator_that_counts_nothing(
    counted: float, title: str, value: float
):
    board = Board()
    source = "tensorflow allocator, CPU:0 in use (tensors of 256 KiB or more)"
    run = made_up_run("run1", vram=MetricReading(value=counted * MIB, source=source))
    board.desk.apply_message(told_runs(run))
    board.feed.show_runs([run])
    board.columns |= {
        "allocator_in_use_bytes": [counted * MIB] * N,
        "epoch:malloc_bytes": [n * 100 * MIB for n in (4, 5, 6, 7)],
    }
    board.answer()
    charts = StandardCharts(board.desk, board.feed)

    card = charts.card("vram", now_s=0.0)
    chart = charts.state("vram", 400)

    assert card is not None
    assert (card.title, chart.title) == (title, title)
    assert with_plain_spaces(card.value).startswith(f"{value:.0f}")
    assert chart.curves[0].y[-1] == value * MIB
    if not counted:
        assert (card.can_limit, card.verdict, chart.limit) == (False, NO_VERDICT, None)


def test_training_is_solid_and_validation_dashed():
    train, validation = (
        loss_board().metrics.state(kind("log:loss"), ChartSetup("log:loss"), 400).curves
    )

    assert train.y.tolist() == LOSS
    assert train.x.tolist() == pytest.approx([1.0, 2.0, 3.0, 4.0])
    assert (train.selected, train.dashed, train.label) == (True, False, "resnet50-imagenet")
    assert (validation.dashed, validation.label) == (True, "")


def test_validation_of_a_dashed_run_is_dotted():
    board = loss_board(runs=7)
    curves = board.metrics.state(kind("log:loss"), ChartSetup("log:loss"), 400).curves
    dashed = next(c.run for c in curves if c.label and c.dashed)
    train, validation = (c for c in curves if c.run == dashed)

    assert (train.dashed, train.dotted) == (True, False)
    assert (validation.dashed, validation.dotted) == (False, True)


def test_an_infinite_loss_is_a_gap_and_the_axis_holds_all_numbers():
    board = Board()
    curve = replace(
        loss_board().metrics.state(kind("log:loss"), ChartSetup("log:loss"), 400).curves[0],
        y=np.array([math.nan, math.inf, 1.5, -2.0]),
    )
    picture = replace(
        board.metrics.state(kind("log:loss"), ChartSetup("log:loss"), 400), curves=(curve,)
    )
    axis = y_axis_of(picture, 150.0)

    assert axis.lo <= -2.0
    assert axis.hi >= 1.5
    assert last_finite_index(replace(curve, y=np.array([1.0, 2.0, 3.0, -math.inf])), math.inf) == 2


def test_the_card_says_now_best_with_its_epoch_and_change():
    card = loss_board().card("log:loss")

    assert (card.title, card.value, card.note) == ("loss", "0.8", "validation 1.75")
    assert card.rate.text == "val best 1.25, epoch 3 \u00b7 +0.5"
    assert not card.can_limit
    assert card.rate.direction == 0


def test_without_validation_the_best_is_of_training():
    board = loss_board()
    board.columns.pop("log:val_loss")
    other = Board()
    other.columns = board.columns
    other.feed.want(kind("log:loss").columns)
    other.answer()

    assert other.card("log:loss").rate.text.startswith("best 0.5, epoch 3")


def test_the_rate_of_learning_says_where_it_began():
    card = loss_board().card("epoch:learning_rate")

    assert (card.value, card.rate.text) == ("0.01", "first 0.1")


def test_a_rate_that_cannot_be_read_says_why():
    board = loss_board()
    board.columns.pop("epoch:learning_rate")
    other = Board()
    other.columns = board.columns
    other.feed.want(["epoch:learning_rate"])
    other.answer()
    why = "the optimizer does not report it (ValueError)"
    other.tell(FieldSources(t_s=1.0, sources=[FieldSource("learning_rate", "1", absent=why)]))

    assert other.card("epoch:learning_rate").absent == why


def test_smoothing_says_so_and_leaves_the_raw_line_behind():
    board = loss_board()
    setup = ChartSetup("log:loss", smoothing=0.6)
    picture = board.metrics.state(kind("log:loss"), setup, 400)

    raw, smooth, _ = picture.curves
    assert (raw.faint, raw.y.tolist()) == (True, LOSS)
    assert smooth.selected
    assert smooth.y[1] == pytest.approx((0.24 * 2.0 + 0.4 * 1.0) / 0.64)
    assert "smoothed 0.6" in board.card("log:loss", smoothing=0.6).note
    line = board.metrics.crosshair(kind("log:loss"), setup, 2.0, is_shown=True, width_px=400)
    assert line.lines[0].text.endswith("smoothed")
    assert line.lines[0].value == smooth.y[1]


def test_pictures_look_alike_while_nothing_changed():
    board = loss_board(3)
    setup = ChartSetup("log:loss", smoothing=0.9, is_log=True)
    one, other = (board.metrics.state(kind("log:loss"), setup, 400) for _ in range(2))

    assert one.is_painted_like(other)
    assert len([curve for curve in one.curves if curve.faint]) == 1


def test_a_logarithmic_axis_draws_logarithms_and_leaves_out_what_has_none():
    board = loss_board()
    board.tell(EpochEnded(t_s=50.0, fit=1, epoch=4, seconds=10.0, logs={"loss": -1.0}))
    setup = ChartSetup("log:loss", is_log=True)
    picture = board.metrics.state(kind("log:loss"), setup, 400)

    assert picture.is_log
    assert picture.curves[0].y[:4] == pytest.approx(np.log10(LOSS))
    assert math.isnan(picture.curves[0].y[4])
    card = board.metrics.crosshair(kind("log:loss"), setup, 3.0, is_shown=True, width_px=400)
    assert card.lines[0].text == "0.5"


def test_within_an_epoch_the_mean_so_far_stands_in_until_one_has_ended():
    board = Board()
    board.columns = {}
    board.feed.want([*kind("log:loss").columns, "batch:loss"])
    board.answer()
    assert board.card("log:loss").absent == "Shown once an epoch has reported this metric."

    board.tell(Sample(t_s=41.0, logs={"loss": 0.7}), Sample(t_s=42.0, logs={"loss": 0.6}))
    card = board.card("log:loss")
    assert (card.value, card.note) == ("0.6", "mean over the epoch so far")

    board.tell(EpochEnded(t_s=50.0, fit=1, epoch=4, seconds=10.0, logs={"loss": 0.55}))
    assert (board.card("log:loss").value, board.card("log:loss").note) == ("0.55", "")
    assert board.card("log:loss", is_within=True).value == "0.6"


def test_live_epochs_reach_columns_that_were_asked_for_later():
    board = Board()
    board.answer()
    board.feed.want(kind("log:loss").columns)
    # Between the question and its answer; the answer knows the first of them already.
    board.tell(
        EpochEnded(t_s=50.0, fit=1, epoch=4, seconds=10.0, logs={"loss": 0.4}),
        EpochStarted(t_s=50.5, fit=1, epoch=5),
        EpochEnded(t_s=60.0, fit=1, epoch=5, seconds=10.0, logs={"loss": 0.3}),
    )
    board.columns["log:loss"] = [*LOSS]
    board.answer(row=100)
    board.tell(
        EpochStarted(t_s=60.5, fit=1, epoch=6),
        EpochEnded(t_s=70.0, fit=1, epoch=6, seconds=10.0, logs={"loss": 0.2}),
    )

    assert board.feed.store.known_values("run1", "log:loss").tolist() == [*LOSS, 0.4, 0.3, 0.2]
    assert board.feed.store.epoch_marks("run1", "epochs").tolist() == [*range(7)]


def test_a_refused_question_is_asked_again():
    board = Board()
    board.answer()
    board.feed.want(["log:loss"])
    [(number, asked)] = board.questions()
    assert asked.columns == ["log:loss"]
    board.answered = number + 1
    board.desk.apply_message(ErrorMessage(code="busy", text="try again", request_id=number))

    board.feed.want(["log:loss"])

    assert [asked.columns for _, asked in board.questions()] == [["log:loss"]]


def test_many_columns_are_asked_for_in_parts():
    board = Board()
    board.answer()
    board.feed.want(f"log:metric{n}" for n in range(40))

    assert [len(asked.columns) for _, asked in board.questions()] == [16, 16, 8]


def test_what_a_live_run_begins_to_tell_can_be_added():
    board = loss_board()
    assert "log:auc" not in board.feed.have(["run1"])

    board.tell(
        EpochEnded(t_s=50.0, fit=1, epoch=4, seconds=10.0, logs={"auc": 0.9}),
        Sample(t_s=51.0, device_power_w=200.0, logs={"auc": 0.8}),
    )

    assert {"log:auc", "batch:auc", "device_power_w"} <= board.feed.have(["run1"])


def test_readings_of_a_gpu_have_their_unit_and_their_range():
    board = Board()
    board.columns = {"device_utilisation_fraction": [0.5, 0.9, 0.87, 0.6]}
    board.feed.want(["device_utilisation_fraction"])
    board.answer()

    card = board.card("device_utilisation_fraction")
    assert with_plain_spaces(card.value) == "60%"
    assert with_plain_spaces(card.rate.text) == "50% to 90%"
