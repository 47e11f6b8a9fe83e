"""Where a team's database is, as libpq writes it, and how it is shown: never with a password."""

from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from kmonitor.base.errors import Expected

_SECRET: Final = ("password", "sslpassword", "oauth_client_secret", "scram_client_key")

_MANNERS: Final[dict[str, Any]] = {
    "application_name": "kmonitor hub",
    "client_encoding": "utf8",
    "connect_timeout": 5,
    # A server that vanished is noticed within some ten seconds.
    "keepalives_idle": 10,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


class AddressUnreadable(Expected):
    """This is no address of a PostgreSQL database; what was written is not repeated."""

    def __init__(self) -> None:
        super().__init__(
            "The address of the PostgreSQL database cannot be read.",
            "Write it as postgresql://USER@HOST:PORT/DATABASE; characters such as / or @ in a "
            "part of it are written as %2F or %40.",
        )


@dataclass(frozen=True, slots=True)
class Address:
    """A database on a server.

    Attributes:
        conninfo: For libpq; what it leaves out comes from libpq's environment and files.
        shown: For people, without passwords.
        has_password: Whether a password is written in it.
    """

    conninfo: str = field(repr=False)
    shown: str
    has_password: bool

    @classmethod
    def read(cls, text: str) -> "Address":
        """The address that a URL names. Raises: `AddressUnreadable`."""
        try:
            parts = {name: value for name, value in conninfo_to_dict(text).items() if value}
        except psycopg.Error:
            # Not `from exc`: libpq repeats the part it stumbled over, which may be a password.
            raise AddressUnreadable from None
        if not _is_plain(parts):
            raise AddressUnreadable
        has_password = any(name in parts for name in _SECRET)
        return cls(make_conninfo("", **{**_MANNERS, **parts}), _shown(parts), has_password)


def _is_plain(parts: dict[str, Any]) -> bool:
    # A `/` or `@` in a password that is not written as %2F or %40 ends up in other parts.
    is_port = all(each.isdigit() for each in str(parts.get("port", "0")).split(","))
    named = [str(parts.get(name, "")) for name in ("host", "dbname", "user")]
    return is_port and not any("@" in each for each in named) and "/" not in named[1]


def _shown(parts: dict[str, Any]) -> str:
    user = f"{parts['user']}@" if "user" in parts else ""
    port = f":{parts['port']}" if "port" in parts else ""
    asked = f"?service={parts['service']}" if "service" in parts else ""
    host = parts.get("host", parts.get("hostaddr", ""))
    return f"postgresql://{user}{host}{port}/{parts.get('dbname', '')}{asked}"
