"""`kmonitor doctor`: what is found here, what is missing, and what to do about it."""

from typing import Annotated

from cyclopts import Parameter

from kmonitor.cli.examinations import Finding, examine
from kmonitor.cli.statuses import DONE, FAILED
from kmonitor.cli.terminal import plain, say, say_json
from kmonitor_agent.local.folders import find_folders

_MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}


def doctor(*, json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> int:
    """Examine this machine: libraries, screen, driver, framework, hub, folders.

    Nothing is started, installed or kept: a small file is written where kmonitor's would lie, and
    removed. Exit status 1 when something is bad: kmonitor cannot work here as it is. A note is
    for your information: something is missing that only some uses need.

    Args:
        json: A list of objects with `subject`, `state` (ok, note or bad), `found`, `remedy`.
    """
    findings = list(examine(find_folders()))
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
