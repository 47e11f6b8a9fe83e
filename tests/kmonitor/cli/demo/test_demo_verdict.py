import pytest
from msgspec.structs import replace

from kmonitor.cli.demo.command import print_comparison
from kmonitor.cli.demo.evidence import evidence_in_events, growth_per_model, missing
from kmonitor.demo.reports import FoldDone, as_line, from_line
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    AnyEvent,
    EpochEnded,
    Footprint,
    GraphSize,
    LimitCrossed,
    Verdict,
)


def fold(number: int, operations: int, digest: str = "") -> FoldDone:
    return FoldDone(
        fold=number,
        seconds=1.0,
        operations=operations,
        functions=9,
        ram_bytes=100,
        accuracy=0.9,
        digest=digest or f"d{number}",
    )


def reload(*, ok: bool = True, after: int = 100) -> ActionRecord:
    return ActionRecord(
        t_s=5.0,
        action="reload",
        ok=ok,
        requested_by="limit graph",
        fit=4,
        epoch=0,
        seconds=0.3,
        before=Footprint(graph_operations=400),
        after=Footprint(graph_operations=after),
        why="" if ok else "no space",
    )


CROSSING = LimitCrossed(t_s=4.0, metric="graph", action="reload", value=400, threshold=350)
AFTER = EpochEnded(t_s=9.0, fit=4, epoch=1, seconds=1.0)
PLAIN = [fold(1, 100), fold(2, 200), fold(3, 300), fold(4, 400)]
OURS = [fold(1, 100), fold(2, 200), fold(3, 300), fold(4, 100)]
GOOD: list[AnyEvent] = [CROSSING, reload(), AFTER]


def lacking(events: list[AnyEvent], plain: list[FoldDone] | None = PLAIN) -> str:
    return " | ".join(missing(evidence_in_events(events), OURS, plain))


def test_nothing_is_missing_when_all_was_seen():
    assert lacking(GOOD) == ""


def test_a_missing_crossing_record_or_continuation_is_named():
    assert "crossing" in lacking([reload(), AFTER])
    assert "no reload" in lacking([CROSSING, AFTER])
    assert "after the reload" in lacking([CROSSING, reload()])


def test_a_reload_that_failed_or_gave_nothing_back_is_no_record():
    assert "no space" in lacking([CROSSING, reload(ok=False), AFTER])
    assert "no memory was freed" in lacking([CROSSING, reload(after=400), AFTER])


def test_a_graph_that_does_not_grow_is_named():
    assert "growth" in lacking(GOOD, [fold(n, 100) for n in range(1, 5)])


def test_a_model_that_differs_is_named_by_its_number():
    different = [*PLAIN[:2], fold(3, 300, "else"), PLAIN[3]]

    assert "model 3 differs" in lacking(GOOD, different)


def test_models_that_are_lacking_are_no_equality():
    assert "4 models with kmonitor, 3 without" in lacking(GOOD, PLAIN[:3])


def test_alone_nothing_is_compared():
    assert lacking(GOOD, None) == ""


def test_growth_is_the_mean_of_what_each_further_model_added():
    assert growth_per_model(PLAIN) == 100


def test_the_peak_is_the_largest_count():
    sizes = [
        GraphSize(t_s=1.0, fit=1, epoch=0, operations=n, traces=1, functions=1) for n in (5, 9, 2)
    ]

    assert evidence_in_events([*sizes]).peak_operations == 9


def test_the_demo_ends_with_the_verdict_on_the_graph_size(capsys: pytest.CaptureFixture[str]):
    verdict = Verdict(t_s=9.0, metric="graph", state="rising", per="fit", cause="rebuilt")

    shown = evidence_in_events(GOOD, [replace(verdict, metric="ram", cause=""), verdict])
    print_comparison(shown, OURS, PLAIN, run="a" * 32)

    said = "The verdict on the graph size: rising, not judged: models, optimizers or train"
    assert said in capsys.readouterr().out


def test_a_report_survives_the_pipe_and_other_output_is_no_report():
    assert from_line(as_line(PLAIN[0])) == PLAIN[0]
    assert from_line("Epoch 1/5") is None
    assert from_line('{"told": "nonsense"}') is None
