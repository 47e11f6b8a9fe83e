"""Folders of an attempt on a node: the study's own if the node sees it, else a replacement.

A task has a process of its own, in which nothing else runs afterwards: environment, working
directory and paths are set so that the fold's process inherits them.
"""

import os
import shutil
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from kmonitor_agent.link.hub_choice import HUB_VARIABLE
from kmonitor_agent.studies.fold import splits_folder
from kmonitor_agent.studies.ray.messages import AttemptJob
from kmonitor_agent.studies.study_folder import StudyFacts, StudyPaths, read_study_facts
from kmonitor_agent.wire.local.folders import (
    FOLDER_VARIABLES,
    SPOOL_VARIABLE,
    find_folders,
    make_studies_folder,
)
from kmonitor_agent.wire.local.private_files import make_folder, make_private_folder, write_private
from kmonitor_agent.wire.local.supervision import Supervision

_COMPUTING: Final = (
    "KERAS_",
    "TF_",
    "XLA_",
    "JAX_",
    "TORCH_",
    "PYTORCH_",
    "CUBLAS_",
    "NVIDIA_TF32_",
    "ONEDNN_",
    "MKL_",
    "OMP_",
    "OPENBLAS_",
    "PYTHONHASHSEED",
)
"""Prefixes of environment variables that control how frameworks compute."""

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class AttemptFolders:
    """Folders of one attempt on a node.

    Attributes:
        paths: Paths in the study's folder, or in the folder that replaces it.
        has_folder: True if `paths` are those of the study's own folder.
        stop_order_path: File that the study writes to end the attempt.
        spool: Spool of trainings that no hub on this node reads; None: a hub reads it.
    """

    paths: StudyPaths
    has_folder: bool
    stop_order_path: Path
    spool: Path | None

    def leave(self, fold: int, *, keeps_files: bool) -> None:
        """Clean up after an attempt whose files were all sent.

        Args:
            keeps_files: True if the next attempt may continue from its files.
        """
        self.stop_order_path.unlink(missing_ok=True)
        if self.spool is not None:
            shutil.rmtree(self.spool, ignore_errors=True)
        if not self.has_folder and not keeps_files:
            paths = self.paths
            for folder in (paths.fold_folder(fold), paths.resume_folder(fold)):
                shutil.rmtree(folder, ignore_errors=True)
            for file in (paths.value_file(fold), paths.output_file(fold)):
                file.unlink(missing_ok=True)


def prepare_node(job: AttemptJob) -> AttemptFolders:
    """Find or create an attempt's folders, and set this process up like the study's.

    Raises:
        OSError: The folders cannot be created.
        NotPrivate: Other users may enter the folders.
    """
    own = make_studies_folder(find_folders()) / job.study
    make_private_folder(own)
    has_folder = _is_study(Path(job.folder), job.study)
    paths = StudyPaths(Path(job.folder) if has_folder else own)
    if not has_folder:
        _make(paths, job)
    is_study_host = has_folder and job.host == host_id()
    name = f"{job.fold}-{job.attempt}"
    stop_order_path = own / "verdicts" / name
    stop_order_path.unlink(missing_ok=True)
    spool = None if is_study_host else own / "spool" / name
    hub = os.environ.get(HUB_VARIABLE, "") or job.hub
    if hub != "off":
        spool = None
    _adopt_environment(job, is_study_host=is_study_host, hub=hub, spool=spool)
    return AttemptFolders(paths, has_folder, stop_order_path, spool)


def host_id() -> str:
    """Id of this host since its boot, unique among hosts."""
    try:
        boot_id = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        boot_id = ""
    return f"{socket.gethostname()} {boot_id}"


def framework_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that control how frameworks compute; equal on every node and in the script."""
    return {name: value for name, value in environ.items() if name.startswith(_COMPUTING)}


def kmonitor_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables with the locations of kmonitor's files and its hub."""
    names = (*FOLDER_VARIABLES, HUB_VARIABLE)
    return {name: environ[name] for name in names if name in environ}


def _is_study(folder: Path, study: str) -> bool:
    try:
        facts = msgspec.json.decode(read_study_facts(folder), type=StudyFacts)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return facts.id == study


def _make(paths: StudyPaths, job: AttemptJob) -> None:
    for folder in (paths.value_file(0).parent, paths.output_file(0).parent):
        make_folder(folder)
    paths.output_file(job.fold).unlink(missing_ok=True)  # the study has what was printed before
    paths.value_file(job.fold).unlink(missing_ok=True)
    splits = splits_folder(paths.path)
    make_folder(splits)
    for name, data in job.splits.items():
        write_private(splits / name, data)
    if job.runs:
        make_private_folder(paths.resume_folder(job.fold).parent)
        make_private_folder(paths.resume_folder(job.fold))
        Supervision(paths.resume_folder(job.fold)).add_runs(job.runs)


def _adopt_environment(
    job: AttemptJob, *, is_study_host: bool, hub: str, spool: Path | None
) -> None:
    for name in framework_environment(os.environ):
        del os.environ[name]
    os.environ.update(job.environ)
    if is_study_host:
        for name in kmonitor_environment(os.environ):
            del os.environ[name]
        os.environ.update(job.folder_environment)
        os.chdir(job.cwd)
        sys.path[:] = job.path
    else:
        os.environ[HUB_VARIABLE] = hub
        if spool is not None:
            os.environ[SPOOL_VARIABLE] = str(spool)
    sys.argv[:] = job.argv
