import numpy as np

from kmonitor.base.thinning import with_gaps
from kmonitor.hub.views.run_columns import RunColumns
from kmonitor.ui.charts.series_store import STEP_TIME_COLUMN, SeriesStore, VisibleRange
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    LostEvents,
    Paused,
    Sample,
    SessionStarted,
    StepTimes,
)
from kmonitor_agent.wire.messages.unions import SeriesReply, ThinnedColumn

RAM = "ram_bytes"
SECONDS = VisibleRange("seconds", 0.0, 1_000.0, 400)
EPOCHS = VisibleRange("epochs", 0.0, 10.0, 400)


def column(name: str, t_s: list[float], values: list[float]) -> ThinnedColumn:
    return ThinnedColumn(name, np.array(t_s).tobytes(), np.array(values).tobytes(), len(t_s))


def told(*columns: ThinnedColumn, starts: tuple = (), ends: tuple = ()) -> SeriesReply:
    return SeriesReply(
        request_id=1,
        run="r",
        row=7,
        columns=list(columns),
        epoch_t_s=np.array(starts, np.float64).tobytes(),
        epoch_end_t_s=np.array(ends, np.float64).tobytes(),
    )


def ten_seconds() -> SeriesStore:
    """RAM at 0, 1, ... 10 s; epochs from 0 to 5 and from 5 to 10 s."""
    store, t_s = SeriesStore(), [float(i) for i in range(11)]
    ram = column(RAM, t_s, [100.0 + t for t in t_s])
    store.backfill(told(ram, starts=(0.0, 5.0), ends=(5.0, 10.0)))
    return store


def test_backfilled_column_is_drawn_over_seconds_and_over_epochs():
    store = ten_seconds()

    x, y = store.points("r", RAM, SECONDS)
    assert x.tolist() == list(range(11))
    assert y[3] == 103.0
    x, y = store.points("r", RAM, EPOCHS)
    np.testing.assert_allclose(x, np.arange(11) / 5.0)
    assert y[10] == 110.0


def test_same_arrays_come_back_while_nothing_changed():
    store = ten_seconds()
    first = store.points("r", RAM, EPOCHS)

    assert store.points("r", RAM, EPOCHS) is first
    store.apply_event("r", 11.0, Sample(t_s=11.0, ram_bytes=111.0))
    assert store.points("r", RAM, EPOCHS) is not first


def test_points_are_copies_that_live_rows_do_not_touch():
    store = ten_seconds()
    _, y = store.points("r", RAM, SECONDS)
    for t in range(11, 2_000):
        store.apply_event("r", float(t), Sample(t_s=float(t), ram_bytes=1.0))

    assert y.tolist() == [100.0 + t for t in range(11)]


def test_live_sample_follows_and_one_the_answer_covers_is_left_out():
    store = ten_seconds()
    store.apply_event("r", 10.0, Sample(t_s=10.0, ram_bytes=1.0))
    store.apply_event("r", 11.0, Sample(t_s=11.0, ram_bytes=111.0))

    assert store.points("r", RAM, SECONDS)[1].tolist()[-2:] == [110.0, 111.0]


def test_field_that_was_not_read_this_time_is_no_gap():
    store = ten_seconds()
    store.apply_event("r", 11.0, Sample(t_s=11.0))
    store.apply_event("r", 12.0, Sample(t_s=12.0, ram_bytes=112.0))

    assert not np.isnan(store.points("r", RAM, SECONDS)[1]).any()
    assert store.gaps("r", RAM, "seconds") == []


def test_lost_events_and_a_new_process_break_the_line():
    store = ten_seconds()
    store.apply_event("r", 11.0, LostEvents(t_s=11.0, first=3, last=9, why="spool overflow"))
    store.apply_event("r", 20.0, Sample(t_s=20.0, ram_bytes=120.0))
    store.apply_event("r", 30.0, session())
    store.apply_event("r", 40.0, Sample(t_s=40.0, ram_bytes=140.0))

    assert store.gaps("r", RAM, "seconds") == [(10.0, 20.0), (20.0, 40.0)]
    assert np.count_nonzero(np.isnan(store.points("r", RAM, SECONDS)[1])) == 2


def test_gaps_of_a_loaded_history_are_those_that_came_while_the_chart_stood():
    live, nan = SeriesStore(), float("nan")
    losses = (nan, 0.5, nan, 0.25, nan)
    live.backfill(told(column("log:loss", [], []), column("batch:loss", [], [])))
    for epoch, loss in enumerate(losses):
        t_s = 10.0 * (epoch + 1)
        live.apply_event("r", t_s - 1.0, Sample(t_s=t_s, logs={"loss": loss}))
        live.apply_event(
            "r", t_s, EpochEnded(t_s=t_s, fit=1, epoch=epoch, seconds=9.0, logs={"loss": loss})
        )
    columns = RunColumns(1)
    for epoch, loss in enumerate(losses):
        ended = EpochEnded(t_s=0.0, fit=1, epoch=epoch, seconds=9.0, logs={"loss": loss})
        columns.epochs.end(10.0 * (epoch + 1), ended)
    t_s, values = with_gaps(*columns.points("log:loss"), columns.breaks_t_s("log:loss"))
    loaded = SeriesStore()
    loaded.backfill(told(column("log:loss", t_s.tolist(), values.tolist())))

    assert live.gaps("r", "log:loss", "seconds") == [(20.0, 40.0), (40.0, 50.0)]
    assert loaded.gaps("r", "log:loss", "seconds") == [(20.0, 40.0), (40.0, 50.0)]
    assert live.gaps("r", "batch:loss", "seconds") == []


def test_gap_at_either_end_of_a_column_is_told_with_what_is_there():
    store = SeriesStore()
    nan = float("nan")
    store.backfill(told(column(RAM, [0.0, 1.0, 2.0], [nan, 5.0, nan])))

    assert store.gaps("r", RAM, "seconds") == [(0.0, 1.0), (1.0, 2.0)]


def test_live_epochs_move_the_axis_and_fill_the_epoch_columns():
    store = ten_seconds()
    store.backfill(told(column(STEP_TIME_COLUMN, [5.0], [0.2]), column("log:loss", [5.0], [1.0])))
    store.apply_event("r", 10.0, EpochStarted(t_s=10.0, fit=1, epoch=2))
    times = StepTimes(count=9, mean_s=0.3, p50_s=0.3, p95_s=0.4, p99_s=0.4, max_s=0.5)
    store.apply_event(
        "r",
        20.0,
        EpochEnded(t_s=20.0, fit=1, epoch=2, seconds=10, logs={"loss": 0.5}, step_times=times),
    )

    assert store.points("r", STEP_TIME_COLUMN, SECONDS)[1].tolist() == [0.2, 0.2, 0.3, 0.3]
    assert store.last_value("r", STEP_TIME_COLUMN) == 0.3
    assert store.points("r", "log:loss", SECONDS)[1].tolist() == [1.0, 0.5]
    assert store.full_range(["r"], "epochs") == (0.0, 3.0)


def test_epoch_without_step_times_or_that_log_adds_no_point():
    store = SeriesStore()
    store.backfill(told(column(STEP_TIME_COLUMN, [5.0], [0.2]), column("log:loss", [5.0], [1.0])))
    store.apply_event("r", 20.0, EpochEnded(t_s=20.0, fit=1, epoch=2, seconds=10))

    assert len(store.points("r", STEP_TIME_COLUMN, SECONDS)[0]) == 1
    assert len(store.points("r", "log:loss", SECONDS)[0]) == 1


def test_an_epochs_median_is_drawn_over_its_epoch_and_told_anywhere_in_it():
    store = ten_seconds()
    medians = column(STEP_TIME_COLUMN, [5.0, 10.0], [0.2, 0.3])
    store.backfill(told(medians, starts=(0.0, 6.0), ends=(5.0, 10.0)))

    x, y = store.points("r", STEP_TIME_COLUMN, EPOCHS)
    assert x.tolist() == [0.0, 1.0, 1.0, 2.0]
    assert y.tolist() == [0.2, 0.2, 0.3, 0.3]
    x, y = store.points("r", STEP_TIME_COLUMN, SECONDS)
    assert x.tolist() == [0.0, 5.0, 6.0, 10.0]
    assert store.value_at("r", STEP_TIME_COLUMN, 0.4, "epochs") == 0.2
    assert store.value_at("r", STEP_TIME_COLUMN, 1.4, "epochs") == 0.3
    assert store.value_at("r", STEP_TIME_COLUMN, 2.4, "epochs") is None


def test_the_last_epochs_value_is_told_at_its_end_though_time_went_on_behind_it():
    store = SeriesStore()
    median = column(STEP_TIME_COLUMN, [5.0], [0.1])
    store.backfill(told(median, column(RAM, [8.0], [1.0]), starts=(0.0,), ends=(5.0,)))

    assert store.value_at("r", STEP_TIME_COLUMN, 1.0, "epochs") == 0.1
    assert store.value_at("r", STEP_TIME_COLUMN, 1.1, "epochs") is None


def test_a_finished_run_ends_at_its_last_epoch_though_its_last_sample_came_before():
    store = SeriesStore()
    ram = column(RAM, [0.0, 1.0], [1.0, 2.0])
    store.backfill(told(ram, starts=(0.0, 1.0, 2.0), ends=(1.0, 2.0, 3.0)))

    assert store.full_range(["r"], "epochs") == (0.0, 3.0)
    assert store.full_range(["r"], "seconds") == (0.0, 3.0)


def test_other_events_and_other_runs_change_nothing():
    store = ten_seconds()
    first = store.points("r", RAM, SECONDS)
    store.apply_event("r", 50.0, Paused(t_s=50.0, paused=True))
    store.apply_event("other", 50.0, Sample(t_s=50.0, ram_bytes=1.0))

    assert store.points("r", RAM, SECONDS) is first
    assert not store.holds("other")


def test_store_says_what_it_holds_until_it_is_told_to_forget():
    store = ten_seconds()

    assert store.holds("r")
    assert store.holds("r", RAM)
    assert not store.holds("r", "vram_bytes")
    store.forget("r")
    assert not store.holds("r")


def test_what_is_not_held_is_empty():
    store = ten_seconds()

    assert len(store.points("other", RAM, SECONDS)[0]) == 0
    assert len(store.points("r", "vram_bytes", SECONDS)[0]) == 0
    assert len(store.recent_points("other", RAM, span_x=5.0, kind="seconds")[0]) == 0
    assert store.value_at("other", RAM, 1.0, "seconds") is None
    assert store.gaps("other", RAM, "seconds") == []
    assert len(store.epoch_marks("other", "epochs")) == 0
    assert store.full_range(["other"], "epochs") == (0.0, 1.0)
    assert store.x_of("other", 5.0, "epochs") == 0.0
    assert store.x_of("other", 5.0, "seconds") == 5.0


def test_empty_column_of_a_metric_that_is_absent_is_held():
    store = SeriesStore()
    store.backfill(told(column(RAM, [], [])))

    assert store.holds("r", RAM)
    assert store.value_at("r", RAM, 0.0, "seconds") is None
    assert len(store.recent_points("r", RAM, span_x=1.0, kind="epochs")[0]) == 0


def test_newest_part_for_a_trend_in_seconds_and_in_epochs():
    store = ten_seconds()

    x, y = store.recent_points("r", RAM, span_x=3.0, kind="seconds")
    assert x.tolist() == [7.0, 8.0, 9.0, 10.0]
    assert y.tolist() == [107.0, 108.0, 109.0, 110.0]
    x, _ = store.recent_points("r", RAM, span_x=1.0, kind="epochs")
    np.testing.assert_allclose(x, [1.0, 1.2, 1.4, 1.6, 1.8, 2.0])


def test_value_under_the_crosshair_is_the_last_one_measured():
    store = ten_seconds()

    assert store.value_at("r", RAM, 3.7, "seconds") == 103.0
    assert store.value_at("r", RAM, 1.0, "epochs") == 105.0
    assert store.value_at("r", RAM, 10.0, "seconds") == 110.0


def test_no_value_is_told_before_behind_or_in_a_gap():
    store = ten_seconds()
    store.apply_event("r", 20.0, session())
    store.apply_event("r", 30.0, Sample(t_s=30.0, ram_bytes=130.0))

    assert store.value_at("r", RAM, -1.0, "seconds") is None
    assert store.value_at("r", RAM, 25.0, "seconds") is None
    assert store.value_at("r", RAM, 31.0, "seconds") is None


def test_epoch_marks_stand_at_whole_epochs_or_at_their_times():
    store = ten_seconds()

    assert store.epoch_marks("r", "epochs").tolist() == [0.0, 1.0]
    assert store.epoch_marks("r", "seconds").tolist() == [0.0, 5.0]


def test_range_reaches_to_the_newest_moment_of_all_runs():
    store = ten_seconds()

    assert store.full_range(["r"], "seconds") == (0.0, 10.0)
    assert store.full_range(["r"], "epochs") == (0.0, 2.0)
    assert store.full_range([], "epochs") == (0.0, 1.0)


def session() -> SessionStarted:
    return SessionStarted(t_s=0.0, session="b", name="run", host="h", pid=1, started_wall_s=1.0)
