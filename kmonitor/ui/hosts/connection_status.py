"""State of the window's connection to a hub, with its banner and status bar."""

import math
from dataclasses import dataclass
from typing import Literal

from kmonitor.ui.text.formats import clock_text, count_text, duration_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.unions import HubReply

LinkState = Literal["connecting", "live", "lost"]


@dataclass(frozen=True, slots=True)
class BannerState:
    """The bar above the charts when the hub is lost.

    Attributes:
        title: Text in bold.
        text: Consequence of the failure.
        icon: Name of an icon.
        button: Text on the button; empty: no button.
        can_close: True if the user can close the bar.
    """

    title: str
    text: str
    icon: str
    button: str
    can_close: bool = False


@dataclass(frozen=True, slots=True)
class StatusBarState:
    """The status bar.

    Attributes:
        tone: Tone of the dot.
        link: State of the connection to the hub.
        rate: Events a second; may be empty.
        tooltip: More about the hub.
        version: Version, shown on the right.
    """

    tone: Literal["ok", "warn", "crit"]
    link: str
    rate: str
    tooltip: str
    version: str


class ConnectionStatus:
    """Follows the connection to the hub; main thread only.

    Attributes:
        hub: Reply of the hub about itself when it was connected.
    """

    def __init__(self) -> None:
        self.state: LinkState = "connecting"
        self.hub: HubReply | None = None
        self._why = ""
        self._lost_wall_s = 0.0
        self._retry_wall_s = 0.0
        self._trouble = ""
        self._hub_troubles: list[str] = []
        self._read: set[str] = set()
        self._failure: tuple[str, str] | None = None
        self._rows_counted = 0
        self._counted_wall_s = 0.0
        self._rows_per_s = 0.0

    @property
    def lost_wall_s(self) -> float:
        """UTC epoch seconds; 0: never lost."""
        return self._lost_wall_s

    @property
    def is_live(self) -> bool:
        """True while the hub is connected."""
        return self.state == "live"

    def connected(self, reply: HubReply) -> None:
        """Record that the hub answers."""
        self.state = "live"
        self._trouble = ""
        self.apply_hub_reply(reply)

    def apply_hub_reply(self, reply: HubReply) -> None:
        """Store the hub's newest reply about itself."""
        self.hub = reply
        # A trouble that was over and comes back is shown again.
        self._read &= set(reply.troubles)
        self._hub_troubles = [text for text in reply.troubles if text not in self._read]

    def disconnected(self, why: str, *, since_wall_s: float, retry_wall_s: float) -> None:
        """Record that the hub does not answer.

        Args:
            since_wall_s: Start of the outage, UTC.
            retry_wall_s: Time of the next attempt, UTC; infinite: not before the user requests
                one.
        """
        # Before the first answer it is still on its way, not lost.
        self.state = "lost" if self.hub is not None else "connecting"
        self._why = why
        self._lost_wall_s = since_wall_s
        self._retry_wall_s = retry_wall_s

    @property
    def has_trouble(self) -> bool:
        """True if the hub could not be started on this machine."""
        return bool(self._trouble)

    def trouble(self, text: str) -> None:
        """Set the reason why the hub could not be started on this machine; empty: none."""
        self._trouble = text

    def fail(self, what: str, log: str) -> None:
        """Record that a part of the window failed; the window continues.

        Args:
            what: Type and message of the exception.
            log: Path of the log file.
        """
        self._failure = (what, log)

    def dismiss(self) -> None:
        """Close the banner, as the user has read it."""
        if self._failure is None:
            self._read.update(self._shown())
            self._hub_troubles = [text for text in self._hub_troubles if text not in self._read]
        self._failure = None

    def count_rows(self, n: int) -> None:
        """Count this number of arrived events."""
        self._rows_counted += n

    def tick(self, now_wall_s: float) -> None:
        """Update the rate of events; call about once a second."""
        passed = now_wall_s - self._counted_wall_s
        if passed > 0:
            self._rows_per_s = self._rows_counted / passed if self._counted_wall_s else 0.0
        self._rows_counted = 0
        self._counted_wall_s = now_wall_s

    def banner(self, now_wall_s: float) -> BannerState | None:
        """Return the bar above the charts; None if there is no problem."""
        if self._trouble:
            return BannerState(
                tr("The hub cannot start."), translated_text(self._trouble), "error", ""
            )
        if self._failure is not None:
            what, log = self._failure
            text = tr(
                "{what}. kmonitor keeps running, and training is not affected. Details are in"
                " {log}."
            )
            title = tr("Part of the window has stopped working.")
            text_shown = text.format(what=what.rstrip("."), log=log)
            return BannerState(title, text_shown, "error", "", can_close=True)
        if self.state != "lost":
            return self.hub_trouble_banner(self.hub.host if self.hub is not None else "")
        title = tr("Connection to the hub lost at {time}.").format(
            time=clock_text(self._lost_wall_s)
        )
        text = tr("Charts show the last data received; training may still be running.")
        wait = self._retry_wall_s - now_wall_s
        if math.isinf(wait):
            return BannerState(title, f"{text} {self._why}.", "unplug", tr("Retry now"))
        retry = (
            tr("Retrying in {time}.").format(time=duration_text(wait))
            if wait > 0.5  # noqa: PLR2004 - less reads as 0 s
            else tr("Retrying now.")
        )
        return BannerState(title, f"{text} {retry}", "unplug", tr("Retry now"))

    def hub_trouble_banner(self, host: str) -> BannerState | None:
        """Return the bar with the problems that the hub itself reports, until the user closes it.

        Args:
            host: Name of the hub's host.
        """
        if not self._hub_troubles:
            return None
        shown = self._shown()
        unwritten = self.hub.unwritten if self.hub is not None else ""
        if unwritten in shown:
            title = tr("The hub on {host} cannot store new data.").format(host=host)
            text = tr(
                "{why}. Until this is resolved, commands and changes are refused, and training"
                " runs keep their data on their own disks as long as there is space."
            )
            why = translated_text(unwritten)
            why = f"{why[:1].upper()}{why[1:]}"
            return BannerState(title, text.format(why=why), "error", "", can_close=True)
        sentences = (translated_text(text) for text in shown)
        joined = " ".join(f"{text[:1].upper()}{text[1:]}." for text in sentences)
        title = tr("The hub on {host} has a problem.").format(host=host)
        return BannerState(title, joined, "error", "", can_close=True)

    def _shown(self) -> list[str]:
        """Texts of the hub's problems; one that stops the hub from writing is shown alone."""
        unwritten = self.hub.unwritten if self.hub is not None else ""
        return [unwritten] if unwritten in self._hub_troubles else self._hub_troubles

    def status(self, *, version: str) -> StatusBarState:
        shown = f"kmonitor {version}"
        match self.state:
            case "connecting" | "lost" if self._trouble:
                link = tr("The hub cannot start")
                return StatusBarState("crit", link, "", translated_text(self._trouble), shown)
            case "connecting":
                link = tr("Starting the hub\u2026")
                return StatusBarState("warn", link, "", self._why, shown)
            case "lost":
                return StatusBarState("crit", tr("Hub unreachable"), "", self._why, shown)
            case "live":
                rate = tr("{n} events/s").format(n=count_text(self._rows_per_s))
                return StatusBarState("ok", self._live_text(), rate, self._hub_text(), shown)

    def _live_text(self) -> str:
        hub = self.hub
        if hub is not None and hub.folder:
            return tr("Showing {folder}, read-only").format(folder=hub.folder)
        return tr("Connected to the hub on {host}").format(host=hub.host) if hub else ""

    def _hub_text(self) -> str:
        hub = self.hub
        if hub is None:
            return ""
        return tr("Process {pid}, version {version}, {rows} events stored").format(
            pid=hub.pid, version=hub.version, rows=count_text(hub.rows)
        )
