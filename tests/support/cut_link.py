"""A cable between two machines that a test can cut: a network namespace, a veth pair, iptables."""

import os
import shutil
import subprocess
import uuid
from types import TracebackType
from typing import Self

_IP = "ip"
_NETNS = (_IP, "netns")


def why_no_cable() -> str:
    """Why no cable can be made here; empty if one can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    gone = [name for name in ("ip", "iptables") if shutil.which(name) is None]
    if gone:
        return f"not installed: {', '.join(gone)}"
    name = f"kmt{uuid.uuid4().hex[:6]}"
    made = subprocess.run([*_NETNS, "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"no network namespaces: {made.stderr.strip()}"
    inside = ["ip", "netns", "exec", name]
    rule = ["iptables", "-A", "INPUT", "-m", "statistic", "--mode", "random", "-j", "DROP"]
    ruled = subprocess.run(
        [*inside, *rule, "--probability", "0.3"], capture_output=True, text=True, check=False
    )
    subprocess.run([*_NETNS, "del", name], check=False)
    return f"iptables: {ruled.stderr.strip()}" if ruled.returncode else ""


class Cable:
    """This machine at `here`, another one at the other end. Use as a context manager."""

    def __init__(self) -> None:
        mark = uuid.uuid4()
        self.far = f"kmt{mark.hex[:6]}"
        self._near_end, self._far_end = f"kmn{mark.hex[:6]}", f"kmf{mark.hex[:6]}"
        # 198.18.0.0/15 is set aside for such tests (RFC 2544).
        net = f"198.18.{mark.bytes[0]}.{mark.bytes[1] & 0xFC}".rsplit(".", 1)
        self.here = f"{net[0]}.{int(net[1]) + 1}"
        self._there = f"{net[0]}.{int(net[1]) + 2}"

    def __enter__(self) -> Self:
        _ip("netns", "add", self.far)
        try:
            pair = ("type", "veth", "peer", "name", self._far_end, "netns", self.far)
            _ip("link", "add", self._near_end, *pair)
            _ip("addr", "add", f"{self.here}/30", "dev", self._near_end)
            _ip("link", "set", self._near_end, "up")
            _ip("-n", self.far, "addr", "add", f"{self._there}/30", "dev", self._far_end)
            _ip("-n", self.far, "link", "set", self._far_end, "up")
        except BaseException:
            _ip("netns", "del", self.far)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _ip("netns", "del", self.far)

    def command(self, *words: str) -> list[str]:
        """Command line that runs a command at the other end."""
        return ["ip", "netns", "exec", self.far, *words]

    def cut(self, how: str) -> None:
        """Disturb it: "down", "drop", "reset" or "loss" (30% of all packets)."""
        rules = {
            "drop": (["-j", "DROP"],),
            "reset": (["-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"],),
            "loss": (
                ["-m", "statistic", "--mode", "random", "--probability", "0.3", "-j", "DROP"],
            ),
        }
        if how == "down":
            _ip("link", "set", self._near_end, "down")
            return
        for rule in rules[how]:
            for chain in ("INPUT", "OUTPUT"):
                if (chain, how) != ("OUTPUT", "reset"):
                    self._iptables("-A", chain, *rule)

    def mend(self) -> None:
        """As good as new."""
        _ip("link", "set", self._near_end, "up")
        self._iptables("-F")

    def _iptables(self, *words: str) -> None:
        subprocess.run(self.command("iptables", *words), check=True, capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run([_IP, *words], check=True, capture_output=True)
