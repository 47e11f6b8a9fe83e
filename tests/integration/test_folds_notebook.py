"""`run_folds` in a real IPython kernel: a cell's own function is refused, a module's works."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager

from tests.support.source_tree import ROOT
from tests.support.waiting import DEADLINE_S

pytestmark = pytest.mark.slow

CELL = """
from kmonitor_agent import run_folds
def train_fold(fold):
    return fold.index
run_folds(train_fold, folds=2, study="study")
"""

WRITTEN = """
open("my_folds.py", "w").write('''
def train_fold(fold):
    return fold.index * 10
''')
from my_folds import train_fold
print(run_folds(train_fold, folds=2, study="study").values)
"""


class Said:
    """What a kernel's cells print and raise."""

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, message: dict[str, dict[str, object]]) -> None:
        content = message["content"]
        self.text += str(content.get("text", "")) + str(content.get("evalue", ""))


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelManager]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    manager = KernelManager()
    manager.start_kernel(cwd=str(tmp_path))
    yield manager
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


def test_a_cells_function_is_refused_with_lines_that_work(kernel: KernelManager):
    client = kernel.client()
    client.start_channels()
    client.wait_for_ready(timeout=2 * DEADLINE_S)
    refused, works = Said(), Said()

    client.execute_interactive(CELL, output_hook=refused, stop_on_error=False)
    client.execute_interactive(WRITTEN, output_hook=works)
    client.stop_channels()

    assert "%%writefile my_folds.py" in refused.text
    assert "from my_folds import train_fold" in refused.text
    assert "[0, 10]" in works.text
