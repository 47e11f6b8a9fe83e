"""Tables at each width of a terminal and in a pipe: whole numbers, no line too long, no colour."""

import re
from collections.abc import Iterator

import pytest
from rich.cells import cell_len

from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub
from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.simulated_agent import SimulatedAgent

pytestmark = pytest.mark.slow

TABLES = [
    ("runs",),
    ("show", "last"),
    ("compare", "last", "last"),
    ("alerts",),
    ("runs", "prune", "--older-than", "0s", "--dry-run"),
    ("audit",),
]


@pytest.fixture
def trained(live_hub: LiveHub) -> Iterator[SimulatedAgent]:
    """A run with two epochs whose name is long."""
    with SimulatedAgent(live_hub.folders, name="a-training-with-quite-a-long-name") as agent:
        agent.start_fit(epochs=3)
        agent.train_epochs(2)
        agent.wait_acked()
        yield agent


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_tables_fit_a_terminal_and_keep_their_numbers(trained: SimulatedAgent, columns: int):
    for words in TABLES:
        environ = {"NO_COLOR": "1"}
        with PseudoTerminal(*words, columns=columns, lines=100, environ=environ) as terminal:
            assert terminal.wait_end() == 0, terminal.output

        lines = re.sub(r"\x1b\[[\d;]*m", "", terminal.output).splitlines()
        assert not re.search(r"\x1b\[[\d;]*3\d[\d;]*m", terminal.output)
        if words[0] != "show":  # its sentences are the terminal's to break
            assert all(cell_len(line) <= columns for line in lines), terminal.output
        if words == ("runs",):
            assert "500 MiB" in terminal.output
            assert "\N{HORIZONTAL ELLIPSIS} MiB" not in terminal.output


def test_tables_in_a_pipe_leave_nothing_out(trained: SimulatedAgent):
    listed = kmonitor("runs").out

    for text in (trained.name, trained.host, "500 MiB", "24 374", "STARTED"):
        assert text in listed
    assert "Not shown" not in listed


@pytest.mark.parametrize(
    ("words", "known"),
    [(("export", "last", "--format", "josn"), "json"), (("runs", "--state", "lve"), "live")],
)
def test_a_choice_that_is_none_is_answered_with_the_choices(words: tuple[str, ...], known: str):
    ran = kmonitor(*words)

    assert ran.status == 2
    assert f'Did you mean "{known}"?' in ran.err
    assert "Literal" not in ran.err
