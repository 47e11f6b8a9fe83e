"""Old runs go bit by bit: by age, by size, never a pinned one and never one that lives."""

import os

import pytest

from kmonitor.cli.main import main
from kmonitor.hub.health import HubHealth
from kmonitor.hub.options import KEEP_NAME, Keep, load_keep_or_default, save_keep
from kmonitor.hub.runs.retention import Retention
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import WallClockCheck
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import SessionEnded
from tests.support.hub_parts import HubParts, on_both_stores
from tests.support.links import sample

_DAY_S = 86400.0


def ended_run(parts: HubParts, samples: int = 10) -> RunRecord:
    record = parts.started_run(pid=os.getpid())
    parts.take(record, *(sample(n) for n in range(samples)), SessionEnded(t_s=9.0, why="finished"))
    parts.clock.move(0.1)
    assert parts.event_log.commit()
    return record


def kept_by(parts: HubParts, keep: Keep) -> Retention:
    doubt = WallClockCheck(parts.clock, parts.folders.database)
    may_go = lambda record: record.note == "abandoned"  # noqa: E731 - a condition of one line
    return Retention(parts.event_log, keep, parts.clock, may_go, doubt)


def let_pass(parts: HubParts, days: int) -> None:
    """Time, on a hub that looks at the clock again and again."""
    doubt = WallClockCheck(parts.clock, parts.folders.database)
    for _ in range(48 * days + 1):
        doubt.believes()
        parts.clock.move(1800.0)


def settle(parts: HubParts, retention: Retention) -> int:
    """Let it work until nothing more changes; steps that were needed."""
    for n in range(1000):
        parts.clock.move(0.1)
        before = retention.removed
        retention.step()
        parts.event_log.commit()
        if not parts.database.sweep() and retention.removed == before:
            return n
    raise AssertionError("it never settled")


def names(parts: HubParts) -> set[str]:
    return {record.run for record in parts.event_log.registry.all()}


def test_without_a_bound_everything_stays(parts: HubParts):
    record = ended_run(parts)
    parts.clock.move(3650 * _DAY_S)

    settle(parts, kept_by(parts, Keep()))

    assert names(parts) == {record.run}


@on_both_stores
def test_runs_that_ended_long_ago_go_and_no_others(parts: HubParts):
    old, pinned = ended_run(parts), ended_run(parts)
    pinned.pinned = True
    living = parts.started_run(pid=os.getpid())
    let_pass(parts, days=31)
    young = ended_run(parts)

    retention = kept_by(parts, Keep(days=30))
    settle(parts, retention)

    assert names(parts) == {pinned.run, living.run, young.run}
    assert retention.removed == 1
    assert not parts.database.bodies(old.key, 1, 100)
    assert parts.database.bodies(young.key, 1, 100)


def test_no_run_goes_for_a_clock_that_stepped(parts: HubParts, caplog: pytest.LogCaptureFixture):
    record = ended_run(parts)
    let_pass(parts, days=2)
    retention = kept_by(parts, Keep(days=30))

    parts.clock.jump_wall(400 * _DAY_S)
    with caplog.at_level("INFO", logger="kmonitor.hub"):
        settle(parts, retention)
        settle(parts, retention)

    assert names(parts) == {record.run}
    assert caplog.text.count("the clock stepped") == 1
    parts.clock.jump_wall(-400 * _DAY_S)
    let_pass(parts, days=27)
    settle(parts, kept_by(parts, Keep(days=30)))
    assert names(parts) == {record.run}
    let_pass(parts, days=3)
    settle(parts, kept_by(parts, Keep(days=30)))
    assert names(parts) == set()


@on_both_stores
def test_above_the_size_the_oldest_go_until_it_fits(parts: HubParts):
    runs = [ended_run(parts, samples=2000) for _ in range(5)]
    full = parts.event_log.used_bytes

    retention = kept_by(parts, Keep(n_bytes=full // 2))
    settle(parts, retention)

    left = names(parts)
    assert parts.event_log.used_bytes <= full // 2
    assert 1 <= len(left) < 5
    assert left == {run.run for run in runs[-len(left) :]}


def test_what_was_removed_is_given_back_to_the_disk(parts: HubParts):
    for _ in range(4):
        ended_run(parts, samples=2000)
    full = parts.database.size_bytes()

    settle(parts, kept_by(parts, Keep(n_bytes=1)))
    for _ in range(20):
        parts.database.release_pages(256)

    parts.reopen()
    assert parts.database.size_bytes() < full / 3


@on_both_stores
def test_one_run_goes_at_a_time_and_its_events_bit_by_bit(parts: HubParts):
    for _ in range(3):
        ended_run(parts)
    let_pass(parts, days=31)
    retention = kept_by(parts, Keep(days=30))

    retention.step()
    retention.step()

    assert retention.removed == 1


@on_both_stores
def test_it_is_written_down_what_went_and_why(parts: HubParts, caplog: pytest.LogCaptureFixture):
    record = ended_run(parts)
    let_pass(parts, days=31)
    with caplog.at_level("INFO", logger="kmonitor.hub"):
        settle(parts, kept_by(parts, Keep(days=30)))

    assert record.run in caplog.text
    assert "the limit is 30" in caplog.text
    rows, _ = parts.database.audit_rows(before=0, limit=100)
    assert ("hub", "delete", record.run) in [(row.who, row.what, row.run) for row in rows]


def test_an_abandoned_run_may_go_too(parts: HubParts):
    record = parts.started_run(pid=os.getpid())
    record.note = "abandoned"
    let_pass(parts, days=31)

    settle(parts, kept_by(parts, Keep(days=30)))

    assert names(parts) == set()


def test_what_is_kept_stands_in_the_settings(folders: Folders):
    assert load_keep_or_default(folders) == Keep()
    save_keep(folders, Keep(days=30, n_bytes=20 * 2**30))
    assert load_keep_or_default(folders) == Keep(days=30, n_bytes=20 * 2**30)


def condition_of(parts: HubParts, folders: Folders, retention: Retention) -> HubHealth:
    return HubHealth(folders, parts.event_log, retention, is_fixed=False)


def test_of_settings_that_cannot_be_read_at_the_start_all_is_kept_and_it_is_said(
    parts: HubParts, folders: Folders, capsys: pytest.CaptureFixture[str]
):
    folders.settings.mkdir(parents=True)
    (folders.settings / KEEP_NAME).write_text('{"days": "x"}')
    retention = kept_by(parts, Keep())
    condition = condition_of(parts, folders, retention)

    condition.refresh()

    (trouble,) = condition.troubles()
    assert "hub.json cannot be read (Expected" in trouble
    assert "all history is kept until a new limit is set" in trouble
    assert (retention.keep, load_keep_or_default(folders)) == (Keep(), Keep())
    assert main(["hub", "keep"]) == 0
    said = capsys.readouterr()
    assert "set it again: kmonitor hub keep --keep-days N" in said.err
    assert "All history is kept" in said.out


def test_bounds_that_were_read_count_on_while_the_settings_cannot_be_read(
    parts: HubParts, folders: Folders
):
    save_keep(folders, Keep(days=30))
    retention = kept_by(parts, Keep())
    condition = condition_of(parts, folders, retention)
    condition.refresh()
    (folders.settings / KEEP_NAME).write_bytes(b"\xff")
    condition.refresh()

    assert retention.keep == Keep(days=30)
    assert "the previous setting applies" in condition.troubles()[0]
    (folders.settings / KEEP_NAME).unlink()
    condition.refresh()
    assert retention.keep == Keep()
    assert condition.troubles() == []


def test_bounds_of_the_command_line_count_whatever_the_settings_say(
    parts: HubParts, folders: Folders
):
    save_keep(folders, Keep(days=30))
    retention = kept_by(parts, Keep(days=7))
    condition = HubHealth(folders, parts.event_log, retention, is_fixed=True)
    (folders.settings / KEEP_NAME).write_bytes(b"\xff")

    condition.refresh()

    assert (retention.keep, condition.troubles()) == (Keep(days=7), [])


@on_both_stores
def test_a_run_tells_about_how_much_it_takes(parts: HubParts):
    before = parts.event_log.used_bytes
    record = ended_run(parts, samples=5000)
    grown = parts.event_log.used_bytes - before

    assert 0.7 < record.summary().stored_bytes / grown < 1.3
