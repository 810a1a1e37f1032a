"""Generates an SVG bar chart with the results of the benchmark. No I/O."""

from html import escape
from typing import Final

from embedded.bench.output.figures import Columns, figure
from embedded.bench.selection import COLUMNS

# For each panel: its title with the unit, the step, and the name of the value. Each panel has its own scale.
_PANELS: Final = (
    ("Create a tenant (seconds)", "create", "p50_s"),
    ("Change the plan (seconds)", "plan", "p50_s"),
    ("Update without changes (seconds)", "noop", "p50_s"),
    ("Drift until recorded (seconds)", "drift", "recorded_p50_s"),
    ("Burst (tenants per second)", "burst", "tenants_per_s"),
    ("Burst: peak memory (MiB)", "burst", "peak_mib"),
)
_COLOURS: Final = {"floor": "#718096", "documented": "#b7791f", "cli": "#2b6cb0", "warm": "#2f855a"}
_WIDTH, _PANEL_COLUMNS, _MARGIN = 940, 2, 20
_LABEL_WIDTH, _VALUE_WIDTH = 140, 60
_BAR, _BAR_STEP, _TITLE_HEIGHT = 16, 24, 30


def plot(columns: Columns) -> str:
    """Generate the chart as SVG.

    It has one panel for each value in `_PANELS`. A panel has one bar for each measured column.
    """
    names = [name for name in COLUMNS if columns.get(name) is not None]
    panel_height = _TITLE_HEIGHT + _BAR_STEP * len(names) + _MARGIN
    panels = [
        panel for panel in _PANELS if any(figure(columns, name, *panel[1:]) is not None for name in names)
    ]
    height = _MARGIN + panel_height * -(-len(panels) // _PANEL_COLUMNS)
    panel_width = (_WIDTH - _MARGIN * (_PANEL_COLUMNS + 1)) / _PANEL_COLUMNS
    parts = []
    for number, (title, step, name) in enumerate(panels):
        x = _MARGIN + (number % _PANEL_COLUMNS) * (panel_width + _MARGIN)
        y = _MARGIN + (number // _PANEL_COLUMNS) * panel_height
        values = {column: figure(columns, column, step, name) for column in names}
        parts += _panel(title, values, x, y, panel_width)
    text = escape("; ".join(title for title, _, _ in panels))
    size = f'viewBox="0 0 {_WIDTH} {height}"'
    attributes = 'role="img" aria-labelledby="title desc" font-family="system-ui, sans-serif"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {attributes}>',
            '<title id="title">The watcher compared with other methods</title>',
            f'<desc id="desc">Bar charts: {text}. The tables on the page contain the values.</desc>',
            f'<rect width="{_WIDTH}" height="{height}" rx="10" fill="#1d2731"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _panel(title: str, values: dict[str, float | None], x: float, y: float, width: float) -> list[str]:
    largest = max(value for value in values.values() if value is not None) or 1.0
    parts = [
        f'<text x="{x:g}" y="{y + 16:g}" font-size="15" font-weight="600" fill="#fff">{escape(title)}</text>'
    ]
    for number, (column, value) in enumerate(values.items()):
        top = y + _TITLE_HEIGHT + number * _BAR_STEP
        baseline = top + _BAR - 3
        label = escape(COLUMNS[column][0])
        parts.append(f'<text x="{x:g}" y="{baseline:g}" font-size="13" fill="#e2e8f0">{label}</text>')
        start = x + _LABEL_WIDTH
        length = (width - _LABEL_WIDTH - _VALUE_WIDTH) * (value or 0.0) / largest
        if value is not None:
            parts.append(
                f'<rect x="{start:g}" y="{top:g}" width="{max(length, 1):.1f}" height="{_BAR}" rx="2"'
                f' fill="{_COLOURS[column]}"/>'
            )
        text = "–" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"
        parts.append(
            f'<text x="{start + length + 6:.1f}" y="{baseline:g}" font-size="13" fill="#fff">{text}</text>'
        )
    return parts
