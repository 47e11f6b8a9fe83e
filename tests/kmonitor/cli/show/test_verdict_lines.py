"""Output of `kmonitor show` on verdicts while a long run is still being read."""

import pytest

from kmonitor.cli.show.sections import print_verdicts
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.unions import VerdictsReply
from tests.support.made_up_runs import made_up_run

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
