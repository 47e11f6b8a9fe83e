"""How `--help` prints options: choices where they fit, no Python types, telling defaults only."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rich.theme import Theme

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel

_EMPTY: Final = ("False", '""', "()", "None")
"""Defaults that say nothing: an option that is not given is off, or empty."""

_MOST_CHOICES: Final = 26
"""Longest list of choices beside an option, characters; at 80 columns the column has 28."""

_STYLES: Final = {
    "markdown.code": "bold cyan",
    **dict.fromkeys(("cyclopts.choices", "cyclopts.default", "cyclopts.env_var"), "dim"),
}
"""No background, and colours of the terminal's own palette; rich prints code on black."""

_NAMES: Final = {
    **dict.fromkeys(("hub", "bind", "prometheus"), "ADDRESS"),
    **dict.fromkeys(("otlp", "webhook"), "URL"),
    **dict.fromkeys(("keep-size", "larger-than", "limit"), "SIZE"),
    **dict.fromkeys(("hold", "cool-down", "since", "older-than"), "TIME"),
    "fail-if": "CONDITION",
    "input-shape": "SHAPE",
    "measured": "BATCH=SIZE",
}
"""Placeholders of options whose own name says nothing about their value."""

_REQUIRED = re.compile(r"--([a-z-]+) (?:STR|CHOICE)\b")


class HelpFormat:
    """Formatter of cyclopts for `--help`."""

    show_metavar = True
    """Required options keep their placeholder in the line of usage."""

    def __call__(self, console: Any, options: Any, panel: "HelpPanel") -> None:
        """Print a panel of options or commands."""
        from cyclopts.help import DefaultFormatter  # noqa: PLC0415 - loaded for `--help` only

        entries = [_plain(entry) for entry in panel.entries]
        with console.use_theme(Theme(_STYLES)):
            DefaultFormatter()(console, options, panel.copy(entries=entries))

    def render_description(self, console: Any, _options: Any, description: Any) -> None:
        """Print what the command is for."""
        markdown = getattr(description, "primary_renderable", description)
        if hasattr(markdown, "code_theme"):
            markdown.code_theme = "ansi_dark"  # without a background
        console.print(_Styled(description))

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        """Print the line of usage."""
        from cyclopts.help import DefaultFormatter  # noqa: PLC0415 - loaded for `--help` only

        named = _REQUIRED.sub(lambda option: f"--{option[1]} {_named(option[1])}", str(usage))
        DefaultFormatter().render_usage(console, options, named)


class _Styled:
    """Markdown in our styles: the panel around it brings rich's own again."""

    def __init__(self, markdown: Any) -> None:
        self._markdown = markdown

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        with console.use_theme(Theme(_STYLES)):
            yield from console.render(self._markdown, options)


def _plain(entry: "HelpEntry") -> "HelpEntry":
    default = entry.default
    changes: dict[str, Any] = {"description": entry.description and _Styled(entry.description)}
    changes["default"] = None if default in _EMPTY else default and default.removesuffix(".0")
    # Before version 5 cyclopts has no placeholders.
    placeholder: str = getattr(entry, "metavar", None) or ""
    if placeholder and entry.names:
        changes["metavar"] = _placeholder(entry, placeholder)
        if changes["metavar"] == "|".join(entry.choices or ()):
            changes["choices"] = None
    return entry.copy(**changes)


def _placeholder(entry: "HelpEntry", placeholder: str) -> str:
    kind = placeholder.removesuffix("...")
    more = placeholder[len(kind) :]
    choices = "|".join(entry.choices or ())
    if choices and not more and len(choices) <= _MOST_CHOICES:
        return choices
    if kind in ("INT", "FLOAT"):
        return f"N{more}"
    return placeholder if kind == "PATH" else f"{_named(entry.names[0])}{more}"


def _named(option: str) -> str:
    name = option.lstrip("-")
    return _NAMES.get(name, name.replace("-", "_").upper())
