"""The guide's table of every field that leaves a training process, made from the protocol.

`python -m tests.support.guide_fields` prints it, to be put into
`resources/guide/files-and-privacy.md` when the protocol has grown.
"""

import inspect
import re
import typing

import msgspec

from kmonitor_agent.wire.messages.events import AnyEvent, Verdict
from kmonitor_agent.wire.messages.unions import FromAgent

_FIELD = re.compile(r"^(?:Attributes:\s*)?([a-z_][a-z0-9_, ]*): (.*)$")


def structs_that_leave() -> list[type[msgspec.Struct]]:
    """Every event and every message of an agent, with the structs inside them."""
    found: dict[type[msgspec.Struct], None] = {}
    for union in (AnyEvent, FromAgent):
        for struct in typing.get_args(union):
            if struct is not Verdict:  # the hub's own
                _gather(struct, found)
    return list(found)


def field_rows(struct: type[msgspec.Struct]) -> list[str]:
    """One table row for each field: name and what it is, as the protocol documents it."""
    told = _documented(struct)
    return [f"| `{name}` | {told[name]} |" for name in struct.__struct_fields__]


def heading(struct: type[msgspec.Struct]) -> str:
    """The heading above a struct's rows: its tag on the wire, or its name inside of another."""
    tag = struct.__struct_config__.tag
    first = (struct.__doc__ or "").strip().splitlines()[0]
    return f"**{f'`{tag}`' if tag else struct.__name__}** {first}"


def tables() -> str:
    """All of it as Markdown."""
    parts: list[str] = []
    for struct in structs_that_leave():
        parts += [heading(struct), "", "| field | what |", "|---|---|", *field_rows(struct), ""]
    return "\n".join(parts)


def _gather(annotation: object, found: dict[type[msgspec.Struct], None]) -> None:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        if annotation not in found:
            found[annotation] = None
            for hint in typing.get_type_hints(annotation).values():
                _gather(hint, found)
        return
    for part in typing.get_args(annotation):
        _gather(part, found)


def _documented(struct: type[msgspec.Struct]) -> dict[str, str]:
    told: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        names: list[str] = []
        for line in inspect.cleandoc(base.__dict__.get("__doc__") or "").splitlines():
            found = _FIELD.match(line.strip())
            if found:
                names = found.group(1).split(", ")
                told |= dict.fromkeys(names, found.group(2))
            elif names and line.startswith("        "):
                told |= {name: f"{told[name]} {line.strip()}" for name in names}
    return told


if __name__ == "__main__":
    print(tables())  # noqa: T201 - a tool for whoever keeps the guide
