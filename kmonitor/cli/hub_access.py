"""The hub as the commands use it: found or started, asked, and let go."""

from collections.abc import Generator
from contextlib import contextmanager

from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.local_hub import ensure_hub
from kmonitor.errors import Expected
from kmonitor_agent.local.folders import Folders, find_folders
from kmonitor_agent.local.sockets import NotPrivate


@contextmanager
def open_hub() -> Generator[HubClient]:
    """A client of this user's hub, which is started if none answers.

    Raises:
        Expected: The hub cannot be reached or started here, with what to do.
    """
    folders = find_folders()
    with folder_faults_named(folders):
        ensure_hub(folders)
    with HubClient(folders=folders) as client:
        yield client


@contextmanager
def folder_faults_named(folders: Folders) -> Generator[None]:
    """Turn what is wrong with our folders into a message with what to do."""
    try:
        yield
    except NotPrivate as exc:
        raise Expected(f"{exc.path} cannot be used: it {exc.why}.") from exc
    except OSError as exc:
        place = exc.filename or folders.state
        raise Expected(
            f"{place} cannot be used: {exc.strerror or exc}.",
            "Set KMONITOR_HOME to a folder that you can write to.",
        ) from exc
