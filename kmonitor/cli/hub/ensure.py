"""`kmonitor hub ensure`: run over ssh by a window on another machine to start a hub here."""

import os
import sys

from kmonitor.base.errors import UserError
from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.hub_access import folder_faults_named
from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    print_json,
    print_stderr,
    print_text,
    terminal_safe,
)
from kmonitor.connect.local_hub import ensure_hub
from kmonitor.connect.remote_hub import RemoteHub, RemoteRefusal
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import view_socket_path
from kmonitor_agent.wire.local.private_files import read_own
from kmonitor_agent.wire.messages.fields import MINOR_VERSIONS

OFF_FILE = "no-hub"
"""File in the settings folder that prevents remote starts of a hub."""


def ensure(*, json: JsonOption = False) -> int:
    """Start a hub here if none is running, and show where its socket is.

    A window on another machine runs this over ssh. It refuses, with exit status 1, if
    `KMONITOR_HUB=off` is set or the file `settings/no-hub` exists in kmonitor's folder.

    Args:
        json: One JSON object: `socket`, `version`, `pid`, `host`, `hub`, `python`, `protocol`;
            or `error` (`disabled` or `failed`), `what` and `remedy`.
    """
    folders = find_folders()
    refusal = _why_disabled(folders)
    found: RemoteHub | None = None
    if refusal is None:
        try:
            found = _ensured(folders)
        except UserError as exc:
            refusal = RemoteRefusal("failed", exc.what[:4096], exc.remedy[:4096])
    if json:
        outcome = refusal if found is None else found
        fields = fields_of(outcome)
        print_json({name: value for name, value in fields.items() if name != "found_by"})
    elif found is not None:
        print_text(
            terminal_safe(
                f"Hub {found.version} is listening on {found.socket} (process {found.pid})."
            )
        )
    elif refusal is not None:
        print_stderr(f"kmonitor: {refusal.what}")
        print_stderr(refusal.remedy)
    return FAILED if found is None else DONE


def _ensured(folders: Folders) -> RemoteHub:
    with folder_faults_named(folders):
        reply = ensure_hub(folders)
    return RemoteHub(
        socket=str(view_socket_path(folders)),
        version=reply.version,
        pid=reply.pid,
        host=reply.host,
        hub=reply.hub,
        python=sys.executable,
        protocol=MINOR_VERSIONS,
    )


def _why_disabled(folders: Folders) -> RemoteRefusal | None:
    if os.environ.get("KMONITOR_HUB", "").strip() == "off":
        what = "the hub is disabled here: KMONITOR_HUB=off is set."
        return RemoteRefusal("disabled", what, "Unset it for non-interactive logins.")
    off_file = folders.settings / OFF_FILE
    if not os.path.lexists(off_file):
        return None
    try:
        why = " ".join(read_own(off_file).decode("utf-8", "replace").split())[:500]
    except OSError:
        why = ""
    what = f"the hub is disabled here: {off_file} exists" + (f" ({why})." if why else ".")
    return RemoteRefusal("disabled", what, "Remove that file to enable it.")
