"""`kmonitor doctor`: what is found here, what is missing, and what to do about it."""

from typing import Annotated

from cyclopts import Parameter

from kmonitor.cli.common.hub_access import HostOption
from kmonitor.cli.common.statuses import DONE, FAILED, Misuse
from kmonitor.cli.common.terminal import plain, say, say_json
from kmonitor.cli.doctor.command import examine
from kmonitor.cli.doctor.finding import Finding
from kmonitor.cli.doctor.host_checks import examine_hosts, examine_ssh
from kmonitor.cli.doctor.store_checks import verify_store
from kmonitor.connect.host_access import known_host
from kmonitor_agent.wire.local.folders import find_folders

_MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}


def doctor(
    *,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    verify: Annotated[bool, Parameter(name="--verify", negative="")] = False,
    host: HostOption = None,
) -> int:
    """Examine this machine: libraries, screen, driver, framework, hub, folders, ssh, hosts.

    Nothing is started, installed or kept here: a small file is written where kmonitor's would
    lie, and removed. Each remembered host is reached once, side by side, for 15 s at most, and
    its hub started if none answers there. Exit status 1 when something is bad: kmonitor cannot
    work here as it is, or the one `--host` is not reached. A note is for your information:
    something is missing that only some uses need.

    Args:
        json: A list of objects with `subject`, `state` (ok, note or bad), `found`, `remedy`.
        verify: Only read every stored event, and compare it with its checksum: some 2 s for a
            million.
        host: Only ssh and this host: as for ssh, or a name of `kmonitor hosts`.
    """
    folders = find_folders()
    if verify:
        if host is not None:
            raise Misuse("--verify reads what is stored here: it takes no --host.")
        findings = [verify_store(folders)]
    elif host is None:
        findings = list(examine(folders))
    else:
        known = known_host(folders, host)
        findings = [*examine_ssh([known]), *examine_hosts(folders, host)]
    if json:
        say_json(findings)
    else:
        for finding in findings:
            _say(finding)
    return FAILED if any(finding.state == "bad" for finding in findings) else DONE


def _say(finding: Finding) -> None:
    say(f"{_MARKS[finding.state]} {finding.subject:<18} {plain(finding.found)}")
    for line in finding.remedy.splitlines():
        say(f"     {'':<18} -> {plain(line)}")
