"""The batch job of this process, as scheduler or launcher set it: id, rank, when it must end.

Read from environment variables only; no request goes to a cluster. Sources: srun(1) and sbatch(1)
of Slurm 23, qsub of PBS and SGE, bsub of LSF, torchrun, TF_CONFIG of `tf.distribute`, mpirun of
Open MPI and MPICH.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast


@dataclass(frozen=True, slots=True)
class BatchJob:
    """Part of a batch job that a process is; all empty outside of a job.

    Attributes:
        system: "slurm", "pbs", "lsf" or "sge"; empty when no scheduler started it.
        id: The job's id there, with the task of an array ("77_3").
        name: The job's name; empty if it has none or a generic one.
        ends_wall_s: End of its time limit, UTC epoch seconds; None if unknown.
        rank: Rank among the processes of one strategy, from 0; None if it is alone.
        world_size: Number of these processes; 0 if it is alone.
        group: Id that all of them share, and no others at the same time; may be empty.
    """

    system: str = ""
    id: str = ""
    name: str = ""
    ends_wall_s: float | None = None
    rank: int | None = None
    world_size: int = 0
    group: str = ""

    @property
    def label(self) -> str:
        """Scheduler and id of the job ("slurm 1234"), or nothing."""
        return f"{self.system} {self.id}" if self.id else ""


_SYSTEMS: Final = (
    ("slurm", "SLURM_JOB_ID", "SLURM_JOB_NAME"),
    ("pbs", "PBS_JOBID", "PBS_JOBNAME"),
    ("lsf", "LSB_JOBID", "LSB_JOBNAME"),
    ("sge", "JOB_ID", "JOB_NAME"),
)
_GENERIC_NAMES: Final = frozenset({"interactive", "bash", "sh", "zsh", "wrap", "STDIN", "QLOGIN"})
_LAUNCHERS: Final = (
    ("RANK", "WORLD_SIZE", ("TORCHELASTIC_RUN_ID",), ("MASTER_ADDR", "MASTER_PORT")),
    ("HOROVOD_RANK", "HOROVOD_SIZE", (), ("HOROVOD_GLOO_RENDEZVOUS_ADDR",)),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ("PMIX_NAMESPACE",), ()),
    ("PMI_RANK", "PMI_SIZE", ("PMI_JOBID",), ("PMI_PORT",)),
)
"""Variables of rank and size, of a name of the launch, and of the address at which its processes
meet."""

_TF_TASK_ORDER: Final = ("chief", "master", "worker", "ps", "evaluator")


def find_batch_job(environ: Mapping[str, str]) -> BatchJob:
    """The job that the environment names."""
    system, job, name = _scheduler(environ)
    rank, size, launch = _find_rank(environ)
    is_one_of_many = rank is not None and size > 1
    group = launch
    if job and is_one_of_many:
        step = environ.get("SLURM_STEP_ID", "") if system == "slurm" else ""
        group = f"{system} {job}.{step}" if step else f"{system} {job}"
    return BatchJob(
        system=system,
        id=job,
        name=name,
        ends_wall_s=_moment(environ.get("SLURM_JOB_END_TIME")) if system == "slurm" else None,
        rank=rank if is_one_of_many else None,
        world_size=size if is_one_of_many else 0,
        group=group if is_one_of_many else "",
    )


def _scheduler(environ: Mapping[str, str]) -> tuple[str, str, str]:
    for system, variable, named in _SYSTEMS:
        job = environ.get(variable, "")
        # JOB_ID is a word that others use too.
        if not job or (system == "sge" and not environ.get("SGE_ROOT")):
            continue
        array = environ.get("SLURM_ARRAY_JOB_ID")
        task = environ.get("SLURM_ARRAY_TASK_ID")
        if system == "slurm" and array and task:
            job = f"{array}_{task}"
        name = environ.get(named, "")
        return system, job, "" if name in _GENERIC_NAMES else name
    return "", "", ""


def _find_rank(environ: Mapping[str, str]) -> tuple[int | None, int, str]:
    """Rank, size and a name of the launch, from the most exact source."""
    for rank_variable, size_variable, named, rendezvous in _LAUNCHERS:
        rank = _count(environ.get(rank_variable))
        size = _count(environ.get(size_variable))
        if rank is not None and size is not None and rank < size:
            return rank, size, _launch(environ, named, rendezvous)
    tensorflow_rank = _tensorflow_rank(environ.get("TF_CONFIG", ""))
    return tensorflow_rank if tensorflow_rank is not None else _slurm_rank(environ)


def _launch(
    environ: Mapping[str, str], named: tuple[str, ...], rendezvous: tuple[str, ...]
) -> str:
    for variable in named:
        value = environ.get(variable, "")
        if value and value != "none":  # what torchrun says when it was given none
            return value
    addresses = [environ.get(variable, "") for variable in rendezvous]
    return _digest(":".join(addresses)) if addresses and all(addresses) else ""


def _slurm_rank(environ: Mapping[str, str]) -> tuple[int | None, int, str]:
    # A batch script has a SLURM_PROCID as well; only srun starts as many as are counted.
    if not (environ.get("SLURM_STEP_ID") or environ.get("SLURM_STEPID")):
        return None, 0, ""
    size = _count(environ.get("SLURM_STEP_NUM_TASKS")) or _count(environ.get("SLURM_NTASKS")) or 0
    return _count(environ.get("SLURM_PROCID")), size, ""


def _tensorflow_rank(config: str) -> tuple[int, int, str] | None:
    if not config:
        return None
    try:
        read: Any = json.loads(config)
        cluster = read["cluster"]
        task = read["task"]
        kind = str(task["type"])
        index = int(task["index"])
        sizes = {str(each): len(addresses) for each, addresses in cluster.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    kinds = [*_TF_TASK_ORDER, *sorted(sizes.keys() - set(_TF_TASK_ORDER))]
    if kind not in sizes or not 0 <= index < sizes[kind]:
        return None
    before = sum(sizes.get(each, 0) for each in kinds[: kinds.index(kind)])
    return before + index, sum(sizes.values()), _digest(json.dumps(cast("object", cluster)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _count(text: str | None, *, digits: int = 9) -> int | None:
    is_count = text is not None and text.isascii() and text.isdigit() and len(text) <= digits
    return int(text) if text is not None and is_count else None


def _moment(text: str | None) -> float | None:
    seconds = _count(text, digits=11)
    return float(seconds) if seconds else None
