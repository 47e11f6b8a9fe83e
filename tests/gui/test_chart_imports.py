"""Modules that the charts load."""

import subprocess
import sys

import pytest

from tests.support.waiting import DEADLINE_S

pytestmark = [pytest.mark.gui, pytest.mark.slow]


def test_charts_load_neither_a_framework_nor_another_plotting_library():
    program = (
        "import sys, kmonitor.ui.plots.qt.live_chart;"
        "heavy = {'matplotlib', 'tensorflow', 'keras', 'scipy', 'OpenGL'} & set(sys.modules);"
        "print(*heavy, end='')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * DEADLINE_S,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
