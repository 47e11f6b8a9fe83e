"""Jobs of Ray tasks: the function, this process's environment, the fold's indices."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from kmonitor_agent.link.hub_choice import HUB_VARIABLE
from kmonitor_agent.studies.fold import splits_folder
from kmonitor_agent.studies.launch import StudyOptions
from kmonitor_agent.studies.ray.messages import AttemptJob
from kmonitor_agent.studies.ray.node import framework_environment, host_id, kmonitor_environment
from kmonitor_agent.studies.study_folder import VALUE_BYTES, StudyFacts
from kmonitor_agent.wire.local.hub_address import SCHEME
from kmonitor_agent.wire.local.private_files import read_plain


class AttemptJobFactory:
    """Creates the jobs of one study; data common to all are read once."""

    def __init__(
        self,
        options: StudyOptions,
        facts: StudyFacts,
        folder: Path,
        memory: str | float | None,
        gpus: int,
    ) -> None:
        """Read the data common to all tasks.

        Args:
            memory: As for `run_folds`.
            gpus: Number of GPUs that Ray gives each task.
        """
        self._study_options = options
        self._facts = facts
        self._folder = folder
        self._memory = memory
        self._gpus = gpus
        self._host = host_id()

    def of(
        self, fold: int, attempt: int, runs: Mapping[str, str], *, keeps_files: bool
    ) -> AttemptJob:
        """Job of one attempt.

        Args:
            attempt: Number of the attempt, from 1.
            runs: Run names to run ids of earlier attempts.
            keeps_files: True if another attempt may follow.
        """
        hub = os.environ.get(HUB_VARIABLE, "")
        return AttemptJob(
            study=self._facts.id,
            folder=str(self._folder),
            host=self._host,
            fold=fold,
            folds=self._facts.folds,
            attempt=attempt,
            saves_each_epoch=self._study_options.retries > 0,
            keeps_files=keeps_files,
            function=self._study_options.carried,
            argv=sys.argv,
            path=sys.path,
            cwd=str(Path.cwd()),
            environ=framework_environment(os.environ),
            folder_environment=kmonitor_environment(os.environ),
            hub=hub if hub.startswith(SCHEME) else "off",
            splits=self._splits(fold),
            runs=dict(runs),
            memory=self._memory,
            timeout_s=self._study_options.time.timeout_s,
            gpus=self._gpus,
        )

    def _splits(self, fold: int) -> dict[str, bytes]:
        folder = splits_folder(self._folder)
        return {path.name: read_plain(path, VALUE_BYTES) for path in folder.glob(f"{fold}-*.npy")}
