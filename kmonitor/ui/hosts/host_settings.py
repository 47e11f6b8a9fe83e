"""The remembered hosts as the settings list them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kmonitor.ui.hosts.hosts import HostDesk
from kmonitor.ui.text.formats import moment_text
from kmonitor.ui.text.language import tr


@dataclass(frozen=True, slots=True)
class HostLine:
    """A host.

    Attributes:
        key: Its whole address, which tells it from the others.
        name: What it is called.
        address: As it is shown: without a hub's key.
        state: How it stands, and when it was last reached.
        tone: Of the state.
        can_retry: Whether trying it now is worth anything.
    """

    key: str
    name: str
    address: str
    state: str
    tone: Literal["ok", "mute", "warn", "crit"]
    can_retry: bool


def host_lines(
    hosts: HostDesk, seen_wall_s: Mapping[str, float], *, now_wall_s: float, version: str
) -> tuple[HostLine, ...]:
    """All hosts, in the order in which they were added.

    Args:
        hosts: The hosts.
        seen_wall_s: When each was last reached by this window or one before it, UTC, by address.
        now_wall_s: Now, UTC.
        version: Of this program.
    """
    found: list[HostLine] = []
    for host in hosts.all():
        picture = host.picture(now_wall_s, version=version)
        address = host.address.partition("?")[0]
        if host.link.is_live:
            found.append(
                HostLine(host.address, host.name, address, tr("connected"), "ok", can_retry=False)
            )
            continue
        seen = seen_wall_s.get(host.address)
        when = (
            tr("never reached from here")
            if seen is None
            else tr("last seen {time}").format(time=moment_text(seen, now_wall_s=now_wall_s))
        )
        parts = (picture.note, when, host.trouble)
        state = " \u00b7 ".join(part for part in parts if part)
        found.append(
            HostLine(host.address, host.name, address, state, picture.tone, can_retry=True)
        )
    return tuple(found)
