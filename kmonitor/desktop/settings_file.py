"""What the window remembers between two starts, as JSON."""

import logging
from pathlib import Path
from typing import Annotated, Literal

import msgspec

_log = logging.getLogger(__name__)

Pixels = Annotated[int, msgspec.Meta(ge=-100_000, le=100_000)]
LimitAnswer = Literal["collect", "reload", "auto", "restart"]
ThemeName = Literal["system", "dark", "light"]


class WindowSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """Settings of the window.

    Attributes:
        theme: Palette, or as the system says.
        x_axis: What charts count.
        log_filter: Events shown.
        reloads: Whether a limit set in the window does something, or only tells.
        limit_answer: What it does.
        records_tab: What is shown below the charts.
        geometry: Left, top, width and height, pixels; None at the first start.
        is_maximised: Whether the window fills the screen.
    """

    theme: ThemeName = "system"
    x_axis: Literal["epochs", "seconds"] = "epochs"
    log_filter: Literal["all", "warnings", "actions"] = "all"
    reloads: bool = True
    limit_answer: LimitAnswer = "reload"
    records_tab: Literal["events", "reclaims"] = "events"
    geometry: tuple[Pixels, Pixels, Pixels, Pixels] | None = None
    is_maximised: bool = False


def load_settings(folder: Path) -> WindowSettings:
    """Settings from `window.json` in a folder; the usual ones where it is missing or damaged."""
    path = folder / "window.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=WindowSettings)
    except FileNotFoundError:
        return WindowSettings()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as exc:
        _log.warning("%s is not used: %s", path, exc)
        return WindowSettings()


def save_settings(folder: Path, settings: WindowSettings) -> None:
    """Write `window.json`; a failure is logged, the window goes on."""
    path = folder / "window.json"
    new = path.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        new.write_bytes(msgspec.json.format(msgspec.json.encode(settings)))
        new.replace(path)
    except OSError as exc:
        _log.warning("%s was not written: %s", path, exc)
