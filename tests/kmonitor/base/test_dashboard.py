"""The example dashboard queries figures that exist, by labels that they have."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kmonitor.base.installation import resource_path
from kmonitor.cli.main import main
from kmonitor.hub.metrics.metric_table import METRICS

_ADDED = {"instance", "job"}
"""Labels that Prometheus adds to what it scrapes."""


@pytest.fixture
def dashboard() -> dict[str, Any]:
    return json.loads(resource_path("grafana", "kmonitor.json").read_text(encoding="utf-8"))


def asked(dashboard: dict[str, Any]) -> list[str]:
    """Every expression of a panel or a variable."""
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    lists = dashboard["templating"]["list"]
    return panels + [each["definition"] for each in lists if each["type"] == "query"]


def test_every_figure_that_it_asks_for_exists_with_its_labels(dashboard: dict[str, Any]):
    known = {figure.exposed: {*figure.labels, *_ADDED} for figure in METRICS}

    expressions = asked(dashboard)
    assert len(expressions) > 15
    for expression in expressions:
        names = re.findall(r"kmonitor_\w+", expression)
        assert names
        assert [name for name in names if name not in known] == []
        for name, selector in re.findall(r"(kmonitor_\w+)\{([^}]*)\}", expression):
            assert set(re.findall(r"(\w+)\s*[=!]", selector)) <= known[name]


def test_panels_have_ids_of_their_own_and_do_not_overlap(dashboard: dict[str, Any]):
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)

    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_the_command_writes_it_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["hub", "dashboard", "--output", str(tmp_path / "board.json")]) == 0
    capsys.readouterr()
    assert main(["hub", "dashboard"]) == 0

    assert capsys.readouterr().out == (tmp_path / "board.json").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "board.json").read_bytes())["title"] == "kmonitor"
