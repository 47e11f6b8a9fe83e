"""A run's summary as text for the terminal."""

import msgspec

from kmonitor.cli.common.summary_text import worst_verdict_text
from tests.kmonitor.cli.common.test_run_choice import run


def test_the_worst_verdict_is_named_and_the_others_are_counted() -> None:
    good = run("3f2a11")
    bad = msgspec.structs.replace(good, verdicts={"step_time": "slowing", "ram": "suspected"})

    assert worst_verdict_text(good) == ""
    assert worst_verdict_text(bad) == "RAM: leak suspected +1"
