from typing import get_args

import msgspec
import pytest

from kmonitor.ui.events import event_log as module
from kmonitor.ui.events.action_records import record_origin_text, record_state, record_summary
from kmonitor.ui.events.event_log import LOG_KINDS, EventLogState, event_line, superseded_events
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages import events as messages_events
from kmonitor_agent.wire.messages.commands import LimitSpec
from kmonitor_agent.wire.messages.events import Footprint
from tests.support.made_up_runs import GIB, MIB, limit, reload_record

BOOT = messages_events.SessionStarted(
    t_s=0.0,
    session="b",
    name="x",
    host="gpu-01",
    pid=7,
    started_wall_s=1.0,
    versions={"keras": "3.15", "tensorflow": "2.21", "python": "3.11"},
)


def text_of(event: messages_events.Event) -> str:
    line = event_line(event, name="run x")  # type: ignore[arg-type]
    assert line is not None
    return with_plain_spaces(line.text)


@pytest.mark.parametrize(
    ("event", "level", "words"),
    [
        (BOOT, "info", "run x started on gpu-01, process 7 · keras 3.15 · tensorflow 2.21"),
        (messages_events.SessionEnded(t_s=1.0, why="finished"), "info", "Process finished"),
        (
            messages_events.SessionEnded(t_s=1.0, why="stopped"),
            "info",
            "Process stopped as requested",
        ),
        (
            messages_events.SessionEnded(t_s=1.0, why="restart"),
            "info",
            "Process exited for a restart",
        ),
        (
            messages_events.SessionEnded(t_s=1.0, why="interrupted"),
            "warning",
            "Process was interrupted",
        ),
        (
            messages_events.SessionDied(
                t_s=1.0, session="b", how="memory", why="out of memory: oom_kill"
            ),
            "error",
            "Process died: out of memory: oom_kill",
        ),
        (
            messages_events.SessionDied(t_s=1.0, session="b", how="memory", supervisor=7),
            "error",
            "Process was killed: out of memory; a new process will start",
        ),
        (
            messages_events.SessionDied(
                t_s=1.0, session="b", how="signal", signal="SIGINT", is_requested=True
            ),
            "warning",
            "Process was terminated by SIGINT",
        ),
        (
            messages_events.SessionDied(
                t_s=1.0,
                session="b",
                how="signal",
                why="SIGINT, sent to kmonitor run",
                is_requested=True,
            ),
            "warning",
            "Process was terminated by SIGINT, sent to kmonitor run",
        ),
        (
            messages_events.SessionDied(t_s=1.0, session="b", how="status", status=3),
            "error",
            "Process ended with exit status 3",
        ),
        (
            messages_events.SessionEnded(
                t_s=1.0, why="failed", error_type="ValueError", message="no"
            ),
            "error",
            "run x failed: ValueError: no",
        ),
        (
            messages_events.SessionEnded(t_s=1.0, why="failed"),
            "error",
            "run x failed: unknown error",
        ),
        (
            messages_events.FitEnded(t_s=1.0, fit=2, how="finished", epochs_done=5),
            "info",
            "Fit 2 finished after 5 epochs",
        ),
        (
            messages_events.FitEnded(t_s=1.0, fit=2, how="finished", epochs_done=1),
            "info",
            "Fit 2 finished after 1 epoch",
        ),
        (
            messages_events.FitEnded(
                t_s=1.0, fit=2, how="finished", epochs_done=3, epochs_before=3
            ),
            "info",
            "Fit 2 finished after 6 epochs, 3 of them in this process",
        ),
        (
            messages_events.FitEnded(
                t_s=1.0, fit=2, how="failed", error_type="OOM", epochs_before=1
            ),
            "error",
            "Fit 2 failed after 1 epoch, none of them in this process: OOM",
        ),
        (
            messages_events.FitStarted(
                t_s=1.0, fit=1, model="m", epochs=3, initial_epoch=2, steps=1
            ),
            "info",
            "Fit 1 started: m, 1 epoch of 1 step, from epoch 3",
        ),
        (
            messages_events.FitEnded(t_s=1.0, fit=2, how="stopped"),
            "info",
            "Fit 2 stopped after 0 epochs",
        ),
        (
            messages_events.FitEnded(t_s=1.0, fit=2, how="interrupted"),
            "warning",
            "Fit 2 was interrupted after 0 epochs",
        ),
        (
            messages_events.FitEnded(t_s=1.0, fit=2, how="left", message="by an exception"),
            "warning",
            "Fit 2 ended early after 0 epochs: by an exception",
        ),
        (
            messages_events.FitEnded(t_s=1.0, fit=2, how="failed", error_type="OOM"),
            "error",
            "Fit 2 failed after 0 epochs: OOM",
        ),
        (messages_events.FitStarted(t_s=1.0, fit=1, model="m"), "info", "Fit 1 started: m"),
        (
            messages_events.FitStarted(
                t_s=1.0, fit=1, model="m", epochs=6, initial_epoch=6, steps=2
            ),
            "info",
            "Fit 1 started: m, no epochs left",
        ),
        (
            messages_events.FitStarted(
                t_s=1.0, fit=1, model="m", epochs=9, initial_epoch=2, steps=1563, batch_size=64
            ),
            "info",
            "Fit 1 started: m, 7 epochs of 1 563 steps, batch size 64, from epoch 3",
        ),
        (
            messages_events.Diagnosis(
                t_s=1.0,
                fit=1,
                epoch=4,
                seconds=0.1,
                objects=[
                    messages_events.ObjectGrowth(kind="builtins.dict", count=90_000, grown=1200),
                    messages_events.ObjectGrowth(kind="builtins.list", count=9, grown=-2),
                ],
                holders=["12 traces held by `f`"],
            ),
            "info",
            "Diagnosis after epoch 5: 12 traces held by `f`; most new objects: dict (+1 200)",
        ),
        (
            messages_events.Diagnosis(
                t_s=1.0, fit=1, epoch=0, seconds=0.1, holders=["`f`: traces 2"]
            ),
            "info",
            "Diagnosis after epoch 1: nothing grew since the last one",
        ),
        (
            messages_events.Diagnosis(t_s=1.0, fit=1, epoch=5, seconds=0.1),
            "info",
            "Diagnosis up to the end of epoch 6: no Python code retained newly allocated memory",
        ),
        (messages_events.LimitsInForce(t_s=1.0, limits=[]), "info", "No active limits"),
        (messages_events.Paused(t_s=1.0, paused=True), "info", "Training is paused"),
        (messages_events.Paused(t_s=1.0, paused=False), "info", "Training resumed"),
        (messages_events.Notice(t_s=1.0, level="error", code="c", text="Look."), "error", "Look."),
        (
            messages_events.LostEvents(t_s=1.0, first=3, last=5, why="spool full"),
            "warning",
            "Events 3 to 5 are missing: spool full",
        ),
    ],
)
def test_each_event_is_one_sentence(event: messages_events.Event, level: str, words: str):
    line = event_line(event, name="run x")  # type: ignore[arg-type]

    assert line is not None
    assert line.level == level
    assert with_plain_spaces(line.text) == words


def test_events_that_come_each_second_have_no_line():
    for event in (
        messages_events.Sample(t_s=1.0),
        messages_events.EpochStarted(t_s=1.0, fit=1, epoch=0),
        messages_events.EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=1.0),
        messages_events.GraphSize(t_s=1.0, fit=1, epoch=0, operations=1, traces=1, functions=1),
        messages_events.FieldSources(t_s=1.0, sources=[]),
    ):
        assert event_line(event, name="x") is None


def test_every_event_type_either_has_a_line_or_is_known_to_have_none():
    tags = {t.__struct_config__.tag for t in get_args(messages_events.AnyEvent)}
    silent = {"sample", "epoch_start", "epoch_end", "graph", "sources", "layout", "step_peak"}
    silent |= {"fold_start", "fold_progress", "objects", "resources"}
    assert set(LOG_KINDS) | silent == tags


def test_a_model_is_told_once_whatever_its_parts():
    model = messages_events.ModelFacts(
        t_s=1.0,
        fit=1,
        part=1,
        part_count=2,
        name="m",
        kind="Functional",
        n_layers=250,
        parameters=1_000_000,
        parameter_bytes=int(4 * MIB),
        optimizer="Adam",
        slot_bytes=int(8 * MIB),
    )
    bare = messages_events.ModelFacts(
        t_s=1.0, fit=1, part=1, part_count=1, name="m", kind="K", n_layers=1
    )
    second = messages_events.ModelFacts(
        t_s=1.0, fit=1, part=2, part_count=2, name="m", kind="K", n_layers=250
    )

    assert text_of(model) == (
        "Model m: 250 layers, 1 000 000 parameters (4.0 MiB), Adam state 8.0 MiB"
    )
    assert text_of(bare).startswith("Model m: 1 layer, ")
    assert "state" not in text_of(bare)
    assert event_line(second, name="x") is None


def test_a_reload_says_what_came_back_and_who_asked():
    text = text_of(reload_record())

    assert text.startswith("Reloaded after epoch 22 in 14.2 s · RAM 88.0 \u2192 47.0 GiB")
    assert "graph 29 200 \u2192 15 600" in text
    assert "state 312 MiB" in text
    assert text.endswith("requested by limit ram 80 GiB")


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ("limit ram 5.77765e+08", "limit ram 551 MiB"),
        ("limit vram 1.28849e+10", "limit vram 12 GiB"),
        ("limit graph 1e+06", "limit graph 1 000 000"),
        ("limit graph 50000", "limit graph 50 000"),
        ("limit ram 551 MiB", "limit ram 551 MiB"),
        ("limit ram 80%", "limit ram 80%"),
        ("limit ram 1e999", "limit ram 1e999"),
        ("anna", "anna"),
    ],
)
def test_limits_in_records_of_older_agents_are_named_by_sizes_too(stored: str, told: str):
    old = msgspec.structs.replace(reload_record(), requested_by=stored)

    assert text_of(old).endswith(f"requested by {told}")
    assert with_plain_spaces(record_origin_text(old)) == f"requested by {told}"
    fact = record_state(old, run_name="", moment="").facts[-1]
    assert (fact.title, with_plain_spaces(fact.text)) == ("Requested by", told)


def test_a_record_names_its_export_and_what_it_was_a_step_of():
    saved = text_of(msgspec.structs.replace(reload_record(), action="save", export="m.keras"))
    step = text_of(msgspec.structs.replace(reload_record(), part_of="auto"))

    assert "exported as m.keras" in saved
    assert "Reclaim" not in saved
    assert step.endswith("part of Auto")


def test_a_failed_action_is_a_warning_with_the_reason():
    line = event_line(reload_record(ok=False), name="x")

    assert line is not None
    assert (line.level, line.icon, line.is_action) == ("warning", "warning", True)
    assert with_plain_spaces(line.text).startswith("Reload failed after epoch 22")
    assert "the checkpoint folder is full" in line.text


def test_an_action_after_a_batch_names_the_step_and_unchanged_nothing_is_left_out():
    record = messages_events.ActionRecord(
        t_s=1.0,
        action="pause",
        ok=True,
        requested_by="",
        fit=1,
        epoch=2,
        seconds=0.1,
        step=40,
        before=Footprint(allocator_in_use_bytes=0.0),
        after=Footprint(allocator_in_use_bytes=0.0),
    )
    assert text_of(record) == "Paused in epoch 3, step 40"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("started", "Save + Clear + Reload started"),
        ("failed", "Save + Clear + Reload failed: no room"),
        ("refused", "Save + Clear + Reload was refused: no room"),
        ("expired", "Save + Clear + Reload arrived too late and was dropped: no room"),
    ],
)
def test_commands_are_told_when_they_begin_and_when_they_go_wrong(state: str, words: str):
    why = "" if state == "started" else "no room"
    event = messages_events.CommandProgress(t_s=1.0, id="c", name="reload", state=state, why=why)  # type: ignore[arg-type]

    line = event_line(event, name="x")

    assert line is not None
    assert line.text == words
    assert line.is_action


def test_commands_that_end_well_are_told_by_their_record_only():
    for name, state in (("reload", "done"), ("reload", "received"), ("set_limits", "started")):
        event = messages_events.CommandProgress(t_s=1.0, id="c", name=name, state=state)  # type: ignore[arg-type]
        assert event_line(event, name="x") is None
    bare = messages_events.CommandProgress(t_s=1.0, id="c", name="save", state="failed")
    assert text_of(bare) == "Save checkpoint failed"


def test_crossings_say_what_follows():
    def crossing(**more: object) -> str:
        fields = {"metric": "ram", "action": "reload", "value": 1.5 * GIB, "threshold": GIB}
        return text_of(messages_events.LimitCrossed(t_s=1.0, **{**fields, **more}))  # type: ignore[arg-type]

    assert crossing() == "RAM exceeded its limit of 1 GiB: 1.5 GiB; reload is next"
    assert crossing(action="notify") == "RAM exceeded its limit of 1 GiB: 1.5 GiB"
    assert "no action" in crossing(answered=False)
    assert crossing(crossed=False) == "RAM is back below its limit of 1 GiB"


def test_limits_and_faults_are_told():
    limits = [limit(), LimitSpec(metric="vram", fraction=0.8, action="notify")]
    assert text_of(messages_events.LimitsInForce(t_s=1.0, limits=limits)) == (
        "Active limits: RAM 128 GiB, reload, VRAM 80%, notify"
    )
    fault = messages_events.Fault(t_s=1.0, where="probe", count=2, text="OSError: x")
    assert text_of(fault).startswith("Internal kmonitor error in probe, 2 so far: OSError: x.")


def filled() -> EventLogState:
    log = EventLogState()
    log.add(3, messages_events.Paused(t_s=3.0, paused=True), run="r", name="x", wall_s=3.0)
    log.add(1, BOOT, run="r", name="x", wall_s=1.0)
    log.add(
        2,
        messages_events.Notice(t_s=2.0, level="warning", code="c", text="w"),
        run="r",
        name="x",
        wall_s=2.0,
    )
    return log


def test_the_log_is_newest_first_and_holds_each_row_once():
    log = filled()

    assert not log.add(3, BOOT, run="r", name="x", wall_s=3.0)
    assert not log.add(9, messages_events.Sample(t_s=1.0), run="r", name="x", wall_s=1.0)
    assert [row.row for row in log.rows()] == [3, 2, 1]


FINISHED = messages_events.SessionEnded(t_s=2.0, why="finished")
FAILED = messages_events.SessionDied(
    t_s=2.1, session="session", how="status", status=3, why="it exited with status 3"
)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1)], ids=["as it came", "older rows later"])
def test_what_a_process_could_not_know_of_its_end_is_told_once(order: tuple[int, ...]):
    log = EventLogState()
    events: dict[int, messages_events.AnyEvent] = {1: BOOT, 2: FINISHED, 3: FAILED}
    for row in order:
        log.add(row, events[row], run="run1", name="x", wall_s=float(row))
        log.add(row, events[row], run="run2", name="y", wall_s=row + 0.5) if row != 3 else None

    told = [row.line.text for row in log.rows() if row.run == "run1"]
    assert told[0] == "Process ended with exit status 3"
    assert len(told) == 2
    assert "Process finished" in [row.line.text for row in log.rows() if row.run == "run2"]


def test_a_process_that_finished_before_another_died_is_still_told():
    assert superseded_events([BOOT, FINISHED, BOOT, FAILED]) == set()
    assert superseded_events([BOOT, FINISHED, None, FAILED]) == {1}
    assert superseded_events(
        [BOOT, messages_events.SessionEnded(t_s=1.0, why="interrupted"), FAILED]
    ) == {1}
    assert (
        superseded_events([BOOT, messages_events.SessionEnded(t_s=1.0, why="stopped"), FAILED])
        == set()
    )


def test_the_filter_shows_warnings_or_actions_and_says_when_there_are_none():
    log = filled()

    log.filter = "warnings"
    assert [row.row for row in log.rows()] == [2]
    assert log.empty_text() == "No warnings."
    log.filter = "actions"
    assert [row.row for row in log.rows()] == [3]
    assert log.empty_text() == "No actions yet."
    log.filter = "all"
    log.forget({"r"})
    assert log.rows() == []
    assert log.empty_text() == "No events yet."


def test_the_oldest_rows_leave_a_full_log(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_ROWS", 2)
    assert [row.row for row in filled().rows()] == [3, 2]


def test_in_the_log_the_name_stands_beside_the_sentence_not_in_it():
    log = EventLogState()
    name = "n" * 120
    started = messages_events.SessionStarted(
        t_s=0.0, session="b", name=name, host="gpu-01", pid=7, started_wall_s=0.0
    )
    failed = messages_events.SessionEnded(
        t_s=9.0, why="failed", error_type="ValueError", message="no such file"
    )
    log.add(1, started, run="r", name=name, wall_s=0.0)
    log.add(2, failed, run="r", name=name, wall_s=9.0)

    rows = log.rows()

    assert [row.run_name for row in rows] == [name, name]
    assert rows[0].line.text.startswith("Process failed: ValueError")
    assert rows[1].line.text == "Process 7 started on gpu-01"


def test_lines_of_an_ended_run_that_is_looked_at_stand_first_and_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 3)
    log = EventLogState()
    for row in range(1, 5):
        log.add(row, BOOT, run="dead" if row < 3 else "busy", name="x", wall_s=float(row))

    was_complete = [not log.select_ended_run(run) for run in ("busy", "dead", "dead")]
    log.add(1, BOOT, run="dead", name="x", wall_s=1.0)  # as the hub sends it again
    log.add(9, BOOT, run="busy", name="x", wall_s=9.0)

    assert was_complete == [True, False, True]
    assert [(row.run, row.row) for row in log.rows()] == [("dead", 2), ("dead", 1), ("busy", 9)]

    log.select_ended_run("")
    assert [(row.run, row.row) for row in log.rows()] == [("busy", 9), ("dead", 2), ("dead", 1)]


def test_a_collect_of_a_run_without_a_fit_names_no_epoch():
    record = messages_events.ActionRecord(
        t_s=5.0, action="collect", ok=True, requested_by="script", fit=0, epoch=0, seconds=0.1
    )

    assert record_summary(record).startswith("Collected without a fit in")
    assert record_state(record, run_name="r", moment="").subtitle == "r · without a fit"
