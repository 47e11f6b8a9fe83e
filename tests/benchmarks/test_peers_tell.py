"""Tests of the table that compares the findings of each tool: its rule, wording and readers."""

import struct
from pathlib import Path

from tests.benchmarks.peers.summary import costs, ticks
from tests.benchmarks.peers.tell.moved import Move, moves, noise
from tests.benchmarks.peers.tell.wording import moved_text, new_lines, quoted
from tests.benchmarks.peers.watched import reading

FLAT = [100.0, 101.0, 99.0, 100.0, 101.0, 99.0, 100.0, 101.0, 99.0]
RISING = [100.0 + 10.0 * n for n in range(9)]


def test_what_rises_where_a_healthy_training_stays_flat_has_moved():
    found = moves({"rss": RISING}, {"rss": FLAT})

    assert found == [Move("rss", 115.0, 175.0)]


def test_what_a_healthy_training_does_too_has_not_moved():
    assert moves({"loss": RISING}, {"loss": [value + 5.0 for value in RISING]}) == []


def test_what_scatters_as_far_in_a_healthy_training_has_not_moved():
    wild = [100.0, 180.0, 20.0, 100.0, 180.0, 20.0, 100.0, 180.0, 20.0]

    assert moves({"cpu": RISING}, {"cpu": wild}) == []


def test_what_slows_down_to_half_has_moved_though_a_healthy_rate_scatters_more_steps_than_that():
    found = moves({"rate": [120.0, 118.0, 122.0, 60.0, 61.0, 59.0]}, {"rate": [580.0, 660.0] * 5})

    assert [(each.first, each.last) for each in found] == [(118.0, 59.0)]


def test_a_small_part_is_no_move_however_quiet_the_healthy_one_is():
    assert moves({"rss": [1000.0, 1000.0, 1040.0]}, {"rss": [1000.0] * 9}) == []


def test_a_series_of_too_few_points_cannot_move():
    assert moves({"rss": [1.0, 9.0]}, {}) == []


def test_what_a_healthy_training_lacks_has_no_noise_and_what_begins_at_zero_comes_last():
    found = moves({"kept": [0.0, 1.0, 5.0], "rss": RISING}, {"rss": FLAT})

    assert noise(()) == 0.0
    assert [each.name for each in found] == ["rss", "kept"]


def test_lines_that_differ_in_numbers_and_paths_alone_are_not_new():
    known = ["epoch 1: 12.5 MiB in /tmp/a/run-1", "\x1b[1mtool\x1b[0m: ▁▂▃"]
    lines = ["epoch 30: 99 MiB in /tmp/b/run-2", "tool: ▅▅▁", "leak suspected", "leak suspected"]

    assert new_lines(lines, known) == ["leak suspected"]


def test_a_cell_names_the_numbers_and_tells_of_those_left_out():
    found = [Move("ram_bytes", 2.0**20, 2.0**21), *(Move(f"n{n}", 1.0, 2.0) for n in range(5))]

    assert moved_text(found).startswith("`ram_bytes` 1 MiB → 2 MiB, `n0` 1 → 2")
    assert moved_text(found).endswith("1 more")
    assert moved_text([]) == "none"


def test_a_quotation_has_no_folder_of_this_machine_and_breaks_no_table():
    assert quoted(["killed (/sys/fs/group/oom) | told"], "nothing") == "“killed (…/oom) \\| told”"
    assert quoted([], "nothing") == "nothing"


def test_records_of_wandb_are_whole_across_its_blocks():
    first, long = b"first", b"x" * 40_000
    room = 32768 - 7 - (7 + len(first)) - 7
    data = b":W&B\xe1\xbe\x00" + _part(first, 1) + _part(long[:room], 2) + _part(long[room:], 4)

    assert list(reading.records(data)) == [first, long]


def test_a_record_of_wandb_that_was_cut_off_is_left_out():
    data = b":W&B\xe1\xbe\x00" + _part(b"first", 1) + _part(b"second", 1)[:-2]

    assert list(reading.records(data)) == [b"first"]


def test_lines_written_by_hand_are_read_as_series(tmp_path: Path):
    lines = "0 {'loss': 0.5} 700 MiB\n1 {'loss': 0.25} 720 MiB\n"
    (tmp_path / "said.txt").write_text(lines)

    series, ended = reading.by_hand(tmp_path)

    assert series == {"loss": [0.5, 0.25], "RSS, MiB": [700.0, 720.0]}
    assert ended == ""


def _part(data: bytes, kind: int) -> bytes:
    return struct.pack("<IHB", 0, len(data), kind) + data


def test_the_summary_has_a_tick_for_each_thing_that_a_tool_did():
    told = (
        "| training | tool | numbers | said | done |\n| --- | --- | --- | --- | --- |\n"
        "| hang | ours | `ram` 1 | nothing | stopped |\n"
        "| hang | other | none | \u201clate\u201d | none found in the documentation |\n"
    )

    assert ticks(told).splitlines()[2] == "| hang | \u2713 \u2013 \u2713 | \u2013 \u2713 \u2013 |"


def test_the_summary_has_the_cost_of_each_tool():
    time = "| t |\n| - |\n| ours | 482 | 0.9 (0.8 to 1.1) | 112 | 0.15 | 1.2 |"
    space = "| t |\n| - |\n| ours | +9 | 0 | +3 | 9.4 |"

    assert costs(time, space).splitlines()[2] == "| kmonitor | 0.9 | 0.15 | +9 | 9.4 |"
