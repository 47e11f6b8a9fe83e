"""Messages between the study and a Ray task: plain bytes, which Ray carries."""

from typing import Final

import msgspec

from kmonitor_agent.reclaim.restart.crash_diagnosis import ProcessDeath
from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.carried_function import CarriedFunction
from kmonitor_agent.studies.fold_messages import FitPhase
from kmonitor_agent.wire.messages.study_events import FoldCause
from kmonitor_agent.wire.spool.format import SessionFacts


class AttemptJob(msgspec.Struct, frozen=True):
    """Job for a task: one attempt of one fold.

    Attributes:
        study: The study's id.
        folder: Path of the study's folder, where the node may find it too.
        host: Id of the host that the study runs on.
        fold: Number of the fold, from 0.
        folds: Number of folds of the study.
        attempt: Number of the attempt, from 1.
        saves_each_epoch: True if fits save their state each epoch, since the fold may be retried.
        keeps_files: True if its files stay on the node after a kill, for the next attempt.
        function: Pickled function for the fold's own process; the task does not load it.
        argv: The script's arguments.
        path: Module search path of the study's process.
        cwd: Working directory of the study's process.
        environ: Environment variables of the study's process that control how frameworks compute.
        folder_environment: Environment variables of the study's process with kmonitor's folders on
            its host.
        hub: `KMONITOR_HUB` for nodes elsewhere: a hub that they reach, or "off".
        splits: Name to bytes of the files with this fold's indices.
        runs: Run names to run ids of earlier attempts.
        memory: As for `run_folds`.
        timeout_s: As for `run_folds`.
        gpus: Number of GPUs that Ray gives the task.
    """

    study: str
    folder: str
    host: str
    fold: int
    folds: int
    attempt: int
    saves_each_epoch: bool
    keeps_files: bool
    function: CarriedFunction
    argv: list[str]
    path: list[str]
    cwd: str
    environ: dict[str, str]
    folder_environment: dict[str, str]
    hub: str
    splits: dict[str, bytes]
    runs: dict[str, str]
    memory: str | float | None
    timeout_s: float | None
    gpus: int


class AttemptStarted(msgspec.Struct, frozen=True, tag="started"):
    """The task has started.

    Attributes:
        node: Ray's id of the node.
        host: Name of its host.
        stop_order_path: Folder on the node for a `StopOrder`.
        has_folder: True if it sees the study's folder, so that no file needs to be transferred.
    """

    node: str
    host: str
    stop_order_path: str
    has_folder: bool


class AttemptProgress(msgspec.Struct, frozen=True, tag="progress"):
    """Progress of the attempt.

    Attributes:
        is_ready: True if the function was loaded.
        elapsed_s: Time since it began, seconds.
        steps: Number of steps so far.
        share: Part of its work that is done, 0..1; None: unknown.
        phase: Phase of the fit in which it is.
        silent_s: Time since its last step, seconds.
        longest_gaps_s: Longest gaps between its steps so far, by phase, seconds.
        held_bytes: Memory of all its processes, bytes.
        peak_bytes: Peak of `held_bytes`, bytes.
        device: GPU, as in CUDA_VISIBLE_DEVICES; empty if none.
        resumed: True if it continued where the attempt before was killed.
        runs: Run names to run ids.
    """

    is_ready: bool
    elapsed_s: float
    steps: int
    share: float | None
    phase: FitPhase
    silent_s: float
    longest_gaps_s: dict[FitPhase, float]
    held_bytes: int
    peak_bytes: int
    device: str
    resumed: bool
    runs: dict[str, str]


class TrainingEvents(msgspec.Struct, frozen=True, tag="events"):
    """Events that a training on the node wrote into its spool, in order.

    Attributes:
        facts: Facts of the session that wrote them.
        bodies: Encoded events.
    """

    facts: SessionFacts
    bodies: list[bytes]


class FilePart(msgspec.Struct, frozen=True, tag="part"):
    """Part of a file of the fold.

    Attributes:
        name: "value", "output", or "fold/" and the path below the fold's folder.
        data: Next bytes of the file.
        is_first: True for the first part of the file.
    """

    name: str
    data: bytes
    is_first: bool


class AttemptEnded(msgspec.Struct, frozen=True, tag="ended"):
    """The attempt ended; always the last message.

    Attributes:
        attempt: Record of the attempt.
        death: End of the attempt's process, for its runs.
        runs: Run names to run ids.
        longest_gaps_s: Longest gaps between its steps, by phase, seconds.
        refused: Reason why the function cannot be loaded; empty if it was.
    """

    attempt: Attempt
    death: ProcessDeath
    runs: dict[str, str]
    longest_gaps_s: dict[FitPhase, float]
    refused: str


TaskMessage = AttemptStarted | AttemptProgress | TrainingEvents | FilePart | AttemptEnded


class StopOrder(msgspec.Struct, frozen=True):
    """Order of the study to end an attempt, based on other folds.

    Attributes:
        cause: Cause of the end.
        why: The reason, as text.
    """

    cause: FoldCause
    why: str


_MESSAGE_DECODER: Final = msgspec.msgpack.Decoder(TaskMessage)
_JOB_DECODER: Final = msgspec.msgpack.Decoder(AttemptJob)
_STOP_ORDER_DECODER: Final = msgspec.json.Decoder(StopOrder)


def encode_task_message(message: TaskMessage) -> bytes:
    return msgspec.msgpack.encode(message)


def decode_task_message(data: bytes) -> TaskMessage:
    """Decode a message of a task. Raises: msgspec.MsgspecError."""
    return _MESSAGE_DECODER.decode(data)


def encode_for_task(message: "AttemptJob | StopOrder") -> bytes:
    """Encode a message of the study: a job is sent as an argument, a stop order as a file."""
    if isinstance(message, StopOrder):
        return msgspec.json.encode(message)
    return msgspec.msgpack.encode(message)


def decode_job(data: bytes) -> AttemptJob:
    """Decode a job. Raises: msgspec.MsgspecError."""
    return _JOB_DECODER.decode(data)


def decode_stop_order(data: bytes) -> StopOrder | None:
    """Decode a stop order; None while it is incomplete."""
    try:
        return _STOP_ORDER_DECODER.decode(data)
    except msgspec.MsgspecError:
        return None
