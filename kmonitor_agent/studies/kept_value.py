"""What a fold returned, as it lies in its study's folder: sealed, so that damage is seen."""

import hashlib
from typing import Final

_MAGIC: Final = b"kmv1"
_DIGEST_BYTES: Final = 32
_HEAD_BYTES: Final = len(_MAGIC) + _DIGEST_BYTES


def sealed(body: bytes, study: str, index: int) -> bytes:
    """A packed value as it is kept.

    Args:
        body: The value.
        study: The study's id.
        index: The fold's.
    """
    return _MAGIC + _digest(body, study, index) + body


def opened(data: bytes, study: str, index: int) -> bytes:
    """The packed value again.

    Args:
        data: As it was kept.
        study: The study's id.
        index: The fold's.

    Raises:
        ValueError: It is damaged, or that of another fold or study.
    """
    body = data[_HEAD_BYTES:]
    if data[:_HEAD_BYTES] != _MAGIC + _digest(body, study, index):
        raise ValueError("it is damaged, or of another fold")
    return body


def _digest(body: bytes, study: str, index: int) -> bytes:
    return hashlib.sha256(f"{study} {index}\n".encode() + body).digest()
