"""Tables at each width of a terminal and in a pipe: whole numbers, no line too long, no colour."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from kmonitor.alerts.sent_log import SentAlert, SentAlertLog
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor_agent.wire.messages.events import LimitCrossed, SessionDied
from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub
from tests.support.pseudo_terminal import PALETTE, PseudoTerminal, colours
from tests.support.simulated_agent import SimulatedAgent

pytestmark = pytest.mark.slow

GIB = 2.0**30
TABLES = [
    ("runs",),
    ("show", "last"),
    ("compare", "last", "last"),
    ("alerts",),
    ("alerts", "dry-run"),
    ("alerts", "sent"),
    ("runs", "prune", "--older-than", "0s", "--dry-run"),
    ("audit",),
    ("checkpoints", "last"),
    ("hosts",),
    ("keys", "list"),
]
FAILING = [("checkpoints", "last")]
"""Commands whose table names something damaged."""

TORN = re.compile(
    r"\d (?:[KMG]i?|m|\N{MICRO SIGN})?$|\d$\n\s*(?:[KMG]iB|ms|s|min|h)\b", re.MULTILINE
)
"""A number whose unit, or a part of it, is in the next line."""


@pytest.fixture
def trained(live_hub: LiveHub) -> Iterator[SimulatedAgent]:
    """A run with two epochs whose name is long, which crossed a limit and died; a far host."""
    facts: dict[str, str | float] = {
        "kind": "limit",
        "metric": "ram",
        "subject": "a5" * 16,
        "title": "a-training-with-quite-a-long-name",
        "text": "RAM exceeded its limit of 8 GiB: 9.0 GiB (3 more like this)",
    }
    why = "The alert webhook at hooks.example.org rejected the alert: 503 Service Unavailable."
    SentAlertLog(live_hub.folders.database).add(SentAlert(1.7e9, "webhook", facts, why, 1.7e9))
    HostStore(live_hub.folders).add("ada@a-host-with-a-long-name.example", name="gpu-01")
    kmonitor(
        "authorize", "a5" * 32, "--role", "viewer", "--name", "the laptop of the one who asks"
    )
    with SimulatedAgent(live_hub.folders, name="a-training-with-quite-a-long-name") as agent:
        agent.start_fit(epochs=3)
        agent.train_epochs(2)
        crossed = LimitCrossed(
            t_s=agent.now_s(), metric="ram", action="notify", value=9 * GIB, threshold=8 * GIB
        )
        agent.emit(crossed)
        why = "the kernel killed it, out of memory: it had 31.2 GiB of 31.4 GiB, 250 ms before"
        died = SessionDied(
            t_s=agent.now_s(), session=agent.session, how="signal", signal="SIGKILL", why=why
        )
        agent.emit(died)
        agent.wait_acked()
        checkpoints = live_hub.folders.checkpoints / agent.run
        checkpoints.mkdir(parents=True)
        (checkpoints / "000001-fit1-epoch1-step0.h5").write_bytes(bytes(1000))
        yield agent


@pytest.mark.parametrize(
    "columns", [80, *(pytest.param(n, marks=pytest.mark.full) for n in (60, 100, 120))]
)
def test_tables_fit_a_terminal_and_keep_their_numbers(trained: SimulatedAgent, columns: int):
    for words in TABLES:
        environ = {"NO_COLOR": "1"}
        with PseudoTerminal(*words, columns=columns, lines=100, environ=environ) as terminal:
            status = terminal.wait_end()

        text = re.sub(r"\x1b\[[\d;]*m", "", terminal.output).replace("\r\n", "\n")
        assert status == (words in FAILING), text
        assert colours(terminal.output) == set()
        assert all(cell_len(line) <= columns for line in text.splitlines()), text
        assert not TORN.search(text), text
        if words == ("runs",):
            assert "500 MiB" in text
        assert "\N{HORIZONTAL ELLIPSIS} MiB" not in text


def test_tables_in_a_pipe_leave_nothing_out(trained: SimulatedAgent):
    # All of one run: a separate hub for each table would take most of the time.
    ran = {words: kmonitor(*words) for words in TABLES}

    for words, each in ran.items():
        assert each.status == (words in FAILING), (words, each.err)
        assert "Not shown" not in each.out, words
        assert "\x1b" not in each.out, words
    runs = ran["runs",].out
    assert "VERDICT" not in runs  # it has none
    for text in (trained.name, trained.host, "500 MiB", "24 374", "STARTED"):
        assert text in runs
    assert "31.2 GiB of 31.4 GiB" in ran["show", "last"].out


@pytest.mark.parametrize(
    "columns", [80, *(pytest.param(n, marks=pytest.mark.full) for n in (60, 120))]
)
def test_what_is_missing_here_fits_a_terminal(tmp_path: Path, columns: int):
    with PseudoTerminal("doctor", columns=columns, lines=100) as terminal:
        terminal.wait_end()

    lines = terminal.output.replace("\r\n", "\n").splitlines()
    # A command to copy stays in one line, which a terminal breaks without a line's end.
    lines = [line for line in lines if "-> " not in line]
    assert lines
    assert all(cell_len(line) <= columns for line in lines), terminal.output


@pytest.mark.parametrize("words", [("--help",), ("runs", "--help"), ("alerts",)], ids=" ".join)
@pytest.mark.parametrize("environ", [{}, {"NO_COLOR": "1"}], ids=["colours", "NO_COLOR"])
def test_colours_are_the_terminals_own_on_its_background(
    words: tuple[str, ...], environ: dict[str, str]
):
    with PseudoTerminal(*words, environ=environ) as terminal:
        assert terminal.wait_end() == 0

    assert colours(terminal.output) <= (set() if environ else PALETTE)


@pytest.mark.parametrize(
    ("words", "known"),
    [(("export", "last", "--format", "josn"), "json"), (("runs", "--state", "lve"), "live")],
)
def test_a_choice_that_is_none_is_answered_with_the_choices(words: tuple[str, ...], known: str):
    ran = kmonitor(*words)

    assert ran.status == 2
    assert f'Did you mean "{known}"?' in ran.err
    assert "Literal" not in ran.err
