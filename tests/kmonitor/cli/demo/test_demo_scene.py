import subprocess
import sys

import pytest
from typing_extensions import override

from kmonitor.cli.demo.processes import DemoScene
from kmonitor_agent.wire.local.folders import Folders


class Interrupted(subprocess.Popen[bytes]):
    """A window that stays open until Ctrl+C is pressed in the terminal."""

    @override
    def wait(self, timeout: float | None = None) -> int:
        if timeout is None and self.poll() is None and not self._was_pressed:
            self._was_pressed = True
            raise KeyboardInterrupt
        return super().wait(timeout)

    _was_pressed = False


def test_ctrl_c_after_the_story_ends_the_demo_as_its_text_says(
    folders: Folders, capsys: pytest.CaptureFixture[str]
):
    with DemoScene(folders, []) as scene:
        window = Interrupted([sys.executable, "-c", "import time; time.sleep(60)"])
        scene.window = window
        scene.wait_for_window()
        assert window.poll() is None

    assert "press Ctrl+C here, to end the demo" in capsys.readouterr().out
    assert window.poll() is not None
