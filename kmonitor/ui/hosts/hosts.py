"""Hosts that the window reaches over ssh: their state in the tree, the banner and the settings.

Also the texts that explain a version skew, and why a hub refuses commands or its audit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kmonitor.ui.actions.action_panel import Confirmation
from kmonitor.ui.hosts.connection_status import BannerState, ConnectionStatus
from kmonitor.ui.text.formats import clock_text, duration_text, moment_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.unions import HubReply

HERE: Final = ""
"""Address of this machine's own hub."""

IsReached = Callable[[str], bool]
"""True if the hub of a run, by the run's id, is reached."""

RouteStage = Literal["asking", "opening", "open", "closed"]
"""State of the route to a host: see `kmonitor.connect.follower.RouteChanged`."""

_SKEW_S: Final = 2.0
"""Smallest difference between two clocks that is mentioned, seconds."""


@dataclass(frozen=True, slots=True)
class HostState:
    """A host in the tree.

    Attributes:
        address: Address as for ssh.
        name: Name that the user chose.
        note: Text on the right while the host is not connected: "connecting..."; empty: it is.
        tone: Tone of the note.
        tooltip: Reason why the host is not connected, or its running trainings.
    """

    address: str
    name: str
    note: str
    tone: Literal["mute", "warn", "crit"]
    tooltip: str


class Host:
    """One host; main thread only.

    Attributes:
        address: Address as for ssh.
        name: Name that the user chose.
        link: Connection to the host's hub, followed like this machine's.
        same_as: Name of the host that has the same hub; empty: none.
    """

    def __init__(self, address: str, name: str) -> None:
        self.address = address
        self.name = name or address
        self.link = ConnectionStatus()
        self.same_as = ""
        self._stage: RouteStage = "asking"
        self._what = self._remedy = ""
        self._retry_wall_s: float | None = None
        self._skew_s = 0.0
        self._is_read = False

    @property
    def trouble(self) -> str:
        """Reason in one sentence why the host is not connected; empty: it is, or unknown."""
        return translated_text(self._what)

    def set_route(
        self, stage: RouteStage, what: str, remedy: str, retry_wall_s: float | None
    ) -> None:
        """Set the state of the route to the host.

        Args:
            remedy: Remedy for the failure.
            retry_wall_s: Time of the next attempt, UTC; None: not before the user requests one.
        """
        # The reason stays shown through further attempts until one works.
        if stage == "closed":
            self._is_read = self._is_read and what == self._what
            self._what = what
            self._remedy = remedy
        self._stage = stage
        self._retry_wall_s = retry_wall_s

    def connected(self, reply: HubReply, now_wall_s: float) -> None:
        """Record that the host's hub answers."""
        self._stage = "open"
        self._what = ""
        self._remedy = ""
        self._is_read = False
        self._skew_s = reply.wall_s - now_wall_s
        self.link.connected(reply)

    def dismiss(self) -> None:
        """Close the banner about this host, as the user has read it."""
        if self.link.is_live:
            self.link.dismiss()
        else:
            self._is_read = True

    def state(self, now_wall_s: float, *, version: str) -> HostState:
        """Return the host as shown in the tree."""
        if self.link.is_live:
            note = tr("as {host}").format(host=self.same_as) if self.same_as else ""
            return HostState(self.address, self.name, note, "mute", self._live_text(version))
        tooltip = (
            "\n".join(translated_text(part) for part in (self._what, self._remedy) if part)
            or self.address
        )
        if self.link.state == "lost":
            age = duration_text(max(0.0, now_wall_s - self.link.lost_wall_s))
            note = tr("offline for {time}").format(time=age)
            return HostState(self.address, self.name, note, "crit", tooltip)
        if self._what:
            return HostState(self.address, self.name, tr("unreachable"), "crit", tooltip)
        return HostState(self.address, self.name, tr("connecting\u2026"), "mute", tooltip)

    def banner(self, now_wall_s: float) -> BannerState | None:
        """Return the bar above the charts; None if there is no problem or the user has read it."""
        if self.link.is_live:
            # One hub by two addresses speaks by the other one.
            return None if self.same_as else self.link.hub_trouble_banner(self.name)
        if self._is_read or (self.link.state != "lost" and not self._what):
            return None
        retry = self._retry_text(now_wall_s)
        why = " ".join(translated_text(part) for part in (self._what, self._remedy) if part)
        if self.link.state != "lost":
            title = tr("Cannot reach {host}.").format(host=self.name)
            text = f"{why} {retry}".strip()
            return BannerState(title, text, "unplug", tr("Retry"), can_close=True)
        title = tr("Connection to {host} lost at {time}.").format(
            host=self.name, time=clock_text(self.link.lost_wall_s)
        )
        stale_note = tr("Charts show the last data received; training may still be running.")
        text = " ".join(part for part in (stale_note, why, retry) if part)
        return BannerState(title, text, "unplug", tr("Retry"), can_close=True)

    def _retry_text(self, now_wall_s: float) -> str:
        if self._stage != "closed":
            return tr("Connecting\u2026")
        if self._retry_wall_s is None:
            return ""
        wait_s = self._retry_wall_s - now_wall_s
        if wait_s <= 0.5:  # noqa: PLR2004 - less reads as 0 s
            return tr("Retrying now.")
        return tr("Retrying in {time}.").format(time=duration_text(wait_s))

    def _live_text(self, version: str) -> str:
        hub = self.link.hub
        if hub is None:
            return self.address
        lines = [
            tr("{address}: hub on {host}, process {pid}, version {version}").format(
                address=self.address, host=hub.host, pid=hub.pid, version=hub.version
            )
        ]
        if self.same_as:
            lines.append(
                tr("This host's runs are listed under {host}, with which it shares a hub.").format(
                    host=self.same_as
                )
            )
        lines.append(version_skew_text(hub.version, version, host=self.name))
        if abs(self._skew_s) > _SKEW_S:
            how = tr("ahead of") if self._skew_s > 0 else tr("behind")
            lines.append(
                tr("Its clock is {time} {how} this machine's clock.").format(
                    time=duration_text(abs(self._skew_s)), how=how
                )
            )
        return "\n".join(line for line in lines if line)


class HostList:
    """All hosts, in the order in which they were added; main thread only."""

    def __init__(self) -> None:
        self._hosts: dict[str, Host] = {}

    def add(self, address: str, name: str = "") -> Host:
        """Show a host; a host that is shown already gets this name."""
        host = self._hosts.setdefault(address, Host(address, name))
        host.name = name or address
        return host

    def remove(self, address: str) -> None:
        """Stop showing a host."""
        self._hosts.pop(address, None)

    def get(self, address: str) -> Host | None:
        return self._hosts.get(address)

    def all(self) -> Sequence[Host]:
        return list(self._hosts.values())

    def troubled(self, first: str) -> Host | None:
        """Host whose problem is shown: that of the selected run, else any."""
        hosts = list(self._hosts.values())
        own = [host for host in hosts if host.address == first]
        new = [host for host in hosts if host.link.state != "lost"]
        return next((h for h in own + new if h.banner(0.0) is not None), None)

    def lost(self) -> list[tuple[str, str, str]]:
        """Address, name, and reason (empty: not known) of each host whose connection is lost."""
        hosts = [host for host in self._hosts.values() if host.link.state == "lost"]
        return [(host.address, host.name, host.trouble) for host in hosts]

    def reached_and_total(self) -> tuple[int, int]:
        """Number of connected hosts, and number of all hosts."""
        return sum(h.link.is_live for h in self._hosts.values()), len(self._hosts)


@dataclass(frozen=True, slots=True)
class HostLine:
    """A host in the settings.

    Attributes:
        key: Full address, which identifies the host.
        address: Address as it is shown: without a hub's key.
        state: State of the host, and when it was last connected.
        tone: Tone of the state.
        can_retry: True if the host is not connected, so that the user can retry now.
    """

    key: str
    name: str
    address: str
    state: str
    tone: Literal["ok", "mute", "warn", "crit"]
    can_retry: bool


def host_lines(
    hosts: HostList, seen_wall_s: Mapping[str, float], *, now_wall_s: float, version: str
) -> tuple[HostLine, ...]:
    """Return all hosts, in the order in which they were added.

    Args:
        seen_wall_s: Time of each host's last connection from this window or an earlier one, UTC,
            by address.
    """
    found: list[HostLine] = []
    for host in hosts.all():
        host_state = host.state(now_wall_s, version=version)
        address = host.address.partition("?")[0]
        if host.link.is_live:
            found.append(
                HostLine(host.address, host.name, address, tr("connected"), "ok", can_retry=False)
            )
            continue
        seen = seen_wall_s.get(host.address)
        when = (
            tr("never connected")
            if seen is None
            else tr("last seen {time}").format(time=moment_text(seen, now_wall_s=now_wall_s))
        )
        parts = (host_state.note, when, host.trouble)
        state = " \u00b7 ".join(part for part in parts if part)
        found.append(
            HostLine(host.address, host.name, address, state, host_state.tone, can_retry=True)
        )
    return tuple(found)


def version_skew_text(theirs: str, ours: str, *, host: str) -> str:
    """Consequence of different versions of hub and window; empty if they are equal.

    Args:
        theirs: Version of the hub.
        ours: Version of this program.
        host: Name of the hub's host.
    """
    if theirs == ours:
        return ""
    if _numbers(theirs) < _numbers(ours):
        text = tr(
            "kmonitor on {host} is older ({theirs}) than this window ({ours}), so newer features "
            "are missing for runs there. Install {ours} on that host."
        )
    else:
        text = tr(
            "kmonitor on {host} is newer ({theirs}) than this window ({ours}), so its new"
            " features are not shown. Install {theirs} here."
        )
    return text.format(host=host, theirs=theirs, ours=ours)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def command_blocked_reason(hub: HubReply | None, host: str) -> str:
    """Reason why commands to a hub's runs are refused; empty if they are not.

    Args:
        hub: Reply of the hub about itself and this window's role.
    """
    if hub is None or getattr(hub, "role", "operator") != "viewer":
        return ""
    text = tr("Runs on {host} are read-only: your key there has the viewer role.")
    return text.format(host=host)


def audit_blocked_reason(link: ConnectionStatus, host: str) -> str:
    """Reason in one sentence why a hub's audit is not requested; empty: it is.

    Args:
        link: State of the connection to the hub.
        host: Name of the hub's host.
    """
    if not link.is_live:
        return tr("Not connected.")
    if link.hub is None or link.hub.role != "viewer":
        return ""
    text = tr(
        "Your key on {host} has the viewer role, and only an operator can read the audit log."
        " The owner of the hub can change that: kmonitor authorize KEY --role operator --name"
        " NAME"
    )
    return text.format(host=host)


def confirm_remove(host: str) -> Confirmation:
    return Confirmation(
        tr("Remove \u201c{host}\u201d?").format(host=host),
        tr(
            "The host will be removed from this window, and its runs will no longer be "
            "shown. Nothing on the host changes: training runs and the hub keep running, "
            "and connecting again brings everything back."
        ),
        tr("Remove host"),
        tr("Keep"),
    )
