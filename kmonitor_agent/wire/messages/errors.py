"""What can be wrong with bytes that arrive from a socket or a spool."""


class ProtocolError(Exception):
    """Root of all that a peer can send wrongly."""


class NotOurs(ProtocolError):
    """The frames do not start with our magic, or are not exactly two."""


class Malformed(ProtocolError):
    """The body is not a message or event of this protocol.

    Attributes:
        why: What the decoder found, for the log; never shown as advice to a user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class UnsupportedType(ProtocolError):
    """A well-formed map whose `type` this version does not know.

    Attributes:
        type_name: The unknown tag, at most 64 characters of it.
    """

    def __init__(self, type_name: str) -> None:
        super().__init__(type_name)
        self.type_name = type_name[:64]


class TooLarge(ProtocolError):
    """An event or message over its bound.

    Attributes:
        n_bytes: Its size, bytes.
        limit_bytes: The bound, bytes.
    """

    def __init__(self, n_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"{n_bytes} bytes, at most {limit_bytes}")
        self.n_bytes = n_bytes
        self.limit_bytes = limit_bytes
