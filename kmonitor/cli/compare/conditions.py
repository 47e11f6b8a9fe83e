"""Conditions of `kmonitor compare --fail-if`: `ram>+5%`, `step_time>250ms`, `accuracy<-0.01`."""

import re
from dataclasses import dataclass
from typing import Final

from kmonitor.cli.common.terminal import UsageError
from kmonitor.cli.compare.measures import MEASURE_UNITS, CannotCompare, Measures, known_measures
from kmonitor.ui.text.formats import BYTES, parse_amount

_CONDITION: Final = re.compile(r"\s*(.+?)\s*([<>])\s*([+-]?)\s*([^\s+-].*?)\s*")
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_COUNTS: Final = {"k": 1000, "m": 1_000_000}
_EXAMPLE: Final = 'For example: --fail-if "ram>+5%" --fail-if "step_time>250ms"'


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition.

    Attributes:
        text: As it was typed.
        measure: Name of what it is about.
        is_above: It fails above its bound; else below.
        bound: A change from A to B where `is_change`, else B's value; as a fraction of A's value
            where `is_fraction`, else in the measure's unit.
        is_change: It is about the change.
        is_fraction: The change is a fraction.
    """

    text: str
    measure: str
    is_above: bool
    bound: float
    is_change: bool
    is_fraction: bool

    def fails(self, a: Measures, b: Measures) -> bool:
        """True if the condition holds, and so the comparison fails.

        Raises:
            CannotCompare: One of them lacks the measure.
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
    """A condition as it was typed. Raises: `UsageError`."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise UsageError(f'--fail-if "{text}": write a name, > or <, and a bound.', _EXAMPLE)
    measure, side, sign, amount = found.groups()
    is_fraction = amount.endswith("%")
    if is_fraction and not sign:
        raise UsageError(f'--fail-if "{text}": a percentage needs its sign.', _EXAMPLE)
    size = _percentage(amount) if is_fraction else _amount(measure, amount)
    if size is None:
        unit = MEASURE_UNITS.get(measure, "number")
        raise UsageError(f'--fail-if "{text}": "{amount}" is no amount of {unit}.', _EXAMPLE)
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
