"""Converts desired objects to the form in which the API server returns them."""

import json

from tenancy.base.manifest import Manifest


def as_served(manifest: Manifest) -> Manifest:
    """The object as the API server returns it: without empty fields, and with server-set metadata."""
    live: Manifest = json.loads(json.dumps(manifest))
    live["metadata"] |= {"uid": "1", "resourceVersion": "2", "managedFields": []}
    if "spec" in live:
        live["spec"] = {key: value for key, value in live["spec"].items() if value != []}
    if live.get("subjects") == []:
        del live["subjects"]
    return live
