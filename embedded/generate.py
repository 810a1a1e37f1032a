"""`./dev generate`: writes the files that are generated from the code and from the results of a benchmark.

A test fails if one of the files is outdated.
"""

import argparse

from embedded.bench.output.page import BENCHMARK_PAGE, BENCHMARK_PLOT, benchmark_page, benchmark_plot
from embedded.commands_page import COMMANDS_PAGE, commands_page
from embedded.environment import ROOT
from embedded.fields_page import FIELDS_PAGE, fields_page
from tenancy.spec.crd import CRD_FILE, crds_text


def generate(_: argparse.Namespace) -> int:
    files = (
        (CRD_FILE, crds_text),
        (FIELDS_PAGE, fields_page),
        (COMMANDS_PAGE, commands_page),
        (BENCHMARK_PAGE, benchmark_page),
        (BENCHMARK_PLOT, benchmark_plot),
    )
    for file, text in files:
        file.write_text(text(), encoding="utf-8")
        print(f"wrote {file.relative_to(ROOT)}")
    return 0
