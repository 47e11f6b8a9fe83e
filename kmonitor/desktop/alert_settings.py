"""The user's rules for alerts, as JSON."""

import logging
from pathlib import Path

import msgspec

from kmonitor.presenters.alert_rules import AlertSettings

_log = logging.getLogger(__name__)
_NAME = "alerts.json"


def load_alert_settings(folder: Path) -> AlertSettings:
    """Rules from `alerts.json` in a folder; the usual ones where it is missing or damaged."""
    path = folder / _NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=AlertSettings)
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
    new = path.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        new.touch(mode=0o600)
        new.write_bytes(msgspec.json.format(msgspec.json.encode(settings)))
        new.replace(path)
    except OSError as exc:
        _log.warning("%s was not written: %s", path, exc)
        return f"{path} cannot be written: {exc.strerror}."
    return ""
