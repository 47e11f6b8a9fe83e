"""How one window is opened, as the command line and the tests say it."""

from dataclasses import dataclass
from pathlib import Path

from kmonitor.connect.host_book import RememberedHost
from kmonitor.ui.settings.window_settings import ThemeName


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """How the window is opened.

    Attributes:
        screenshot: Draw the window into this PNG file and leave: once its data are there, or
            when `quit_after_s` has passed.
        quit_after_s: Leave after so many seconds; None: when it is closed.
        select: Run to select: id, beginning of an id, name, or "last".
        size: Width and height, pixels; None: as it was left.
        theme: Palette; None: as it was chosen.
        with_hub: Start a hub when none answers, and again when it dies.
        shown: The folder that the hub shows, which somebody else has started; None: an own hub.
        also: A host whose runs are shown too, and which is not remembered for that; None: none.
    """

    screenshot: Path | None = None
    quit_after_s: float | None = None
    select: str | None = None
    size: tuple[int, int] | None = None
    theme: ThemeName | None = None
    with_hub: bool = True
    shown: Path | None = None
    also: RememberedHost | None = None
