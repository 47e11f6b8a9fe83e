# pyright: basic
"""One request to a child process that runs the user's code, and its reply.

The request comes as JSON on standard input, the reply goes as JSON to standard output. Exceptions
of the user's code become the `error` of the reply, its prints go to standard error.
"""

import os
import re
import sys
import traceback
from collections.abc import Callable
from typing import TypeVar

import msgspec

from kmonitor_agent.describing.model_source import NoModel
from kmonitor_agent.frameworks.layout_reader import WrongShape
from kmonitor_agent.wire.local.parent_process import end_with_parent

Request = TypeVar("Request")

_ERROR_TEXT_LIMIT: int = 400
_CAUSE: str = "Exception encountered: "
_DUMP = re.compile(r"(Full object config: |config=|Received: config=)[{\[].*")
"""Whole configurations that Keras prints in errors. Source: texts of Keras 3.15."""


def answer_request(
    kind: type[Request],
    reply: Callable[[Request], msgspec.Struct],
    error_reply: Callable[[str], msgspec.Struct],
) -> None:
    """Read a request of this kind and write its reply.

    Args:
        reply: Creates the reply; may raise anything.
        error_reply: Creates the reply from the text of an error.
    """
    end_with_parent(os.getppid())
    replies = os.dup(1)
    os.dup2(2, 1)
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=kind)
    try:
        answer = reply(request)
    except (NoModel, WrongShape) as exc:
        answer = error_reply(exc.why)
    except Exception as exc:  # noqa: BLE001 - the user's code may raise anything
        answer = error_reply(user_code_error_text(exc))
    except SystemExit:
        answer = error_reply("the code exited before it created a model")
    with os.fdopen(replies, "wb") as file:
        file.write(msgspec.json.encode(answer))


def user_code_error_text(exc: BaseException) -> str:
    """One line for an exception, with the position in the user's own code if it was raised there.

    Keras' wrapper texts and printed configurations are left out.
    """
    text = str(exc).rpartition(_CAUSE)[2]
    lines = [_DUMP.sub("", each).strip() for each in text.splitlines()]
    message = " ".join(each for each in lines if each)
    summary = f"{_in_users_code(exc)}{type(exc).__name__}: {message}"
    return summary if len(summary) <= _ERROR_TEXT_LIMIT else f"{summary[:_ERROR_TEXT_LIMIT]}\u2026"


def _in_users_code(exc: BaseException) -> str:
    frames = traceback.extract_tb(exc.__traceback__)
    own = [each for each in frames if "site-packages" not in each.filename]
    own = [each for each in own if "kmonitor_agent" not in each.filename]
    return f"{own[-1].filename}:{own[-1].lineno}: " if own else ""
