"""`kmonitor checkpoints`: checkpoints of a run on the disk, and the check that they are whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.cli.common.hub_access import open_hub
from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.run_choice import choose_run
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    print_json,
    print_table,
    print_text,
    size_text,
    terminal_safe,
)
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import decode_row
from kmonitor.ui.text.formats import moment_text, with_plain_spaces
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.events import FitStarted
from kmonitor_agent.wire.messages.unions import RunSummary

if TYPE_CHECKING:
    from kmonitor_agent.reclaim.checkpoint_seal import CheckpointHeader

_SUFFIX = ".h5"


@dataclass(frozen=True, slots=True)
class ListedCheckpoint:
    """One listed checkpoint. For a damaged one, position fields come from its name, or are None.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index of the epoch, from 0.
        step: Steps done in that epoch, 0 at its end.
        n_bytes: Size of the file, bytes.
        wall_s: Time of the checkpoint, UTC epoch seconds; for a damaged one, time of the last
            write.
        variables: Number of variables; None for a damaged one.
        checksum: Checksum of the state; empty for a damaged one.
        export: Path of the `.keras` file beside the checkpoint, or empty.
        state: "whole", "damaged: ..." or, if not verified, empty.
    """

    path: str
    fit: int | None
    epoch: int | None
    step: int | None
    n_bytes: int
    wall_s: float
    variables: int | None
    checksum: str
    export: str = ""
    state: str = ""


def checkpoints(
    run: str,
    /,
    *,
    verify: Annotated[bool, Parameter(name="--verify", negative="")] = False,
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    json: JsonOption = False,
) -> int:
    """List the checkpoints of a run, oldest first.

    Example: `kmonitor checkpoints last --verify`

    `kmonitor restore CHECKPOINT --into model.keras` turns one into a model that Keras can load.

    Without `--verify`, only the beginning of each is read. Exit status: 0, or 1 if one is
    damaged.

    Args:
        run: A run's ID or name, a prefix of either, or `last`.
        verify: Read every byte of each checkpoint and verify the checksums.
        folder: Search this folder; needed for a private run.
        json: One JSON list.
    """
    if find_spec("h5py") is None:
        raise UserError(
            "Checkpoints cannot be read here: h5py, which comes with Keras, is not installed.",
            "Run this in the Python environment used for training, or run: pip install h5py",
        )
    if folder is not None and not folder.is_dir():
        raise UserError(f"{folder} is not a folder.", "Use the folder with the run's checkpoints.")
    with open_hub() as client:
        chosen = choose_run(client.runs(), run)
        folders = (
            [folder.absolute()] if folder is not None else _checkpoint_folders(client, chosen)
        )
    found = sorted(
        (
            each
            for folder_path in folders
            for each in _in_folder(folder_path, chosen.run, verify=verify)
        ),
        key=lambda each: each.wall_s,
    )
    if json:
        print_json(
            [{name: getattr(each, name) for name in ListedCheckpoint.__slots__} for each in found]
        )
    else:
        _print_checkpoints(chosen, folders, found, verified=verify)
    return FAILED if any(each.state.startswith("damaged") for each in found) else DONE


def _checkpoint_folders(client: HubClient, run: RunSummary) -> list[Path]:
    """Folders that the run named, and the default folder."""
    events = (decode_row(row) for row in client.all_rows(run.run, ("fit_start",)))
    named = [
        Path(event.checkpoint_dir)
        for event in events
        if isinstance(event, FitStarted) and event.checkpoint_dir
    ]
    return list(dict.fromkeys([*named, find_folders().checkpoints / run.run]))


def _in_folder(folder: Path, run: str, *, verify: bool) -> list[ListedCheckpoint]:
    from kmonitor_agent.reclaim import checkpoint_seal  # noqa: PLC0415 - NumPy
    from kmonitor_agent.reclaim.checkpoint_seal import NotACheckpoint  # noqa: PLC0415 - beside it

    found: list[ListedCheckpoint] = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            header = checkpoint_seal.read_header(path)
        except (OSError, NotACheckpoint) as exc:
            found += _damaged(path, str(exc))
        else:
            if header.tag.run == run:
                found.append(_listed(path, header, _verified(path) if verify else ""))
    return found


def _listed(path: Path, header: "CheckpointHeader", state: str) -> ListedCheckpoint:
    return ListedCheckpoint(
        path=str(path),
        fit=header.tag.fit,
        epoch=header.tag.epoch,
        step=header.tag.step,
        n_bytes=path.stat().st_size,
        wall_s=header.wall_s,
        variables=header.variables,
        checksum=header.checksum,
        export=_export(path),
        state=state,
    )


def _damaged(path: Path, why: str) -> Iterator[ListedCheckpoint]:
    """Yield a damaged file with the fields in its name; nothing for another program's file."""
    from kmonitor_agent.reclaim.checkpoint_seal import has_checkpoint_magic  # noqa: PLC0415 - beside it
    from kmonitor_agent.reclaim.checkpoints import parse_checkpoint_name  # noqa: PLC0415 - NumPy

    parsed = parse_checkpoint_name(path)
    if parsed is None and not has_checkpoint_magic(path):
        return
    fit, epoch, step = parsed or (None, None, None)
    try:
        facts = path.stat()
    except OSError:
        return  # removed meanwhile
    yield ListedCheckpoint(
        path=str(path),
        fit=fit,
        epoch=epoch,
        step=step,
        n_bytes=facts.st_size,
        wall_s=facts.st_mtime,
        variables=None,
        checksum="",
        export=_export(path),
        state=f"damaged: {why}",
    )


def _export(path: Path) -> str:
    export = path.with_suffix(".keras")
    return str(export) if export.exists() else ""


def _verified(path: Path) -> str:
    from kmonitor_agent.reclaim.checkpoint_file import verify_checkpoint  # noqa: PLC0415 - NumPy
    from kmonitor_agent.reclaim.checkpoint_seal import NotACheckpoint  # noqa: PLC0415 - NumPy

    try:
        verify_checkpoint(path)
    except (NotACheckpoint, OSError) as exc:
        return f"damaged: {exc}"
    return "whole"


def _print_checkpoints(
    run: RunSummary, folders: list[Path], found: list[ListedCheckpoint], *, verified: bool
) -> None:
    if not found:
        print_text(
            f'"{terminal_safe(run.name)}" has no checkpoints in {", ".join(map(str, folders))}.'
        )
        print_text(f"Save one with: kmonitor command {run.run} save --wait")
        return
    has_state_column = verified or any(each.state for each in found)
    headers = ["WHEN", "FIT", "EPOCH", "STEP", "SIZE", "EXPORT", "FILE"]
    now_wall_s = SystemClock().wall_s()
    rows = [
        [
            with_plain_spaces(moment_text(each.wall_s, now_wall_s=now_wall_s)),
            "?" if each.fit is None else str(each.fit),
            "?" if each.epoch is None else str(each.epoch + 1),
            str(each.step) if each.step else "end",
            size_text(each.n_bytes),
            "yes" if each.export else "",
            each.path,
            *([each.state] if has_state_column else []),
        ]
        for each in found
    ]
    print_table(
        [*headers, "STATE"] if has_state_column else headers,
        rows,
        right=("FIT", "EPOCH", "STEP", "SIZE"),
        folds=("FILE", "STATE"),
    )
