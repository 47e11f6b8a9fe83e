"""The user's rules for alerts, as JSON."""

import logging
from pathlib import Path

import msgspec

from kmonitor.ui.alerts.alert_rules import AlertSettings
from kmonitor_agent.wire.local.plain_files import read_own, write_private
from kmonitor_agent.wire.local.private_files import make_own_folder

_log = logging.getLogger(__name__)
_NAME = "alerts.json"


def load_alert_settings(folder: Path) -> AlertSettings:
    """Rules from `alerts.json` in a folder; the usual ones where it is missing or damaged."""
    path = folder / _NAME
    try:
        return msgspec.json.decode(read_own(path), type=AlertSettings)
    except FileNotFoundError:
        return AlertSettings()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        _log.warning("%s is not used: %s", path, exc)
        return AlertSettings()


def save_alert_settings(folder: Path, settings: AlertSettings) -> str:
    """Write `alerts.json`, readable by its owner alone: an address may hold a secret.

    Returns:
        Why it could not be written; empty: it was.
    """
    path = folder / _NAME
    try:
        make_own_folder(folder)
        write_private(path, msgspec.json.format(msgspec.json.encode(settings)))
    except OSError as exc:
        _log.warning("%s was not written: %s", path, exc)
        return f"{path} cannot be written: {exc.strerror}."
    return ""
