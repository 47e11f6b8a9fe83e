"""`kmonitor compare`: two runs as a table, Markdown or JSON, with a status for pipelines."""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.cli.common.hub_access import FolderOption, HostOption, HubOption, HubRoute
from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.run_choice import PINNED, UnknownRun, choose_run
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    UsageError,
    print_error,
    print_json,
    print_table,
    print_text,
    terminal_safe,
)
from kmonitor.cli.compare.measures import (
    MEASURE_TITLES,
    MEASURE_UNITS,
    CannotCompare,
    Measures,
    is_export_file,
    known_measures,
    measures_of_file,
    measures_of_run,
)
from kmonitor.connect.hub_client import HubClient
from kmonitor.ui.text.formats import (
    BYTES,
    NOT_KNOWN,
    amount_text,
    change_text,
    parse_amount,
    percent_text,
    with_plain_spaces,
)
from kmonitor_agent.wire.messages.unions import RunSummary

_CONDITION: Final = re.compile(r"\s*(.+?)\s*([<>])\s*([+-]?)\s*([^\s+-].*?)\s*")
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_COUNTS: Final = {"k": 1000, "m": 1_000_000}
_EXAMPLE: Final = 'For example: --fail-if "ram>+5%" --fail-if "step_time>250ms"'


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition that makes the comparison fail.

    Attributes:
        text: The typed text.
        measure: Name of the measure.
        is_above: True if values above the bound fail; else values below.
        bound: Bound of the change from A to B where `is_change`, else of B's value; as a fraction
            of A's value where `is_fraction`, else in the measure's unit.
        is_change: True if the condition is about the change.
        is_fraction: True if the bound is a fraction.
    """

    text: str
    measure: str
    is_above: bool
    bound: float
    is_change: bool
    is_fraction: bool

    def fails(self, a: Measures, b: Measures) -> bool:
        """True if the condition holds, so that the comparison fails.

        Raises:
            CannotCompare: A or B lacks the measure.
        """
        before = self._value(a, a, b) if self.is_change else 0.0
        value = self._value(b, a, b)
        if self.is_change:
            value -= before
        bound = self.bound * abs(before) if self.is_fraction else self.bound
        return value > bound if self.is_above else value < bound

    def _value(self, of: Measures, a: Measures, b: Measures) -> float:
        value = of.values.get(self.measure)
        if value is None:
            known = ", ".join(known_measures((a, b))) or "nothing"
            what = f'"{self.text}": {of.name} has no {self.measure}.'
            raise CannotCompare(what, f"Available: {known}.")
        return value


def parse_condition(text: str) -> Condition:
    """Parse a typed condition. Raises: `UsageError`."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise UsageError(f'--fail-if "{text}": use a name, > or <, and a threshold.', _EXAMPLE)
    measure, side, sign, amount = found.groups()
    is_fraction = amount.endswith("%")
    if is_fraction and not sign:
        raise UsageError(f'--fail-if "{text}": put + or - before the percentage.', _EXAMPLE)
    size = _percentage(amount) if is_fraction else _amount(measure, amount)
    if size is None:
        unit = MEASURE_UNITS.get(measure, "number")
        raise UsageError(f'--fail-if "{text}": "{amount}" is not an amount in {unit}.', _EXAMPLE)
    bound = -size if sign == "-" else size
    return Condition(text, measure, side == ">", bound, bool(sign), is_fraction)


def _percentage(text: str) -> float | None:
    number = parse_amount(text.removesuffix("%"), {}, bare=1)
    return None if number is None else number / 100


def _amount(measure: str, text: str) -> float | None:
    match MEASURE_UNITS.get(measure):
        case "bytes":
            return parse_amount(text, BYTES, bare=None)
        case "seconds":
            return _with_unit(text, _SECONDS)
        case "operations":
            return parse_amount(text, _COUNTS, bare=1)
        case _:
            return _with_unit(text, {})


def _with_unit(text: str, units: dict[str, float]) -> float | None:
    found = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?)\s*([a-z]*)", text.strip().casefold())
    if found is None or (found[2] and found[2] not in units):
        return None
    try:
        return float(found[1]) * units.get(found[2], 1.0)
    except ValueError:
        return None


CANNOT_COMPARE: Final = 4
"""Exit status: a run or file cannot be read, or lacks the measure of a condition."""


def compare(  # noqa: PLR0913 - the user's options
    a: str,
    b: str,
    /,
    *,
    fail_if: Annotated[tuple[str, ...], Parameter(name="--fail-if", negative="")] = (),
    markdown: Annotated[bool, Parameter(name="--markdown", negative="")] = False,
    json: JsonOption = False,
    folder: FolderOption = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Compare two runs: peak memory, graph size, step and epoch time, and the last Keras logs.

    Example: `kmonitor compare pinned:main last --fail-if "ram>+5%"`

    Exit status: 0 if no condition holds; 1 if any holds; 4 if the runs cannot be compared: a run
    or file does not exist, or lacks a value that a condition needs.

    Args:
        a: The baseline: a run (its ID or name, a prefix of either, or `last`), `pinned:NAME` for
            the newest pinned run with that name, or a file written by `kmonitor export`.
        b: The run or file to compare with A, specified in the same way.
        fail_if: A condition on B: `ram>+5%` or `graph>+1000` for the change from A, `ram>8GiB` for
            the value. The names are those in the table's first column. May be repeated.
        markdown: A table in Markdown, for a comment on a pull request.
        json: One JSON object: `a`, `b`, `measures`, `conditions` and `failed`.
        folder: Use the runs in this folder, which is opened read-only.
        host: Ask the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a name from
            `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    if markdown and json:
        raise UsageError("--markdown and --json cannot be combined.", "Use only one of them.")
    conditions = [parse_condition(text) for text in fail_if]
    try:
        before, after = _measures((a, b), HubRoute(host, folder, hub))
        failed = [each for each in conditions if each.fails(before, after)]
    except UsageError:
        raise
    except UserError as exc:
        print_error(exc)
        return CANNOT_COMPARE
    if json:
        print_json(_object(before, after, conditions, failed))
    elif markdown:
        _print_markdown(before, after, conditions, failed)
    else:
        _print_table(before, after, failed)
    return FAILED if failed else DONE


def _measures(names: tuple[str, str], route: HubRoute) -> tuple[Measures, Measures]:
    with ExitStack() as stack:
        if all(map(is_export_file, names)):
            first, second = (measures_of_file(Path(name)) for name in names)
            return first, second
        client = stack.enter_context(route.open())
        runs = client.runs()
        first, second = (_measures_of(client, runs, name) for name in names)
        return first, second


def _measures_of(client: HubClient, runs: Sequence[RunSummary], name: str) -> Measures:
    if is_export_file(name):
        return measures_of_file(Path(name))
    return measures_of_run(client, _choose(runs, name))


def _choose(runs: Sequence[RunSummary], wanted: str) -> RunSummary:
    if not wanted.startswith(PINNED):
        return choose_run(runs, wanted)
    name = wanted.removeprefix(PINNED)
    pinned = [run for run in runs if run.pinned and name in (run.name, "")]
    if not pinned:
        raise UnknownRun(wanted, runs)
    return max(pinned, key=lambda run: run.started_wall_s)


def _rows(a: Measures, b: Measures) -> list[tuple[str, str, str, str, str, str]]:
    """Name, title, A, B, change and change in percent of each measure."""
    rows: list[tuple[str, str, str, str, str, str]] = []
    for name in known_measures((a, b)):
        unit = MEASURE_UNITS.get(name, "number")
        values = a.values.get(name), b.values.get(name)
        change = fraction = NOT_KNOWN
        if values[0] is not None and values[1] is not None:
            difference = values[1] - values[0]
            change = _signed(change_text, difference, unit)
            if values[0]:
                share = difference / abs(values[0])
                fraction = f"{'+' if share >= 0 else ''}{percent_text(share)}"
        texts = [NOT_KNOWN if value is None else amount_text(value, unit) for value in values]
        row = (name, MEASURE_TITLES.get(name, f"{name}, last"), *texts, change, fraction)
        rows.append(tuple(map(with_plain_spaces, row)))  # pyright: ignore[reportArgumentType] - six texts
    return rows


def _signed(text: Callable[[float, Any], str], value: float, unit: str) -> str:
    return f"{'+' if value >= 0 else ''}{text(value, unit)}"


def _print_table(a: Measures, b: Measures, failed: Sequence[Condition]) -> None:
    print_text(f"A  {terminal_safe(a.name)}, {a.epochs} epochs")
    print_text(f"B  {terminal_safe(b.name)}, {b.epochs} epochs")
    print_text()
    headers = ("NAME", "MEASURE", "A", "B", "CHANGE", "PART")
    print_table(headers, _rows(a, b), right=headers[2:], folds=("MEASURE",), drops=("MEASURE",))
    for each in failed:
        print_text(f"Fails: {each.text}")


def _print_markdown(
    a: Measures, b: Measures, conditions: Sequence[Condition], failed: Sequence[Condition]
) -> None:
    names = [_escaped(each.name) for each in (a, b)]
    lines = [f"| Measure | {names[0]} | {names[1]} | Change | |", "|---|---:|---:|---:|---:|"]
    for row in _rows(a, b):
        cells = " | ".join(map(_escaped, row[1:]))
        lines.append(f"| {cells} |")
    if conditions:
        lines.append("")
    for each in conditions:
        mark = "fails" if each in failed else "passes"
        lines.append(f"- `{each.text}` {mark}")
    print_text("\n".join(lines))


def _escaped(text: str) -> str:
    safe = terminal_safe(text).replace("\\", "\\\\")
    return "".join(f"\\{letter}" if letter in "|`*_<>[]" else letter for letter in safe)


def _object(
    a: Measures, b: Measures, conditions: Sequence[Condition], failed: Sequence[Condition]
) -> dict[str, Any]:
    measures: dict[str, Any] = {}
    for name in known_measures((a, b)):
        before = a.values.get(name)
        after = b.values.get(name)
        change = None if before is None or after is None else after - before
        measures[name] = {
            "unit": MEASURE_UNITS.get(name, ""),
            "a": before,
            "b": after,
            "change": change,
            "fraction": change / abs(before) if change is not None and before else None,
        }
    return {
        "a": {"name": a.name, "epochs": a.epochs},
        "b": {"name": b.name, "epochs": b.epochs},
        "measures": measures,
        "conditions": [{"condition": each.text, "fails": each in failed} for each in conditions],
        "failed": bool(failed),
    }
