"""Parts of an epoch's time, as text."""

from kmonitor.ui.runs.epoch_parts import part_rows, parts_text
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.events import CallbackTime, EpochParts

PARTS = EpochParts(
    wall_s=2.0,
    input_s=1.0,
    compute_s=0.4,
    callbacks_s=0.5,
    rest_s=0.1,
    ours_s=0.001,
    timed=1.0,
    callbacks=[CallbackTime("Recorder", 0.49), CallbackTime("History", 0.001)],
)


def test_parts_are_listed_with_their_part_and_their_callbacks():
    rows = [(row.title, row.seconds, row.part, row.callbacks) for row in part_rows(PARTS)]

    assert [(title, seconds, part) for title, seconds, part, _ in rows] == [
        ("waiting for input", 1.0, 0.5),
        ("compute", 0.4, 0.2),
        ("callbacks", 0.5, 0.25),
        ("other", 0.1, 0.05),
    ]
    assert [each.name for each in rows[2][3]] == ["Recorder"]


def test_callbacks_that_save_are_listed_with_checkpoints():
    parts = EpochParts(
        wall_s=2.0,
        callbacks_s=0.5,
        checkpoints_s=1.5,
        callbacks=[CallbackTime("ModelCheckpoint", 1.5, saves=True), CallbackTime("Log", 0.5)],
    )

    listed = {row.name: [each.name for each in row.callbacks] for row in part_rows(parts)}

    assert listed == {"callbacks": ["Log"], "checkpoints": ["ModelCheckpoint"]}


def test_largest_part_comes_first_in_a_line():
    text = with_plain_spaces(parts_text(PARTS))

    assert text == "waiting for input 50%, callbacks 25%, compute 20%, other 5%"


def test_compute_says_that_input_is_in_it_where_that_is_not_known():
    parts = EpochParts(wall_s=1.0, compute_s=1.0)

    assert [row.title for row in part_rows(parts)] == ["compute and waiting for input"]
