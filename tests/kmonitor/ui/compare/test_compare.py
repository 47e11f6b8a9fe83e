"""Up to six runs on one chart, over epochs, time or models, and what differs between them."""

import struct
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.compare.compare_state import CompareRow
from kmonitor.ui.compare.compare_table import CompareTable
from kmonitor.ui.compare.comparison import Comparison
from kmonitor.ui.text.formats import NOT_KNOWN, with_plain_spaces
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.events import EpochEnded, EpochStarted, Event, FitEnded, Sample
from kmonitor_agent.wire.messages.unions import (
    ErrorMessage,
    MetricReading,
    RowsReply,
    RunSummary,
    SeriesReply,
    SeriesRequest,
    VerdictsReply,
    VerdictsRequest,
)
from tests.support.clock import MovedClock
from tests.support.made_up_runs import (
    GIB,
    HUB,
    made_up_row,
    made_up_run,
    told_hub,
    told_runs,
    told_series,
)
from tests.support.made_up_verdicts import LEAK
from tests.support.questions_asked import QuestionsAsked


def ended(run: str, **changed: Any) -> RunSummary:
    return made_up_run(run, **{"state": "finished", "actions": [], "name": run, **changed})


class Setup:
    """A desk with a hub, and a comparison over its columns."""

    def __init__(self, *runs: RunSummary) -> None:
        self.hub = QuestionsAsked()
        self.clock = MovedClock()
        self.desk = Workspace(clock=self.clock, user="tester")
        self.desk.attach_hub(self.hub.ask)
        self.feed = ChartFeed(self.hub.ask)
        self.desk.attach_charts(self.feed)
        self.desk.connected(told_hub())
        self.desk.apply_message(told_runs(*runs))
        self.known = {run.run: run for run in runs}
        self.compare = Comparison(self.desk, self.feed)
        self.table = CompareTable(self.desk, self.feed)
        self._row = 1000

    def answer(self, fits: dict[str, list[int]] | None = None) -> None:
        for number, asked in self.hub.of_type(SeriesRequest):
            told = told_series(asked, self.known[asked.run], number)
            per_epoch = (fits or {}).get(asked.run)
            if per_epoch:
                told = _with_fits(told, per_epoch)
            self.desk.apply_message(told)

    def tell(self, run: str, *events: Event) -> None:
        rows = []
        for event in events:
            self._row += 1
            rows.append(made_up_row(self._row, event, run))
        self.desk.apply_message(
            RowsReply(
                request_id=-1, hub=HUB, cursor=self._row, rows=rows, more=False, head=self._row
            )
        )

    def rows(self, *, only_differences: bool = False) -> dict[str, CompareRow]:
        rows = self.table.rows(self.compare.runs(), only_differences=only_differences)
        return {row.title: row for row in rows}


def _with_fits(told: SeriesReply, fits: list[int]) -> SeriesReply:
    n = len(fits)
    return replace(
        told,
        epoch_t_s=struct.pack(f"<{n}d", *(10.0 * i for i in range(n))),
        epoch_end_t_s=struct.pack(f"<{n}d", *(10.0 * i + 9.0 for i in range(n))),
        fit_of_epoch=struct.pack(f"<{n}i", *fits),
    )


def texts(row: CompareRow) -> list[str]:
    return [with_plain_spaces(cell.text) for cell in row.cells]


def test_columns_and_verdicts_of_all_are_asked_for_once():
    setup = Setup(ended("a"), ended("b"))
    setup.compare.compare(["a", "b"])
    setup.compare.state(400)
    setup.compare.state(400)

    assert sorted(m.run for _, m in setup.hub.of_type(SeriesRequest) if m.buckets == 2000) == [
        "a",
        "b",
    ]
    assert {m.run for _, m in setup.hub.of_type(VerdictsRequest)} == {"a", "b"}


def test_six_runs_have_six_hues_and_a_seventh_is_left_out():
    setup = Setup(*(ended(f"r{i}") for i in range(8)))
    setup.compare.compare([f"r{i}" for i in range(7)])
    setup.compare.state(400)
    setup.answer()

    picture = setup.compare.state(400)

    assert [curve.hue for curve in picture.curves] == [0, 1, 2, 3, 4, 5]
    assert all(curve.strong and len(curve.x) for curve in picture.curves)
    assert [entry.name for entry in setup.compare.legend()] == [f"r{i}" for i in range(6)]
    assert setup.compare.hue("nobody") == 0


def test_the_others_keep_their_hues_when_one_is_left_out_or_deleted():
    setup = Setup(ended("a"), ended("b"), ended("c"))
    setup.compare.compare(["a", "b", "c"])

    setup.compare.leave_out("a")
    assert [(e.run, e.hue) for e in setup.compare.legend()] == [("b", 1), ("c", 2)]
    setup.desk.apply_message(replace(told_runs(), deleted=["b"]))
    assert [(e.run, e.hue) for e in setup.compare.legend()] == [("c", 2)]


def test_until_columns_have_come_the_chart_says_so():
    setup = Setup(ended("a"), ended("b"))
    setup.compare.compare(["a", "b"])

    assert setup.compare.state(400).empty_text == "Loading…"
    assert "Loading…" in setup.compare.legend()[0].tooltip
    assert "no data" in setup.compare.description()
    setup.answer()
    assert setup.compare.state(400).empty_text == "None of these runs measured this."
    assert "Loading" not in setup.compare.legend()[0].tooltip
    assert with_plain_spaces(setup.compare.description()) == "RAM: a 73.4 GiB, b 73.4 GiB"


def test_a_run_whose_hub_is_lost_says_why_it_has_no_curve():
    setup = Setup(ended("a"), ended("b"))
    setup.desk.disconnected("gone", retry_in_s=1.0, since_wall_s=0.0)
    setup.compare.compare(["a", "b"])

    assert "Not connected" in setup.compare.legend()[1].tooltip


def test_a_hub_that_was_too_busy_is_asked_again():
    setup = Setup(ended("a"), ended("b"))
    setup.compare.compare(["b"])
    setup.compare.state(400)
    number = next(n for n, m in setup.hub.of_type(SeriesRequest) if m.run == "b")

    setup.desk.apply_message(ErrorMessage(code="busy", text="busy", request_id=number))
    setup.compare.state(400)

    assert len([m for _, m in setup.hub.of_type(SeriesRequest) if m.run == "b"]) == 2


def test_the_axis_reaches_as_far_as_the_longest_run_whatever_it_counts():
    setup = Setup(ended("a", epochs_done=10, duration_s=100.0), ended("b", duration_s=3720.0))
    setup.compare.compare(["a", "b"])
    setup.compare.state(400)
    setup.answer()

    assert 36.0 <= setup.compare.state(400).x_range[1] <= 37.0
    setup.compare.count("seconds")
    assert setup.compare.state(400).x_range == (0.0, pytest.approx(3720.0, rel=0.01))


def test_over_models_each_fit_is_one_unit_wide():
    setup = Setup(ended("a", duration_s=60.0), ended("b", duration_s=60.0))
    setup.compare.compare(["a", "b"])
    setup.compare.state(400)
    setup.answer({"a": [1, 1, 2, 2, 3, 3], "b": [1, 1, 1, 2, 2, 2]})

    setup.compare.count("models")
    picture = setup.compare.state(400)

    assert picture.x_range == (0.0, 3.0)
    assert [float(np.max(curve.x)) for curve in picture.curves] == [3.0, 2.0]
    # The second fit begins at 20 s in one run and at 30 s in the other.
    store = setup.feed.store
    assert store.x_of("a", 20.0, "models") == pytest.approx(1.0)
    assert store.x_of("b", 30.0, "models") == pytest.approx(1.0)
    assert setup.compare.crosshair(1.2).title == "model 2"
    assert len(store.recent_points("a", "ram_bytes", span_x=1.0, kind="models")[0]) > 0


def test_a_living_loop_builds_on_over_models():
    setup = Setup(made_up_run("a", duration_s=19.0), ended("b", duration_s=60.0))
    setup.compare.compare(["a", "b"])
    setup.compare.state(400)
    setup.answer({"a": [1, 1], "b": [1, 1, 2, 2, 3, 3]})
    setup.tell(
        "a",
        FitEnded(t_s=20.0, fit=1, how="finished"),
        EpochStarted(t_s=22.0, fit=2, epoch=0),
        Sample(t_s=25.0, ram_bytes=80.0 * GIB),
        EpochEnded(t_s=32.0, fit=2, epoch=0, seconds=10.0),
        EpochStarted(t_s=32.5, fit=2, epoch=1),
        FitEnded(t_s=42.0, fit=2, how="finished"),
    )

    store = setup.feed.store

    assert store.x_of("a", 22.0, "models") == pytest.approx(1.0)
    assert store.x_of("a", 32.0, "models") == pytest.approx(1.5)
    assert store.x_of("a", 42.0, "models") == pytest.approx(2.0)


def test_zooming_keeps_within_what_there_is_and_lasts_until_the_axis_changes():
    setup = Setup(ended("a"), ended("b"))
    setup.compare.compare(["a", "b"])
    setup.compare.state(400)
    setup.answer()

    setup.compare.zoom(10.0, 20.0)
    assert setup.compare.state(400).x_range == (10.0, 20.0)
    setup.compare.count("epochs")
    assert setup.compare.state(400).x_range == (10.0, 20.0)
    setup.compare.zoom(-5.0, 900.0)
    assert setup.compare.state(400).x_range[0] == 0.0
    setup.compare.zoom(10.0, 20.0)
    setup.compare.count("seconds")
    assert setup.compare.state(400).x_range[1] > 3000.0
    setup.compare.zoom(1.0, 2.0)
    setup.compare.show_all()
    assert setup.compare.state(400).x_range[0] == 0.0


def test_the_crosshair_names_each_run_and_its_value():
    setup = Setup(ended("a"), ended("b", epochs_done=4))
    setup.compare.compare(["a", "b"])
    setup.compare.state(400)
    setup.answer()

    card = setup.compare.crosshair(20.0)

    assert card.title == "epoch 21"
    assert [(line.label, line.hue) for line in card.lines] == [("a", 0), ("b", 1)]
    assert card.lines[0].value is not None
    assert card.lines[1].text == "no data"
    setup.compare.count("seconds")
    assert with_plain_spaces(setup.compare.crosshair(120.0).title) == "2 min"


def test_the_table_says_what_differs():
    setup = Setup(
        ended("a", batch_size=32, optimizer="adam", versions={"keras": "3.9", "numpy": "2.1"}),
        ended(
            "b",
            batch_size=64,
            learning_rate=1e-3,
            ram=MetricReading(value=9.0 * GIB),
            vram=MetricReading(absent="no GPU"),
            versions={"keras": "3.9", "numpy": "2.2", "jax": "0.5"},
        ),
    )
    setup.compare.compare(["a", "b"])
    setup.compare.state(400)
    setup.answer()
    number = next(n for n, m in setup.hub.of_type(VerdictsRequest) if m.run == "b")
    setup.desk.apply_message(VerdictsReply(request_id=number, run="b", verdicts=[LEAK]))

    rows = setup.rows()

    assert texts(rows["RAM, last"]) == ["73.4 GiB", "9.0 GiB"]
    assert rows["RAM, last"].differs
    assert texts(rows["RAM, peak"])[1] == "10.8 GiB"
    assert texts(rows["RAM, slope"])[0] == NOT_KNOWN
    assert texts(rows["RAM, slope"])[1].endswith("/ epoch")
    assert "95% interval" in with_plain_spaces(rows["RAM, slope"].cells[1].tooltip)
    assert texts(rows["RAM, verdict"]) == [NOT_KNOWN, "leak suspected"]
    assert rows["RAM, verdict"].cells[1].tone == "crit"
    assert texts(rows["VRAM, last"]) == ["50.7 GiB", NOT_KNOWN]
    assert rows["VRAM, last"].cells[1].tooltip == "no GPU"
    assert texts(rows["VRAM, peak"])[1] == NOT_KNOWN
    assert len(texts(rows["Step time, median over all epochs"])) == 2
    assert texts(rows["Step time, last epoch"]) == ["272 ms", "272 ms"]
    assert not rows["Step time, last epoch"].differs
    assert texts(rows["Batch size"]) == ["32", "64"]
    assert texts(rows["Optimizer"]) == ["adam", NOT_KNOWN]
    assert texts(rows["Learning rate"]) == [NOT_KNOWN, "0.001"]
    assert texts(rows["jax version"]) == [NOT_KNOWN, "0.5"]
    assert "numpy version" in rows
    assert "keras version" not in rows
    assert rows["Batch size"].as_text() == "Batch size\t32\t64"


def test_what_is_the_same_can_be_left_out():
    setup = Setup(ended("a", batch_size=32), ended("b", batch_size=64))
    setup.compare.compare(["a", "b"])

    # Columns have not come: what needs them is the same for all, namely not known.
    rows = setup.rows(only_differences=True)

    assert list(rows) == ["Batch size"]
    assert texts(setup.rows()["Step time, median over all epochs"]) == [NOT_KNOWN, NOT_KNOWN]


def test_the_trainings_metrics_are_compared_last_and_best():
    setup = Setup(ended("a"), ended("b"))
    setup.compare.compare(["a", "b"])
    setup.compare.state(400)
    setup.answer()
    setup.tell("a", EpochEnded(t_s=3701.0, fit=1, epoch=36, seconds=9.0, logs={"val_loss": 0.25}))
    setup.tell("b", EpochEnded(t_s=3701.0, fit=1, epoch=36, seconds=9.0, logs={"place": 3.0}))
    setup.rows()
    setup.answer()
    for n, loss in enumerate((0.5, 0.75)):
        logs = {"val_loss": loss}
        setup.tell("a", EpochEnded(t_s=3800.0 + n, fit=1, epoch=37 + n, seconds=9.0, logs=logs))

    rows = setup.rows()

    assert texts(rows["val_loss, last"]) == ["0.75", NOT_KNOWN]
    assert texts(rows["val_loss, best"]) == ["0.5", NOT_KNOWN]
    assert "place, last" in rows
    assert "place, best" not in rows
