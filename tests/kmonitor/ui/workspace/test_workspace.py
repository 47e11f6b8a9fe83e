"""Workspace: messages of hubs become runs, events and selections."""

from typing import Any

import pytest
from msgspec.structs import replace

from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.standard_charts import StandardCharts
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.recording.fit import MEAN_STEP_SOURCE
from kmonitor_agent.wire.messages import events
from kmonitor_agent.wire.messages.commands import CommandStatus
from kmonitor_agent.wire.messages.unions import (
    CommandReply,
    CommandRequest,
    EditReply,
    ErrorMessage,
    EventRow,
    MetricReading,
    ReplyPending,
    RowsReply,
    RowsRequest,
    RunSummary,
    SeriesRequest,
)
from tests.support.clock import MovedClock
from tests.support.made_up_runs import (
    GIB,
    MIB,
    limit,
    made_up_row,
    made_up_run,
    reload_record,
    told_hub,
    told_runs,
    told_series,
)
from tests.support.questions_asked import QuestionsAsked


class Setup:
    """A desk with charts and a hub that answers when a test says so."""

    def __init__(self) -> None:
        self.hub = QuestionsAsked()
        self.desk = Workspace(clock=MovedClock(), user="tester")
        self.desk.attach_hub(self.hub.ask)
        self.feed = ChartFeed(self.hub.ask)
        self.charts = StandardCharts(self.desk, self.feed)
        self.desk.attach_charts(self.feed)
        self._row = 1000

    def show(self, *runs: RunSummary) -> None:
        self.desk.connected(told_hub())
        self.desk.apply_message(told_runs(*runs))
        self.answer(*runs)

    def answer(self, *runs: RunSummary) -> None:
        by_id = {run.run: run for run in runs}
        for number, asked in self.hub.of_type(SeriesRequest):
            self.desk.apply_message(told_series(asked, by_id[asked.run], number))

    def tell(self, *events: events.Event, run: str = "run1") -> None:
        rows: list[EventRow] = []
        for event in events:
            self._row += 1
            rows.append(made_up_row(self._row, event, run))
        self.desk.apply_message(
            RowsReply(
                request_id=0, hub="hub1", cursor=self._row, rows=rows, more=False, head=self._row
            )
        )


@pytest.fixture
def setup() -> Setup:
    return Setup()


def test_it_is_the_first_start_only_when_the_hub_says_there_is_nothing(setup: Setup):
    assert not setup.desk.is_first_start
    setup.desk.connected(told_hub(rows=0))
    assert setup.desk.is_first_start
    setup.desk.apply_message(told_runs(made_up_run()))
    assert not setup.desk.is_first_start


def test_rows_reach_log_readings_and_charts(setup: Setup):
    setup.show(made_up_run())
    setup.desk.changed.clear()

    setup.tell(
        events.Sample(t_s=3721.0, ram_bytes=80 * GIB),
        events.FieldSources(
            t_s=3721.0, sources=[events.FieldSource("ram_bytes", "bytes", "proc")]
        ),
        events.Paused(t_s=3722.0, paused=True),
    )

    assert setup.desk.changed == {"log", "readings", "series"}
    assert setup.desk.log.rows()[0].line.text == "Training is paused"
    picture = setup.charts.state("ram", 300)
    assert picture.curves[0].y[-1] == 80 * GIB


def test_an_event_of_a_newer_version_is_passed_over(setup: Setup):
    setup.show(made_up_run())
    body = b"\x82\xa4type\xa6future\xa3t_s\x01"
    row = EventRow(row=1, run="run1", seq=1, t_s=1.0, body=body)

    setup.desk.apply_message(
        RowsReply(request_id=0, hub="hub1", cursor=1, rows=[row], more=False, head=1)
    )

    assert setup.desk.log.rows() == []


def test_a_row_of_a_run_that_is_not_listed_yet_is_logged_under_its_id(setup: Setup):
    setup.desk.connected(told_hub())
    setup.tell(events.Paused(t_s=1.0, paused=True), run="abcdefghijkl")
    assert setup.desk.log.rows()[0].run_name == "abcdefgh"


def test_another_hub_begins_anew(setup: Setup):
    setup.show(made_up_run())
    setup.tell(events.Paused(t_s=1.0, paused=True), reload_record())
    setup.desk.connected(told_hub("hub2"))

    assert setup.desk.log.rows() == []
    assert setup.desk.readings("run1").groups() == ()
    assert not setup.feed.store.holds("run1", "ram_bytes") or not setup.feed.is_loaded("run1")


def test_the_same_hub_again_keeps_everything(setup: Setup):
    setup.show(made_up_run())
    asked = len(setup.hub.messages)
    setup.desk.disconnected("gone", retry_in_s=1.0, since_wall_s=1.0)
    setup.desk.connected(told_hub())
    assert len(setup.hub.messages) == asked


def test_commands_go_out_only_where_they_are_possible(setup: Setup):
    setup.desk.command("reload")
    setup.show(made_up_run(actions=["save"]))
    setup.desk.command("reload")
    setup.desk.command("save")
    assert [m.name for _, m in setup.hub.of_type(CommandRequest)] == ["save"]


def test_a_commands_end_is_news_and_a_refusal_too(setup: Setup):
    setup.show(made_up_run())
    setup.desk.command("save")
    ((number, asked),) = setup.hub.of_type(CommandRequest)
    setup.desk.changed.clear()

    setup.desk.apply_message(ErrorMessage(code="invalid", text="no", request_id=number))
    assert "commands" in setup.desk.changed
    done = CommandStatus(id=asked.id, run="run1", name="save", state="done")
    setup.desk.changed.clear()
    setup.desk.apply_message(CommandReply(request_id=number, status=done))
    assert "commands" in setup.desk.changed
    setup.desk.changed.clear()
    setup.desk.apply_message(EditReply(request_id=1, run="run1"))
    setup.desk.apply_message(CommandReply(request_id=number, status=done))
    assert setup.desk.changed == set()


def test_a_refused_question_for_columns_is_asked_again_when_the_run_is_shown_again(setup: Setup):
    setup.desk.connected(told_hub())
    setup.desk.apply_message(told_runs(made_up_run()))
    columns = setup.hub.of_type(SeriesRequest)
    for number, _ in columns:
        setup.desk.apply_message(ErrorMessage(code="busy", text="later", request_id=number))
    setup.desk.apply_message(told_runs(made_up_run(change=2)))
    assert len(setup.hub.of_type(SeriesRequest)) == len(columns) + 1


def test_selecting_another_run_asks_for_its_history(setup: Setup):
    setup.show(made_up_run(), made_up_run("run2", started_wall_s=1.0))
    setup.desk.select("run2")
    setup.desk.select("run2")
    assert [m.runs for _, m in setup.hub.of_type(RowsRequest)] == [["run1"], ["run2"]]


def test_charts_say_how_far_the_hub_is_with_a_long_answer(setup: Setup):
    setup.desk.connected(told_hub())
    run = made_up_run()
    setup.desk.apply_message(told_runs(run))
    for ask, _ in setup.hub.of_type(SeriesRequest):
        setup.desk.apply_message(ReplyPending(request_id=ask, done=1200, of=3000))
    text = setup.charts.state("ram", 300).empty_text
    setup.answer(run)

    assert with_plain_spaces(text) == "Loading: 1 200 of 3 000 events read"
    assert setup.charts.state("ram", 300).curves[0].x.size


def test_charts_are_drawn_from_an_outline_until_the_whole_is_read(setup: Setup):
    setup.desk.connected(told_hub())
    run = made_up_run()
    setup.desk.apply_message(told_runs(run))
    ((ask, asked),) = [one for one in setup.hub.of_type(SeriesRequest) if one[1].outline]
    whole = told_series(asked, run, ask)
    few = [replace(one, t_s=one.t_s[-80:], values=one.values[-80:]) for one in whole.columns]
    setup.desk.apply_message(replace(whole, columns=few, one_of=150))
    outline = setup.charts.state("ram", 300).curves[0]
    setup.tell(events.Sample(t_s=3730.0, ram_bytes=90 * GIB))
    card, of_epochs = (setup.charts.card(one, now_s=0.0) for one in ("ram", "step_time"))
    setup.desk.apply_message(whole)

    assert len(outline.x) == 10
    assert card is not None
    assert card.note == "preview: 1 in 150 samples so far"
    assert of_epochs is not None
    assert "outline" not in of_epochs.note
    drawn = setup.charts.state("ram", 300).curves[0]
    assert len(drawn.x) > 10
    assert drawn.y[-1] == 90 * GIB
    card = setup.charts.card("ram", now_s=0.0)
    assert card is not None
    assert "outline" not in card.note


def test_rows_that_come_before_the_columns_are_not_lost_and_covered_ones_not_doubled(setup: Setup):
    setup.desk.connected(told_hub())
    run = made_up_run()
    setup.desk.apply_message(told_runs(run))
    setup.tell(events.Sample(t_s=3730.0, ram_bytes=90 * GIB))
    assert setup.charts.state("ram", 300).empty_text == "Loading…"
    covered = made_up_row(50, events.Sample(t_s=4000.0, ram_bytes=1.0))
    setup.answer(run)
    setup.desk.apply_message(
        RowsReply(request_id=0, hub="hub1", cursor=50, rows=[covered], more=False, head=50)
    )

    picture = setup.charts.state("ram", 300)

    assert picture.curves[0].y[-1] == 90 * GIB


def test_a_graph_size_counted_at_an_epochs_end_is_on_the_curve_at_once(setup: Setup):
    setup.show(made_up_run())
    size = events.GraphSize(t_s=3725.0, fit=1, epoch=36, operations=77, traces=1, functions=2)
    setup.tell(size)
    assert setup.charts.state("graph", 300).curves[0].y[-1] == 77.0


def test_charts_of_nothing_are_empty(setup: Setup):
    assert not setup.charts.state("ram", 300).has_points
    assert setup.charts.card("ram", now_s=0.0) is None
    assert setup.charts.x_range() == (0.0, 1.0)


def test_the_selected_run_is_drawn_first_with_flags_marks_and_an_offer(setup: Setup):
    setup.show(made_up_run(), made_up_run("run2", name="other", started_wall_s=1.0))
    setup.tell(reload_record(), reload_record(2300.0, ok=False))

    picture = setup.charts.state("graph", 300)

    assert [curve.selected for curve in picture.curves] == [True, False]
    assert [(flag.text, flag.ok) for flag in picture.flags] == [
        ("reload", True),
        ("reload failed", False),
    ]
    assert "requested by" in picture.flags[0].tooltip
    assert len(picture.epoch_marks) == 37
    assert picture.limit is not None
    assert picture.limit.style == "offered"
    assert picture.limit.value > 24374


def test_limits_are_drawn_as_they_stand_and_a_far_one_leaves_the_curve_its_room(setup: Setup):
    setup.show(made_up_run(limits=[limit("ram", 128 * GIB), limit("vram", 4000 * GIB)]))

    near, far = setup.charts.state("ram", 300), setup.charts.state("vram", 300)

    assert near.limit is not None
    assert (near.limit.style, near.y_range) == ("in_force", None)
    assert far.y_range is not None
    assert far.y_range[1] < 100 * GIB
    run = setup.desk.run_store.current()
    assert run is not None
    setup.desk.limits.request_value(run, "ram", 90 * GIB)
    moved = setup.charts.state("ram", 300).limit
    assert moved is not None
    assert moved.style == "pending"


def test_an_ended_or_unreached_run_offers_no_limit_and_is_drawn_stale(setup: Setup):
    setup.show(made_up_run())
    setup.desk.disconnected("gone", retry_in_s=1.0, since_wall_s=1.0)
    picture = setup.charts.state("graph", 300)
    assert picture.limit is None
    assert picture.curves[0].stale


def test_the_view_can_be_zoomed_held_and_let_go(setup: Setup):
    setup.show(made_up_run())
    full = setup.charts.x_range()

    setup.charts.zoom(10.0, 20.0)
    assert (setup.charts.x_range(), setup.charts.is_live) == ((10.0, 20.0), False)
    setup.charts.zoom(-5.0, 5.0)
    assert setup.charts.x_range() == (0.0, 10.0)
    setup.charts.zoom(10.0, 10.0)
    assert setup.charts.x_range()[1] - setup.charts.x_range()[0] == pytest.approx(0.05)
    setup.charts.zoom(-100.0, 1000.0)
    assert setup.charts.is_live
    setup.charts.hold_range()
    setup.charts.count("epochs")
    assert not setup.charts.is_live
    setup.charts.follow()
    assert setup.charts.x_range() == full
    setup.charts.count("seconds")
    assert setup.charts.x_range() == (0.0, 3720.0)


def test_the_crosshair_names_the_moment_and_every_runs_value(setup: Setup):
    setup.show(
        made_up_run(), made_up_run("run2", name="other", started_wall_s=1.0, ram=MetricReading())
    )

    card = setup.charts.crosshair("ram", 28.3, is_shown=True)

    assert card.title == "epoch 29"
    assert card.lines[0].text.endswith("GiB")
    assert card.lines[1].text == "no data"
    setup.charts.count("seconds")
    assert with_plain_spaces(setup.charts.crosshair("ram", 90.0, is_shown=False).title) == "2 min"


def test_cards_say_value_rate_limit_and_source(setup: Setup):
    setup.show(made_up_run(limits=[limit("ram", 128 * GIB)]))
    setup.tell(reload_record())

    card = setup.charts.card("ram", now_s=0.0)

    assert card is not None
    assert with_plain_spaces(card.value) == "73.4 GiB"
    assert with_plain_spaces(card.note) == "of 192 GiB"
    assert card.rate.direction == 1
    assert with_plain_spaces(card.rate.text).endswith("GiB / epoch")
    assert with_plain_spaces(card.limit) == "limit 128 GiB, reload"
    assert (card.limit_tone, card.can_limit, card.has_limit) == ("crit", True, True)
    assert card.tooltip.splitlines()[0] == "process and children"
    assert card.description.startswith("RAM, 73.4")


def test_right_after_a_reload_a_card_says_when_there_will_be_a_rate(setup: Setup):
    run = made_up_run()
    setup.show(run)
    setup.tell(reload_record(run.duration_s - 5.0))

    card = setup.charts.card("ram", now_s=0.0)

    assert card is not None
    assert card.rate.text == "rate available in 3 epochs"
    setup.show(made_up_run(state="finished"))
    ended = setup.charts.card("ram", now_s=9.0)
    assert ended is not None
    assert ended.rate.text == ""


def test_a_graph_with_a_limit_leaves_its_unit_to_the_limits_words(setup: Setup):
    for limits, note in (([], "operations in live traces"), ([limit("graph", 48_000.0)], "")):
        setup.show(made_up_run(limits=limits))
        card = setup.charts.card("graph", now_s=0.0)
        assert card is not None
        assert card.note == note
        assert not limits or "operations" in card.limit


def test_rates_are_reckoned_once_a_second_and_anew_for_another_run(setup: Setup):
    setup.show(
        made_up_run(), made_up_run("run2", started_wall_s=1.0, epochs_done=0, duration_s=60.0)
    )
    first = setup.charts.card("ram", now_s=10.0)
    again = setup.charts.card("ram", now_s=10.5)
    assert first is not None
    assert again is not None
    assert again.rate is first.rate

    setup.desk.select("run2")
    other = setup.charts.card("ram", now_s=10.6)

    assert other is not None
    assert other.rate.text.endswith("/ min")


def test_without_a_gpu_the_card_is_the_frameworks_allocator(setup: Setup):
    cpu = MetricReading(value=866 * 1024.0, source="tensorflow allocator, CPU:0 in use")
    setup.show(made_up_run(vram=cpu))

    card = setup.charts.card("vram", now_s=0.0)

    assert card is not None
    assert (card.title, card.note) == ("Framework allocator (CPU)", "in use")
    assert setup.feed.column("run1", "vram") == "vram_bytes"
    assert setup.feed.column("nobody", "vram") == "allocator_in_use_bytes"


@pytest.mark.parametrize(
    ("changed", "metric", "words"),
    [
        (
            {"vram": MetricReading(absent="no NVIDIA driver on this host")},
            "vram",
            "no NVIDIA driver on this host",
        ),
        ({"step_time": MetricReading()}, "step_time", "Shown after the first steps of an epoch."),
        ({"graph": MetricReading()}, "graph", "Shown once a fit has started."),
        ({"ram": MetricReading()}, "ram", "Waiting for the first reading…"),
        (
            {"ram": MetricReading(), "state": "lost"},
            "ram",
            "The run ended before this was measured.",
        ),
    ],
)
def test_a_missing_reading_says_why_on_card_and_chart(
    setup: Setup, changed: dict[str, Any], metric: str, words: str
):
    setup.show(made_up_run(**changed))

    card = setup.charts.card(metric, now_s=0.0)  # type: ignore[arg-type]
    picture = setup.charts.state(metric, 300)  # type: ignore[arg-type]

    assert card is not None
    assert (card.absent, card.value, card.can_limit) == (words, "\u2013", False)
    assert picture.empty_text == words
    assert picture.flags == ()


def test_notes_say_what_the_number_is(setup: Setup):
    run = made_up_run(ram=MetricReading(value=MIB))
    setup.show(run)
    notes = {m: setup.charts.card(m, now_s=0.0) for m in ("graph", "step_time", "ram")}  # type: ignore[arg-type]
    assert [card.note for card in notes.values() if card] == [
        "operations in live traces",
        "median over the epoch",
        "",
    ]
    assert setup.charts.state("ram", 300).gaps == ()


def test_a_step_time_that_is_a_mean_is_called_one(setup: Setup):
    setup.show(made_up_run(step_time=MetricReading(0.05, source=MEAN_STEP_SOURCE.source)))

    card = setup.charts.card("step_time", now_s=0.0)
    assert card is not None
    assert card.note == "mean over the epoch"


def test_a_desk_whose_charts_are_not_loaded_yet_takes_everything(setup: Setup):
    desk = Workspace(clock=MovedClock(), user="tester")
    desk.attach_hub(setup.hub.ask)
    desk.connected(told_hub())
    run = made_up_run()
    desk.apply_message(told_runs(run))
    for number, asked in setup.hub.of_type(SeriesRequest):
        desk.apply_message(told_series(asked, run, number))
    row = made_up_row(1, events.Sample(t_s=1.0, functions=3.0))
    desk.apply_message(
        RowsReply(request_id=0, hub="hub1", cursor=1, rows=[row], more=False, head=1)
    )
    desk.apply_message(ErrorMessage(code="busy", text="later", request_id=1))
    desk.connected(told_hub("hub2"))

    assert "readings" in desk.changed


def test_columns_that_nobody_asked_for_are_left_alone(setup: Setup):
    asked = SeriesRequest(request_id=0, run="run1", columns=["ram_bytes"])
    setup.feed.apply_series(told_series(asked, made_up_run(), 999))
    assert not setup.feed.is_loaded("run1")


def test_history_reaches_log_and_flags_but_no_column_twice(setup: Setup):
    setup.show(made_up_run())
    ((number, _),) = setup.hub.of_type(RowsRequest)
    before = len(setup.charts.state("ram", 4000).curves[0].x)
    rows = [
        made_up_row(2000, reload_record()),
        made_up_row(2001, events.Sample(t_s=9000.0, ram_bytes=1.0)),
        made_up_row(
            2002,
            events.ActionRecord(
                t_s=1.0, action="save", ok=True, requested_by="x", fit=1, epoch=0, seconds=1.0
            ),
        ),
    ]

    setup.desk.apply_message(
        RowsReply(request_id=number, hub="hub1", cursor=9, rows=rows, more=False, head=9)
    )

    picture = setup.charts.state("ram", 4000)
    assert [flag.text for flag in picture.flags] == ["save", "reload"]
    assert len(picture.curves[0].x) == before
