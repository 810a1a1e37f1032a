"""Shows the measured values of the benchmark: as ratios, targets, tables, a chart and a page of the docs."""
