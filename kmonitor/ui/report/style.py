"""Colours of drawings, and a report's style sheet: light or dark like the reader's system."""

from dataclasses import dataclass, fields
from typing import Final

from kmonitor.ui.report.markup import Markup, tag
from kmonitor.ui.theme.palettes import DARK, LIGHT, Palette


@dataclass(frozen=True, slots=True)
class DrawingColours:
    """Maps names of colours to values in a drawing.

    Attributes:
        palette: Palette of the drawing; None: variables that the surrounding page defines, so that
            one drawing suits light and dark.
    """

    palette: Palette | None = None

    def colour(self, name: str) -> str:
        """Colour by its field name in a palette: "card", "border", "crit", ..."""
        return f"var(--{name})" if self.palette is None else str(getattr(self.palette, name))

    def series(self, hue: int) -> str:
        """Colour of a run or layer, as `Palette.hue`."""
        if self.palette is not None:
            return self.palette.hue(hue)
        return f"var(--grey-{-1 - hue})" if hue < 0 else f"var(--series-{hue % len(LIGHT.series)})"


def style_element() -> Markup:
    """Return the `style` element; its text is constant, with nothing from a run."""
    return tag("style", Markup(_STYLE_SHEET))


_NO_COLOUR_FIELDS: Final = ("name", "series", "greys", "tint_alpha", "others_alpha")


def page_variables(palette: Palette) -> str:
    """A palette as declarations of a style sheet."""
    plain = [each.name for each in fields(palette)]
    plain = [name for name in plain if name not in _NO_COLOUR_FIELDS]
    declared = [f"--{name}:{getattr(palette, name)}" for name in plain]
    declared += [f"--series-{at}:{colour}" for at, colour in enumerate(palette.series)]
    declared += [f"--grey-{at}:{colour}" for at, colour in enumerate(palette.greys)]
    return ";".join(declared)


_STYLE_SHEET = (
    f":root{{color-scheme:light dark;{page_variables(LIGHT)}}}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{page_variables(DARK)}}}}}"
    """
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);
 font:13px/1.5 Inter,system-ui,-apple-system,"Segoe UI",sans-serif;
 font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
main{max-width:1240px;margin:0 auto;padding:24px 20px 40px}
h1{font-size:22px;line-height:1.25;margin:0}
h2{font-size:15px;margin:28px 0 10px}
h3{font-size:13px;margin:0}
p{margin:0}
ul{margin:6px 0 0;padding-left:18px}
.sub{color:var(--sub)}
.mute{color:var(--mute)}
.chips{display:flex;flex-wrap:wrap;gap:8px;margin-top:12px}
.chip{background:var(--raised);border:1px solid var(--border);border-radius:8px;padding:2px 10px}
.accent{color:var(--accent)}.ok{color:var(--ok)}.warn{color:var(--warn)}.crit{color:var(--crit)}
.grid{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:12px}
.card{background:var(--card);border:1px solid var(--border);border-radius:10px;
 padding:12px 14px;break-inside:avoid}
.card svg{display:block;width:100%;height:auto;margin-top:8px}
.top{display:flex;flex-wrap:wrap;gap:2px 10px;align-items:baseline}
.top .end{margin-left:auto}
.value{font-size:22px;font-weight:600;line-height:1.3}
.verdict{border-left:3px solid var(--mute)}
.verdict.ok{border-left-color:var(--ok)}.verdict.warn{border-left-color:var(--warn)}
.verdict.crit{border-left-color:var(--crit)}
.verdict p,.verdict li{color:var(--text)}
.folds{display:grid;grid-template-columns:repeat(auto-fill,minmax(200px,1fr));gap:8px;
 margin-top:10px}
.fold{color:var(--text);border-left:3px solid var(--mute);border-radius:8px;padding:6px 10px}
.fold.ok{border-left-color:var(--ok)}.fold.warn{border-left-color:var(--warn)}
.fold.crit{border-left-color:var(--crit)}.fold.accent{border-left-color:var(--accent)}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--border);border-radius:10px}
table{border-collapse:collapse;width:100%;font-size:12px}
th,td{text-align:left;vertical-align:top;padding:5px 10px;border-bottom:1px solid var(--border)}
tr:last-child td{border-bottom:0}
th{color:var(--sub);font-weight:500;white-space:nowrap}
td.number,th.number{text-align:right;white-space:nowrap}
td.still{white-space:nowrap}
td.long{min-width:180px}
dl{columns:2;column-gap:32px;margin:0}
dl div{display:grid;grid-template-columns:110px minmax(0,1fr);gap:12px;break-inside:avoid;
 padding:2px 0}
dt{color:var(--sub)}
dd{margin:0}
footer{margin-top:28px;color:var(--mute);font-size:12px}
@media (max-width:820px){.grid{grid-template-columns:minmax(0,1fr)}dl{columns:1}}
@page{margin:12mm}
@media print{body{background:none;font-size:11px}main{max-width:none;padding:0}
 table{font-size:9.5px}th,td{padding:4px 6px}
 *{-webkit-print-color-adjust:exact;print-color-adjust:exact}
 h2{break-after:avoid}tr{break-inside:avoid}thead{display:table-header-group}
 .scroll{overflow:visible}.grid{grid-template-columns:repeat(2,minmax(0,1fr))}}
"""
)
