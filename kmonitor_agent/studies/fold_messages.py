"""Messages between a fold's process and the study: lines of JSON over a pair of sockets.

Behind the first message, the job, follows the function, with the size given in the job.
"""

import selectors
import socket
import threading
from contextlib import suppress
from typing import Final, Literal

import msgspec

from kmonitor_agent.wire.messages.study_events import TrialOutcome

MOST_TEXT: Final = 16_000
"""Maximum length of an exception's text, characters."""

FitPhase = Literal["begin", "step", "between", "after"]
"""Phase of a fit: before the first steps; within an epoch's steps; between epochs; after a fit."""


class FoldJob(msgspec.Struct, frozen=True):
    """Job for a fold's process.

    Attributes:
        function: Text for the function.
        refusal: First words of a refusal.
        size: Size of the pickled function, bytes.
        argv: The script's arguments.
        index: Number of the fold, from 0.
        attempt: Number of the attempt, from 1.
        directory: The fold's folder.
        value: File for the returned value.
        study: The study's id.
        parent: Process id of the study.
    """

    function: str
    refusal: str
    size: int
    argv: list[str]
    index: int
    attempt: int
    directory: str
    value: str
    study: str
    parent: int


class FoldReady(msgspec.Struct, frozen=True, tag="ready"):
    """The function is loaded; the process waits for the start."""


class FunctionNotFound(msgspec.Struct, frozen=True, tag="refused"):
    """The function could not be loaded.

    Attributes:
        why: The message, with the traceback.
    """

    why: str


class StepProgress(msgspec.Struct, frozen=True, tag="progress"):
    """Progress of the fold; sent when it changed.

    Attributes:
        at_s: Time of the observation, seconds of `time.monotonic`, equal in all processes of a
            host.
        steps: Number of steps so far, over all fits.
        phase: Phase of the fit in which it is.
        share: Part of the running fit that is done, 0..1; None: unknown.
        vram_bytes: Peak of the framework's allocator on a GPU, bytes; None: no GPU is used.
        private: True if one of its callbacks is private.
    """

    at_s: float
    steps: int
    phase: FitPhase
    share: float | None = None
    vram_bytes: float | None = None
    private: bool = False


class FunctionReturned(msgspec.Struct, frozen=True, tag="returned"):
    """The function returned or raised.

    Attributes:
        how: "finished" with the value in its file, or the cause of its end.
        error: Type and message of the exception.
        trace: Its traceback.
        steps: See `StepProgress`.
        peak_bytes: Approximate peak memory of the process, bytes; 0: unknown.
        vram_bytes: See `StepProgress`.
        private: See `StepProgress`.
        outcome: See `Attempt`; `error` says why.
    """

    how: Literal["finished", "error", "out_of_memory", "interrupted"]
    error: str = ""
    trace: str = ""
    steps: int = 0
    peak_bytes: int = 0
    vram_bytes: float | None = None
    private: bool = False
    outcome: TrialOutcome = ""


class FoldQuestion(msgspec.Struct, frozen=True, tag="question"):
    """A question of the function to the study; the function waits for the answer.

    Attributes:
        question: Packed plain data.
    """

    question: bytes


FoldMessage = FoldReady | FunctionNotFound | StepProgress | FunctionReturned | FoldQuestion


class FoldAnswer(msgspec.Struct, frozen=True):
    """Answer of the study to a `FoldQuestion`.

    Attributes:
        answer: Packed plain data.
    """

    answer: bytes


_MESSAGE_DECODER: Final = msgspec.json.Decoder(FoldMessage)
_JOB_DECODER: Final = msgspec.json.Decoder(FoldJob)
_ANSWER_DECODER: Final = msgspec.json.Decoder(FoldAnswer)
_ENCODER: Final = msgspec.json.Encoder()
_GO: Final = b"go\n"
_TAKES_WITHIN_S: Final = 5.0
"""Maximum time for a fold to read the answer to its question, seconds."""


class FoldConnection:
    """The study's end of the connection to one fold; receiving never waits.

    Attributes:
        is_open: True while the other end is open.
    """

    def __init__(self, end: socket.socket) -> None:
        end.settimeout(0.0)
        self._end = end
        self._partial_line = b""
        self._unsent: list[memoryview] = []
        self.is_open = True

    def fileno(self) -> int:
        """Descriptor to wait on."""
        return self._end.fileno()

    @property
    def awaited_events(self) -> int:
        """Events to wait for, as flags of `selectors`."""
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)

    def receive(self) -> list[FoldMessage]:
        """Messages since the last call; other lines (written by the function) are dropped."""
        self._send()
        while True:
            try:
                part = self._end.recv(65536)
            except BlockingIOError:
                break
            except OSError:
                part = b""
            if not part:
                self.is_open = False
                break
            self._partial_line += part
        *lines, self._partial_line = self._partial_line.split(b"\n")
        messages: list[FoldMessage] = []
        for line in lines:
            try:
                messages.append(_MESSAGE_DECODER.decode(line))
            except msgspec.MsgspecError:
                continue
        return messages

    def job(self, job: FoldJob, function: bytes) -> None:
        """Send job and pickled function to a process that was just started.

        Bytes that the process does not take at once are sent by later calls of `receive`: the
        process is still importing, and other folds must be served meanwhile.
        """
        self._unsent = [memoryview(_ENCODER.encode(job) + b"\n"), memoryview(function)]
        self._send()

    def _send(self) -> None:
        while self._unsent:
            try:
                sent = self._end.send(self._unsent[0])
            except BlockingIOError:
                return
            except OSError:  # dead already, as its exit status shows
                self._unsent.clear()
                return
            self._unsent[0] = self._unsent[0][sent:]
            if not self._unsent[0]:
                del self._unsent[0]

    def go(self) -> bool:
        """Start the function; False if the process is gone."""
        try:
            self._end.send(_GO)
        except OSError:
            return False
        return True

    def answer(self, answer: FoldAnswer) -> bool:
        """Answer a question; False if the process does not take the answer."""
        self._end.settimeout(_TAKES_WITHIN_S)
        try:
            self._end.sendall(_ENCODER.encode(answer) + b"\n")
        except OSError:
            return False
        finally:
            self._end.settimeout(0.0)
        return True

    def close(self) -> None:
        self.is_open = False
        self._end.close()


class StudyConnection:
    """The fold's end of the connection; `send` may be called from any thread.

    Attributes:
        socket: Socket that the fold inherited.
        reader: Reads from it.
    """

    def __init__(self, descriptor: int) -> None:
        """Open the inherited socket, and hide it from processes that the function starts."""
        self.socket = socket.socket(fileno=descriptor)
        self.socket.set_inheritable(False)
        self.reader = self.socket.makefile("rb")
        self._send_lock = threading.Lock()
        self._ask_lock = threading.Lock()

    def job(self) -> FoldJob:
        """Read the job. Raises: msgspec.MsgspecError, OSError: the study is gone."""
        return _JOB_DECODER.decode(self.reader.readline())

    def function(self, job: FoldJob) -> bytes:
        """Read the pickled function, once, behind the job."""
        return self.reader.read(job.size)

    def wait(self) -> bool:
        """Wait for the start; False if the study is over."""
        return self.reader.readline() == _GO

    def send(self, message: FoldMessage) -> None:
        """Send to the study; does nothing if the study is gone."""
        with suppress(OSError), self._send_lock:
            self.socket.sendall(_ENCODER.encode(message) + b"\n")

    def ask(self, question: bytes) -> bytes:
        """Send a question to the study and wait for its answer.

        Raises: ConnectionError: The study is over.
        """
        with self._ask_lock:
            self.send(FoldQuestion(question))
            line = self.reader.readline()
        if not line:
            raise ConnectionError("the study is over")
        return _ANSWER_DECODER.decode(line).answer
