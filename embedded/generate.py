"""`./dev generate`: writes the files that come from the models. A test tells when they are stale."""

import argparse

from embedded.environment import ROOT
from embedded.reference import README, readme_with, reference_text
from tenancy.crd import CRD_FILE, crds_text


def generate(_: argparse.Namespace) -> int:
    for file, text in ((CRD_FILE, crds_text()), (README, readme_with(reference_text()))):
        file.write_text(text, encoding="utf-8")
        print(f"wrote {file.relative_to(ROOT)}")
    return 0
