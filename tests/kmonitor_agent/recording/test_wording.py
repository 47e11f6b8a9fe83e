"""Records print what changed, in units for people."""

import msgspec
import pytest

from kmonitor_agent.recording.action_results import ActionResult, ActionResults
from kmonitor_agent.wire.messages.events import ActionRecord, Footprint

RELOAD = ActionRecord(
    t_s=5.0,
    action="reload",
    ok=True,
    requested_by="limit ram 80%",
    fit=1,
    epoch=2,
    seconds=1.25,
    before=Footprint(ram_process_bytes=731 * 2**20, graph_operations=31_900, functions=700),
    after=Footprint(ram_process_bytes=598 * 2**20, graph_operations=769, functions=28),
    variables=16,
    state_bytes=1_536,
    checkpoint="000001.h5",
    released_traces=12,
    released_models=6,
    held=["2 traces held by my_step (user tf.function)"],
)


def test_record_says_what_was_done_and_what_it_gave_back():
    assert str(ActionResult(RELOAD)).splitlines() == [
        "Save + clear + reload done in 1.25 s (fit 1, epoch 3, requested by limit ram 80%)",
        "  saved 16 variables, 1.5 KiB, as 000001.h5",
        "  graph 31 900 -> 769",
        "  functions 700 -> 28",
        "  RAM 731.0 MiB -> 598.0 MiB",
        "  released 12 traces",
        "  2 traces held by my_step (user tf.function)",
    ]


@pytest.mark.parametrize(
    ("traces", "models", "disused", "words"),
    [
        (1, 1, 0, "1 trace of 1 dead model"),
        (12, 6, 0, "12 traces of 6 dead models"),
        (2, 0, 0, "2 traces"),
        (2, 0, 2, "2 traces no longer used by any model"),
        (5, 2, 1, "4 traces of 2 dead models and 1 no longer used by any model"),
    ],
)
def test_collect_counts_what_it_released(traces: int, models: int, disused: int, words: str):
    collect = ActionRecord(
        t_s=5.0,
        action="collect",
        ok=True,
        requested_by="ada",
        fit=1,
        epoch=0,
        seconds=0.1,
        released_traces=traces,
        released_models=models,
        disused_traces=disused,
    )

    assert str(ActionResult(collect)).splitlines()[1:] == [f"  released {words}"]


def test_record_says_when_the_variables_were_made_anew():
    head, *_ = str(ActionResult(msgspec.structs.replace(RELOAD, mode="recreate"))).splitlines()

    assert head.startswith("Save + clear + reload, variables recreated, done in 1.25 s")


def test_record_of_a_failure_says_why():
    failed = ActionRecord(
        t_s=5.0,
        action="save",
        ok=False,
        requested_by="ada",
        fit=1,
        epoch=0,
        seconds=0.0,
        why="full",
    )

    assert repr(ActionResult(failed)).splitlines() == [
        "Save failed in 0.00 s (fit 1, epoch 1, requested by ada)",
        "  full",
    ]
    assert (ActionResult(failed).ok, ActionResult(failed).why, ActionResult(failed).action) == (
        False,
        "full",
        "save",
    )


def test_records_print_one_after_the_other():
    assert repr(ActionResults()) == "nothing has been done yet"
    assert (
        repr(ActionResults([ActionResult(RELOAD), ActionResult(RELOAD)])).count("Save + clear")
        == 2
    )
