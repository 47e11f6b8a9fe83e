import pytest

from kmonitor.cli.show.sections import EPOCHS_SHOWN, print_epochs
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import EpochEnded, Event, GraphSize
from kmonitor_agent.wire.messages.unions import EventRow


def printed(capsys: pytest.CaptureFixture[str], *events: Event) -> str:
    rows = [
        EventRow(row=n, run="r", seq=n, t_s=float(n), body=encode_event(event))
        for n, event in enumerate(events, 1)
    ]
    print_epochs(rows)
    return capsys.readouterr().out


def epoch(number: int, **logs: float) -> EpochEnded:
    return EpochEnded(t_s=1.0, fit=1, epoch=number, seconds=2.0, steps=47, logs=logs)


def graph(number: int, operations: int) -> GraphSize:
    return GraphSize(t_s=1.0, fit=1, epoch=number, operations=operations, traces=1, functions=9)


def test_epochs_count_from_one_and_logs_have_columns(capsys: pytest.CaptureFixture[str]):
    out = printed(capsys, epoch(0, loss=0.5, acc=0.25))

    assert [word for word in ("loss", "acc", "0.5", "0.25", "47") if word not in out] == []
    assert out.splitlines()[-1].split()[:2] == ["1", "1"]


def test_a_reload_at_an_epochs_end_does_not_hide_what_it_grew_to(
    capsys: pytest.CaptureFixture[str],
):
    out = printed(capsys, graph(0, 5), epoch(0), graph(0, 812), graph(0, 44))

    assert "812" in out
    assert "44" not in out


def test_many_epochs_are_cut_to_the_newest_and_it_says_so(capsys: pytest.CaptureFixture[str]):
    out = printed(capsys, *(epoch(number) for number in range(EPOCHS_SHOWN + 5)))

    assert "5 earlier epochs" in out
    assert len(out.splitlines()) == EPOCHS_SHOWN + 3


def test_without_an_epoch_there_is_no_table(capsys: pytest.CaptureFixture[str]):
    assert printed(capsys, graph(0, 5)) == ""
