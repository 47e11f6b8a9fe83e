"""Reclaimed memory: rows, facts, tooltips and copied text."""

from typing import Any

import msgspec

from kmonitor.ui.events.action_records import record_tooltip
from kmonitor.ui.events.reclaims import (
    MAX_ROWS,
    ReclaimRow,
    ReclaimStore,
    no_reclaims_text,
    reclaim_columns,
    reclaims_as_text,
)
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.events import ActionRecord, Footprint
from tests.support.made_up_runs import reload_record

HELD = ["12 traces held by `my_step`", "3 custom gradients of a nested graph", "`<lambda>`"]


def record(**changed: Any) -> ActionRecord:
    """A reload by `auto` that let go of much."""
    fields: dict[str, Any] = {
        "mode": "assign",
        "part_of": "auto",
        "released_traces": 16,
        "released_models": 3,
        "held": HELD,
        "variables": 214,
    }
    return msgspec.structs.replace(reload_record(), **{**fields, **changed})


def row_of(one: ActionRecord) -> ReclaimRow:
    book = ReclaimStore()
    book.add("run", 7, one, wall_s=0.0)
    return book.rows("run")[0]


def cell(one: ActionRecord, key: str) -> str:
    at = [column.key for column in reclaim_columns()].index(key)  # type: ignore[arg-type]
    return with_plain_spaces(row_of(one).cells[at].text)


def test_a_row_tells_what_was_done_what_came_back_and_who_holds_the_rest():
    one = record()

    assert cell(one, "when").endswith("epoch 22")
    assert cell(one, "level") == "Reload (assign), Auto"
    assert cell(one, "ram") == "88.0 → 47.0 GiB"
    assert cell(one, "allocator") == "60.4 → 31.6 GiB"
    assert cell(one, "graph") == "29 200 → 15 600"
    assert cell(one, "functions") == "\u2013"
    assert cell(one, "seconds") == "14.2 s"
    assert cell(one, "released") == "16 traces of 3 models"
    assert cell(one, "held") == "12 traces held by `my_step` (+2 more)"
    assert cell(one, "result") == "done"
    assert cell(one, "asked") == "limit ram 80 GiB"


def test_a_step_and_single_things_are_told_as_people_count():
    one = record(step=512, released_traces=1, released_models=1, held=HELD[:1], part_of="")

    assert cell(one, "when").endswith("epoch 22.512")
    assert cell(one, "level") == "Reload (assign)"
    assert cell(one, "released") == "1 trace of 1 model"
    assert cell(one, "held") == HELD[0]
    assert cell(record(released_models=0), "released") == "16 traces"
    mixed = record(disused_traces=2)
    assert cell(mixed, "released") == "14 traces of 3 models, 2 no longer used"
    disused = record(released_models=0, disused_traces=16)
    assert cell(disused, "released") == "16 traces no longer used"


def test_what_failed_says_why_and_in_which_tone():
    failed = row_of(record(ok=False, after=None, why="the disk is full"))
    result = failed.cells[[column.key for column in reclaim_columns()].index("result")]

    assert not failed.ok
    assert (result.text, result.tone) == ("failed: the disk is full", "warn")
    assert {each.tone for each in failed.cells[3:7]} == {"mute"}
    assert cell(record(why="assigned instead"), "result") == "done: assigned instead"
    exported = record(action="save", export="m.keras")
    assert cell(exported, "result") == "done, exported as m.keras"
    assert "exported as m.keras" in row_of(exported).tooltip


def test_a_save_measures_nothing_and_releases_nothing():
    save = record(action="save", after=None, released_traces=0, held=[], mode="", part_of="")

    assert cell(save, "level") == "Save"
    assert cell(save, "released") == cell(save, "held") == cell(save, "ram") == "\u2013"
    restart = record(action="restart", released_traces=0, released_models=0)
    assert cell(restart, "released") == "\u2013"
    collect = record(action="collect", released_traces=0, released_models=0, held=[])
    assert cell(collect, "released") == "nothing"


def test_rows_are_newest_first_and_each_is_there_once():
    book = ReclaimStore()
    assert book.add("run", 9, record(), wall_s=5.0)
    assert book.add("run", 3, record(action="save"), wall_s=1.0)
    assert not book.add("run", 9, record(), wall_s=5.0)
    assert not book.add("run", 10, record(action="pause"), wall_s=6.0)
    assert not book.add("run", 11, record(action="diagnose"), wall_s=6.0)
    book.add("other", 12, record(action="restart"), wall_s=7.0)

    assert [row.row for row in book.rows("run")] == [9, 3]
    assert [row.icon for row in book.rows("other")] == ["restart"]
    book.forget({"run"})
    assert not book.rows("run")


def test_a_full_book_lets_the_oldest_go():
    book = ReclaimStore()
    for row in range(MAX_ROWS + 2):
        book.add("run", row, record(), wall_s=0.0)

    assert len(book.rows("run")) == MAX_ROWS
    assert book.rows("run")[-1].row == 2


def test_columns_are_sorted_by_what_they_measure_not_by_their_text():
    keys = [column.key for column in reclaim_columns()]
    small = row_of(record(after=Footprint(ram_process_bytes=87 * 2**30), seconds=9.0))
    large = row_of(record(seconds=10.0))

    unknown = row_of(record(after=None))

    for key, rows in (("ram", [unknown, small, large]), ("seconds", [small, large])):
        orders = [float(row.cells[keys.index(key)].sort_value) for row in rows]  # type: ignore[arg-type]
        assert orders == sorted(set(orders))
    for at in range(len(keys)):
        assert type(small.cells[at].sort_value) is type(large.cells[at].sort_value)


def test_the_copied_table_is_whole_and_one_line_a_record():
    text = reclaims_as_text([row_of(record()), row_of(record(ok=False, why="full"))])
    head, first, second = text.splitlines()

    assert head.split("\t")[:3] == ["When", "Action", "Duration"]
    assert "; ".join(HELD) in first
    assert "as part of Auto" in first
    assert "failed: full" in second
    assert len(first.split("\t")) == len(second.split("\t")) == len(reclaim_columns())
    assert "\u202f" not in text


def test_a_record_in_full_lists_everything():
    book = ReclaimStore()
    book.add("run", 7, record(checksum="crc32:9f3a", export="m.keras"), wall_s=0.0)
    full = book.full("run", 7, run_name="my run")
    assert full is not None
    text = full.as_text()

    assert full.title == "Reload (assign)"
    assert "my run · fit 1, after epoch 22" in text
    for each in (*HELD, "214 variables, 312 MiB", "crc32:9f3a", "m.keras", "epoch-22.npz"):
        assert each in text
    assert "Requested by: limit ram 80 GiB, as part of Auto" in text
    assert book.full("run", 8, run_name="") is None
    assert book.full("other", 7, run_name="") is None


def test_a_bare_record_in_full_says_what_is_not_known():
    book = ReclaimStore()
    bare = ActionRecord(
        t_s=1.0, action="collect", ok=False, requested_by="", fit=1, epoch=0, seconds=0.1, why="no"
    )
    book.add("run", 1, bare, wall_s=0.0)
    full = book.full("run", 1, run_name="r")
    assert full is not None

    assert full.title == "Collect failed"
    facts = {fact.title: fact.text for fact in full.facts}
    assert facts["Result"] == "failed: no"
    assert facts["Released"] == "nothing was retained"
    assert facts["Requested by"] == "not known"


def test_the_tooltip_is_short_whatever_is_held():
    held = ["x" * 300, *HELD, "more", "and more"]
    lines = record_tooltip(record(held=held), moment="11:02:03").splitlines()

    assert with_plain_spaces(lines[0]) == "Reload (assign) after epoch 22 · 11:02:03"
    assert "RAM 88.0 → 47.0 GiB" in [with_plain_spaces(line) for line in lines]
    assert "took 14.2 s, released 16 traces of 3 models" in [
        with_plain_spaces(line) for line in lines
    ]
    assert "and 2 more" in lines
    assert lines[-1] == "requested by limit ram 80 GiB, as part of Auto"
    assert max(map(len, lines)) < 120
    failed = record_tooltip(record(ok=False, after=None, why="disk full"))
    assert failed.startswith("Reload (assign) failed")
    assert "disk full" in failed


def test_an_empty_table_teaches_what_fills_it():
    assert "press Collect (the lightest action) on the right" in no_reclaims_text(
        ["save", "collect", "reload"]
    )
    assert "Press Reload on the right" in no_reclaims_text(["reload"])
    assert no_reclaims_text([]).startswith("Nothing has been reclaimed")
