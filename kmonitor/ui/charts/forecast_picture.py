"""Where a forecast and a verdict's evidence lie on a chart."""

from dataclasses import dataclass

from kmonitor.ui.charts.series_store import SeriesStore
from kmonitor.ui.plots.chart_state import ForecastPicture, XKind
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.verdicts.forecast_text import limit_words
from kmonitor_agent.wire.messages.events import LimitForecast, Verdict
from kmonitor_agent.wire.messages.unions import RunSummary

_MOST_AHEAD = 0.75
"""At most so much of what is known is shown of what is to come."""

_FAR = 3.0
"""A limit so many times what is known away is told in words only."""


@dataclass(frozen=True, slots=True)
class ForecastMaker:
    """Forecasts of one run on one axis.

    Attributes:
        store: The run's columns.
        run: The run.
        x_kind: What the horizontal axis counts.
    """

    store: SeriesStore
    run: RunSummary
    x_kind: XKind

    def ahead(self, verdicts: list[Verdict], known: float) -> float:
        """How much of what is to come is worth showing beside `known`, in the axis' kind."""
        wanted = 0.0
        for verdict in verdicts:
            found = self._span(verdict)
            if found is not None and found[0] <= _FAR * known:
                late = found[2] if found[2] is not None else 1.5 * found[0]
                wanted = max(wanted, late)
        return min(1.05 * wanted, _MOST_AHEAD * known)

    def picture(
        self, verdict: Verdict | None, column: str, newest: float
    ) -> ForecastPicture | None:
        """The forecast of one chart; None where there is none.

        Args:
            verdict: Of its metric.
            column: That it shows.
            newest: Where the newest moment lies on the axis.
        """
        if verdict is None or (forecast := verdict.forecast) is None:
            return None
        found = self._span(verdict)
        value = self.store.last_value(self.run.run, column)
        if found is None or value is None or value >= forecast.limit:
            return None
        middle, early, late = found
        return ForecastPicture(
            x=newest,
            y=value,
            limit=forecast.limit,
            x_meets=newest + middle,
            x_earliest=newest + early,
            x_latest=None if late is None else newest + late,
            # The run's own limit has its line and its words.
            limit_text="" if forecast.of == "own" else limit_words(verdict, forecast),
        )

    def evidence(self, verdict: Verdict) -> tuple[float, float]:
        """From where to where the window of the evidence reaches."""
        run, kind = self.run.run, self.x_kind
        begin, end = (self.store.x_of(run, t_s, kind) for t_s in (verdict.from_s, verdict.to_s))
        return begin, end

    def _span(self, verdict: Verdict) -> tuple[float, float, float | None] | None:
        """Likely, earliest and latest distance to the limit; None: none, or not to be placed."""
        forecast = verdict.forecast
        if forecast is None or has_ended(self.run):
            return None
        per_unit = self._x_a_unit(verdict, forecast)
        if per_unit is None or forecast.units <= 0.0:
            return None
        late = None if forecast.latest is None else forecast.latest * per_unit
        return forecast.units * per_unit, forecast.earliest * per_unit, late

    def _x_a_unit(self, verdict: Verdict, forecast: LimitForecast) -> float | None:
        if self.x_kind == "seconds":
            return forecast.unit_s
        if verdict.per == "epoch" or not self.run.fits_done:
            return 1.0
        return self.run.epochs_done / self.run.fits_done
