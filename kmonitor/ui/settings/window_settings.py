"""Settings that the window remembers between two starts, as JSON, and options of one start."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from kmonitor.connect.remembered_hosts import RememberedHost
from kmonitor.ui.charts.arrangement import MOST_CHARTS, ChartSetup
from kmonitor.ui.settings.setting_values import Pace
from kmonitor.ui.text.formats import ByteUnits
from kmonitor_agent.wire.local.private_files import make_own_folder, read_own, write_private
from kmonitor_agent.wire.messages.fields import Name, Wall

_log = logging.getLogger(__name__)
Pixels = Annotated[int, msgspec.Meta(ge=-100_000, le=100_000)]
LimitAnswer = Literal["collect", "reload", "auto", "restart"]
ThemeName = Literal["system", "dark", "light"]
LanguageName = Literal["system", "en", "zh_CN"]
Width = Annotated[int, msgspec.Meta(ge=40, le=10_000)]
"""Width of a panel or a column, pixels."""


class TableLayout(msgspec.Struct, frozen=True, omit_defaults=True):
    """Layout of a table's columns as the user left it.

    Attributes:
        order: The columns from left to right, by name.
        widths: Widths of the columns that the user has resized, by name.
    """

    order: Annotated[tuple[Name, ...], msgspec.Meta(max_length=100)] = ()
    widths: Annotated[dict[Name, Width], msgspec.Meta(max_length=100)] = {}


class WindowSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """Settings of the window.

    Attributes:
        theme: Palette, or "system".
        language: Language of all texts, or "system".
        x_axis: Unit of the charts' horizontal axis.
        log_filter: Filter of the event log.
        reloads: True if a limit set in the window acts; else it only notifies.
        limit_answer: Action of such a limit.
        records_tab: Selected tab below the charts.
        geometry: Left, top, width and height, pixels; None at the first start.
        is_maximised: True if the window fills the screen.
        byte_units: Units of sizes: MiB of 1024 or MB of 1000.
        pace: Refresh rate of the charts.
        left_px: Width of the run tree; None: the default for the window's width.
        right_px: Width of the actions panel; None: the default for the window's width.
        below_px: Height of the panel below the charts; None: the default.
        tables: Columns of each table, by the table's name.
        hosts_seen: Time of the last connection to each remembered host, UTC, by address.
        charts: Charts on the grid, in their order; None: the usual four.
    """

    theme: ThemeName = "system"
    language: LanguageName = "system"
    x_axis: Literal["epochs", "seconds"] = "epochs"
    log_filter: Literal["all", "warnings", "actions"] = "all"
    reloads: bool = True
    limit_answer: LimitAnswer = "reload"
    records_tab: Literal["events", "reclaims"] = "events"
    geometry: tuple[Pixels, Pixels, Pixels, Pixels] | None = None
    is_maximised: bool = False
    byte_units: ByteUnits = "binary"
    pace: Pace = "lively"
    left_px: Width | None = None
    right_px: Width | None = None
    below_px: Width | None = None
    tables: Annotated[dict[Name, TableLayout], msgspec.Meta(max_length=100)] = {}
    hosts_seen: Annotated[dict[Name, Wall], msgspec.Meta(max_length=1000)] = {}
    charts: Annotated[tuple[ChartSetup, ...], msgspec.Meta(max_length=MOST_CHARTS)] | None = None


def load_settings(folder: Path) -> WindowSettings:
    """Load `window.json` from a folder; missing, unknown or invalid values become the defaults."""
    path = folder / "window.json"
    try:
        found = msgspec.json.decode(read_own(path), type=dict[str, Any])
    except FileNotFoundError:
        return WindowSettings()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        _log.warning("%s is ignored: %s", path, exc)
        return WindowSettings()
    known: dict[str, Any] = {}
    for each in msgspec.structs.fields(WindowSettings):
        if each.encode_name not in found:
            continue
        try:
            known[each.name] = msgspec.convert(found[each.encode_name], each.type)
        except msgspec.ValidationError as exc:
            # Another version's, or written by hand: the other fields are as good as before.
            _log.warning("%s: %s is ignored: %s", path, each.name, exc)
    return WindowSettings(**known)


def save_settings(folder: Path, settings: WindowSettings) -> None:
    """Write `window.json`; a failure is logged, and the window continues."""
    path = folder / "window.json"
    try:
        make_own_folder(folder)
        write_private(path, msgspec.json.format(msgspec.json.encode(settings)))
    except OSError as exc:
        _log.warning("%s was not written: %s", path, exc)


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """Options of one window, set by the command line or a test.

    Attributes:
        screenshot: Write a picture of the window to this PNG file and exit, either once its data
            are shown or when `quit_after_s` has passed.
        quit_after_s: Exit after this time, seconds; None: when the window is closed.
        select: Run to select: id, beginning of an id, name, or "last".
        size: Width and height, pixels; None: as saved.
        theme: Palette; None: as saved.
        with_hub: Start a hub if none answers, and again if it dies.
        shown: Folder shown by a hub that another program has started; None: use an own hub.
        also: A host whose runs are shown too, without being remembered; None: none.
    """

    screenshot: Path | None = None
    quit_after_s: float | None = None
    select: str | None = None
    size: tuple[int, int] | None = None
    theme: ThemeName | None = None
    with_hub: bool = True
    shown: Path | None = None
    also: RememberedHost | None = None
