"""`kmonitor audit`: list of the actions through the hub, with their users."""

import time
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.hub_access import HostOption, HubOption, open_hub
from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.run_choice import SHORT_ID
from kmonitor.cli.common.terminal import DONE, print_json, print_table, print_text
from kmonitor.connect.hub_client import HubClient
from kmonitor.ui.text.formats import moment_text, with_plain_spaces
from kmonitor_agent.wire.messages.unions import AuditRow

_PAGE = 1000


def audit(
    *,
    json: JsonOption = False,
    last: Annotated[int, Parameter(name="--last", validator=Number(gte=1))] = 50,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Show the audit log of the hub, oldest first: commands, edits and key changes.

    Example: `kmonitor audit --last 20`

    Each line gives the time, who acted (this user or the name of a key), the action, the run,
    and the outcome.

    Args:
        json: One JSON list, with every field.
        last: Show at most this many of the newest entries.
        host: Show the log of the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a
            name from `kmonitor hosts`.
        hub: Show the log of the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    with open_hub(host, hub=hub) as client:
        rows = _newest(client, last)
    rows.reverse()
    if json:
        print_json(fields_of(rows))
    elif rows:
        _print_rows(rows)
    else:
        print_text("The audit log is empty.")
    return DONE


def _newest(client: HubClient, n: int) -> list[AuditRow]:
    rows: list[AuditRow] = []
    while len(rows) < n:
        before = rows[-1].row if rows else 0
        reply = client.audit(before=before, limit=min(_PAGE, n - len(rows)))
        rows += reply.rows
        if not reply.more:
            break
    return rows


def _print_rows(rows: list[AuditRow]) -> None:
    now_wall_s = time.time()
    cells = [
        (
            with_plain_spaces(moment_text(row.wall_s, now_wall_s=now_wall_s)),
            row.who,
            row.what,
            row.run[:SHORT_ID],
            row.subject,
            row.result,
        )
        for row in rows
    ]
    print_table(
        ("WHEN", "WHO", "WHAT", "RUN", "OF", "RESULT"), cells, folds=("RESULT",), elided="OF"
    )
