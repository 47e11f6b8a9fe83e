"""`run_folds` in a real IPython kernel: a cell's own function works as a module's does."""

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
    if fold.index:
        raise ValueError("no luck")  # this line
    return 7
study = run_folds(train_fold, folds=2)
print(study.values, study.results[1].output.read_text())
"""

WRITTEN = """
open("my_folds.py", "w").write('''
def train_fold(fold):
    return fold.index * 10
''')
from my_folds import train_fold
print(run_folds(train_fold, folds=2).values)
"""


class Said:
    """Output and errors of a kernel's cells."""

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


def test_functions_of_cells_and_of_modules_are_carried(kernel: KernelManager):
    client = kernel.client()
    client.start_channels()
    client.wait_for_ready(timeout=2 * DEADLINE_S)
    cell, written = Said(), Said()

    client.execute_interactive(CELL, output_hook=cell)
    client.execute_interactive(WRITTEN, output_hook=written)
    client.stop_channels()

    assert "[7, None]" in cell.text
    assert "# this line" in cell.text  # the traceback of the fold's process
    assert "[0, 10]" in written.text
