"""The results of the benchmark: ratios, targets, tables, a chart and a page of the docs. No measurements."""
