"""RAM's card and its line in a terminal: pages of files, and what can be had."""

import pytest

from kmonitor.cli.common.summary_text import origin_text, share_text
from kmonitor.ui.charts.cards import chart_card_state
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.unions import MetricReading
from tests.support.made_up_runs import GIB, made_up_run

SOURCE = "process: /proc/self/status RssAnon + RssShmem + VmSwap"


@pytest.mark.parametrize(
    ("reading", "details", "share"),
    [
        (
            MetricReading(value=2 * GIB, of=8 * GIB, source=SOURCE),
            ["6.0 GiB still available"],
            "25%",
        ),
        (
            MetricReading(value=2 * GIB, of=8 * GIB, source=SOURCE, file_bytes=1.6 * GIB),
            [
                "plus 1.6 GiB of file-backed pages, which the kernel can reclaim",
                "6.0 GiB still available",
            ],
            "25%",
        ),
    ],
    ids=["alone", "files"],
)
def test_card_and_terminal_show_what_is_not_in_the_number(
    reading: MetricReading, details: list[str], share: str
):
    run = made_up_run(ram=reading)

    card = chart_card_state(run, "ram", line=None, is_connected=True)

    assert with_plain_spaces(card.tooltip).splitlines()[1:] == details
    assert origin_text(run, "ram") == "; ".join([SOURCE, *details])
    assert share_text(run.ram) == share


def test_an_absent_reading_has_no_details():
    run = made_up_run(ram=MetricReading(absent="no /proc", file_bytes=GIB))

    assert chart_card_state(run, "ram", line=None, is_connected=True).tooltip == "no /proc"
