"""Output of `kmonitor show` on verdicts while a long run is still being read."""

import pytest
from msgspec.structs import replace

from kmonitor.cli.common.event_text import EpochMemory, event_lines
from kmonitor.cli.show.sections import print_verdicts
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.events import KeptObjects, Verdict
from kmonitor_agent.wire.messages.unions import VerdictsReply
from tests.support.made_up_runs import made_up_row, made_up_run

STEADY = Verdict(t_s=1.0, metric="ram", state="steady", per="epoch", units=20)


@pytest.mark.parametrize(
    ("verdicts", "known"), [([], "none stored so far"), ([STEADY], "as stored so far")]
)
def test_a_part_says_that_it_is_one(
    capsys: pytest.CaptureFixture[str], verdicts: list[Verdict], known: str
):
    reply = VerdictsReply(request_id=1, run="r", verdicts=verdicts, unread=2_900_000)
    print_verdicts(made_up_run(), reply)

    text = capsys.readouterr().out
    assert f"{known}; 2 900 000 samples are being read: try again in a minute" in text
    assert ("steady" in text) == bool(verdicts)


def test_nothing_is_said_where_nothing_is_known_or_to_come(capsys: pytest.CaptureFixture[str]):
    print_verdicts(made_up_run(), VerdictsReply(request_id=1, run="r"))

    assert capsys.readouterr().out == ""


def test_a_long_name_is_apart_from_what_is_said(capsys: pytest.CaptureFixture[str]):
    growing = Verdict(t_s=1.0, metric="open_files", state="growing", per="epoch", units=20)
    print_verdicts(made_up_run(), VerdictsReply(request_id=1, run="r", verdicts=[growing]))

    assert "Open file descriptors growing" in capsys.readouterr().out


SLOWER = Verdict(
    t_s=1.0,
    metric="step_time",
    state="growing",
    per="epoch",
    units=20,
    since=9,
    cause="unknown",
    where="compute",
    ruled_out=["callbacks", "traces", "busy"],
)


def verdict_text(capsys: pytest.CaptureFixture[str], *verdicts: Verdict) -> str:
    print_verdicts(made_up_run(), VerdictsReply(request_id=1, run="r", verdicts=list(verdicts)))
    return " ".join(capsys.readouterr().out.split())


def test_causes_that_two_verdicts_rule_out_are_listed_once(capsys: pytest.CaptureFixture[str]):
    text = verdict_text(capsys, STEADY, SLOWER, replace(SLOWER, metric="epoch_time"))

    assert text.count("ruled out: callbacks, traces, waiting for a CPU") == 1
    assert "Epoch time slower since epoch 9: more time is spent on compute; cause unknown;" in text
    assert text.count("; ruled out: as above") == 1


def test_causes_that_only_one_verdict_rules_out_are_listed(capsys: pytest.CaptureFixture[str]):
    text = verdict_text(
        capsys, SLOWER, replace(SLOWER, metric="epoch_time", ruled_out=["callbacks"])
    )

    assert text.count("ruled out: callbacks") == 2
    assert "as above" not in text


def test_causes_that_were_not_ruled_out_are_said_not_to_be(capsys: pytest.CaptureFixture[str]):
    text = verdict_text(capsys, SLOWER)
    early = verdict_text(capsys, replace(SLOWER, state="rising", since=0))

    assert "; not excluded: memory pressure, throttling, clock speed, garbage collections" in text
    assert "cause unknown" in early
    assert "ruled out" not in early
    assert "excluded" not in early


def test_a_place_that_became_full_is_said_of_memory_that_is_steady(
    capsys: pytest.CaptureFixture[str],
):
    full = KeptObjects(
        kind="number", count=30, n_bytes=2.0**20, container="list", place="train.kept", capacity=30
    )
    verdict = replace(STEADY, metric="ram", cause="filling", sureness="counted", kept=full)

    text = verdict_text(capsys, verdict)

    assert "train.kept is full: 30 of 30 objects, 1.0 MiB" in with_plain_spaces(text)


def test_list_of_events_leaves_ruled_out_causes_to_the_verdicts_above():
    row = made_up_row(1, replace(SLOWER, turned=True))

    (listed,) = event_lines(row, name="net")
    (followed,) = event_lines(row, name="net", memory=EpochMemory())

    assert listed.endswith("more time is spent on compute; cause unknown")
    assert "; cause unknown; ruled out: callbacks, traces, waiting for a CPU; " in followed
