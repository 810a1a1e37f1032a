"""`./dev generate`: writes the files that come from the models. A test tells when they are stale."""

import argparse

from tenancy.crd import CRD_FILE, crds_text


def generate(_: argparse.Namespace) -> int:
    CRD_FILE.write_text(crds_text(), encoding="utf-8")
    print(f"wrote {CRD_FILE.relative_to(CRD_FILE.parents[1])}")
    return 0
