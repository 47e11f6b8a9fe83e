"""`kmonitor checkpoints`: which states of a run lie on the disk, and whether they are whole."""

from collections import deque
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kmonitor.cli.hub_access import open_hub
from kmonitor.cli.run_choice import choose_run
from kmonitor.cli.statuses import DONE, FAILED
from kmonitor.cli.terminal import plain, say, say_json, say_table
from kmonitor.connect.hub_client import HubClient
from kmonitor.errors import Expected
from kmonitor.export.events import read_event
from kmonitor.presenters.formats import bytes_text, moment_text, plain_text
from kmonitor_agent.local.clock import SystemClock
from kmonitor_agent.local.folders import find_folders
from kmonitor_agent.protocol.facts import FitStarted
from kmonitor_agent.protocol.messages import RunSummary

_SUFFIX = ".h5"


@dataclass(frozen=True, slots=True)
class Listed:
    """One checkpoint, as it is listed.

    Attributes:
        path: The file.
        fit: Ordinal of its fit.
        epoch: Index from 0.
        step: Steps done in that epoch; 0 at its end.
        n_bytes: Size of the file, bytes.
        wall_s: When it was taken, UTC epoch seconds.
        variables: How many it holds.
        checksum: Of its state.
        export: Path of the `.keras` file beside it, or empty.
        state: "whole", "damaged: ..." or, when nobody looked, empty.
    """

    path: str
    fit: int
    epoch: int
    step: int
    n_bytes: int
    wall_s: float
    variables: int
    checksum: str
    export: str = ""
    state: str = ""


def checkpoints(
    run: str,
    /,
    *,
    verify: Annotated[bool, Parameter(name="--verify", negative="")] = False,
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """List the checkpoints of a run, oldest first.

    With `kmonitor restore CHECKPOINT --into model.keras` one becomes a model that Keras loads.

    Exit status: 0, or 1 when `--verify` finds a damaged one.

    Args:
        run: Id, the beginning of an id, name, or `last`.
        verify: Read each one's values and compare their checksums.
        folder: Look here, where the run does not say where its checkpoints are: a private one.
        json: One list of objects.
    """
    if find_spec("h5py") is None:
        raise Expected(
            "Checkpoints cannot be read here: h5py is not installed, which comes with Keras.",
            "Run this in the environment of the training, or: pip install h5py",
        )
    with open_hub() as client:
        chosen = choose_run(client.runs(), run)
        places = [folder.absolute()] if folder is not None else _places(client, chosen)
    found = sorted(
        (each for place in places for each in _in_folder(place, chosen.run, verify=verify)),
        key=lambda each: each.wall_s,
    )
    if json:
        say_json([{name: getattr(each, name) for name in Listed.__slots__} for each in found])
    else:
        _say_list(chosen, places, found, verified=verify)
    return FAILED if any(each.state.startswith("damaged") for each in found) else DONE


def _places(client: HubClient, run: RunSummary) -> list[Path]:
    """Folders that the run named, and the one that is used where a script names none."""
    told = (read_event(row) for row in client.all_rows(run.run, ("fit_start",)))
    named = [
        Path(event.checkpoint_dir)
        for event in told
        if isinstance(event, FitStarted) and event.checkpoint_dir
    ]
    return list(dict.fromkeys([*named, find_folders().checkpoints / run.run]))


def _in_folder(folder: Path, run: str, *, verify: bool) -> list[Listed]:
    from kmonitor_agent.reclaim.state_file import NotAStateFile, read_header  # noqa: PLC0415 - h5py

    found: list[Listed] = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            header = read_header(path)
        except (OSError, NotAStateFile):
            continue  # no checkpoint of ours, or cut off where its header should be
        if header.tag.run != run:
            continue
        export = path.with_suffix(".keras")
        found.append(
            Listed(
                path=str(path),
                fit=header.tag.fit,
                epoch=header.tag.epoch,
                step=header.tag.step,
                n_bytes=path.stat().st_size,
                wall_s=header.wall_s,
                variables=header.variables,
                checksum=header.checksum,
                export=str(export) if export.exists() else "",
                state=_verified(path) if verify else "",
            )
        )
    return found


def _verified(path: Path) -> str:
    from kmonitor_agent.reclaim.state_file import (  # noqa: PLC0415 - h5py
        NotAStateFile,
        read_architecture,
        read_variables,
    )

    try:
        deque(read_variables(path), maxlen=0)
        read_architecture(path)
    except NotAStateFile as exc:
        return f"damaged: {exc.why}"
    except OSError as exc:
        return f"damaged: {exc}"
    return "whole"


def _say_list(run: RunSummary, places: list[Path], found: list[Listed], *, verified: bool) -> None:
    if not found:
        say(f'"{plain(run.name)}" has no checkpoint in {", ".join(map(str, places))}.')
        say(f"Have one written with: kmonitor command {run.run} save --wait")
        return
    headers = ["when", "fit", "epoch", "step", "size", "export", "file"]
    now_wall_s = SystemClock().wall_s()
    rows = [
        [
            plain_text(moment_text(each.wall_s, now_wall_s=now_wall_s)),
            str(each.fit),
            str(each.epoch + 1),
            str(each.step) if each.step else "end",
            plain_text(bytes_text(each.n_bytes)),
            "yes" if each.export else "",
            each.path,
            *([each.state] if verified else []),
        ]
        for each in found
    ]
    say_table(
        [*headers, "state"] if verified else headers,
        rows,
        right=("fit", "epoch", "step", "size"),
        folds=("file", "state"),
    )
