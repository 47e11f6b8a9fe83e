"""Every icon that can be named exists, and one that does not breaks nothing."""

import ast
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtGui import QColor

import kmonitor
from kmonitor.base.installation import resource_path
from kmonitor.ui.events.event_log import event_line
from kmonitor.ui.runs.run_states import run_state_label
from kmonitor.ui.theme.qt.theme import icon_pixmap
from kmonitor_agent.wire.messages.events import ActionRecord
from kmonitor_agent.wire.messages.view_messages import RunState
from tests.support.made_up_runs import made_up_run

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("qapp")]

SOURCE = Path(kmonitor.__file__).parent
NAMED_FIRST = {"EventLine", "icon", "icon_on_accent", "pixmap", "icon_pixmap", "tinted_icon"}
"""Calls whose first argument is an icon."""

ACTIONS = get_args(next(t for n, t in ActionRecord.__annotations__.items() if n == "action"))


def text_in(node: ast.AST | None) -> list[str]:
    return [str(node.value)] if isinstance(node, ast.Constant) else []


def named_by_call(call: ast.Call) -> list[str]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    first = text_in(call.args[0]) if name in NAMED_FIRST and call.args else []
    return first + [t for k in call.keywords if k.arg == "icon" for t in text_in(k.value)]


def named_by_table(value: ast.Dict) -> list[str]:
    firsts = [v.elts[0] if isinstance(v, ast.Tuple) else v for v in value.values]
    return [text for first in firsts for text in text_in(first)]


def named_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from named_by_call(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if getattr(target, "id", "") in ("icons", "BUTTONS"):
                yield from named_by_table(node.value)


def test_every_icon_that_presenters_and_window_name_is_there():
    named = {
        icon
        for part in ("ui",)
        for file in (SOURCE / part).rglob("*.py")
        for icon in named_in(ast.parse(file.read_text(encoding="utf-8")))
    } - {""}
    named |= {
        run_state_label(made_up_run(state=state), now_wall_s=0.0).icon
        for state in get_args(RunState)
    }

    assert {"play", "warning", "close", "save", "unplug"} <= named
    for icon in sorted(named):
        assert resource_path("icons", f"{icon}.svg").is_file()


@pytest.mark.parametrize("action", ACTIONS)
def test_the_line_of_every_action_has_an_icon(action: str):
    record = ActionRecord(
        t_s=1.0,
        action=action,  # type: ignore[arg-type]
        ok=True,
        requested_by="user",
        fit=1,
        epoch=1,
        seconds=1.0,
    )
    line = event_line(record, name="run")

    assert line is not None
    assert resource_path("icons", f"{line.icon}.svg").is_file()


def test_a_missing_icon_is_a_dot_and_is_logged_once(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, logger="kmonitor"):
        dot = icon_pixmap("no-such-icon", "#ff0000", 24)
        icon_pixmap("no-such-icon", "#00ff00", 14)

    assert dot.toImage().pixelColor(12, 12) == QColor("#ff0000")
    assert [r.levelname for r in caplog.records if "no-such-icon" in r.getMessage()] == ["WARNING"]
