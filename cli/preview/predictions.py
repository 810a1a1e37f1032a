"""Predicts the Tenant that results if a manifest is applied to the base of a preview.

If the API server computes the prediction in a dry run, each manifest is sent at most once.
"""

from collections.abc import Callable
from dataclasses import replace

from cli.apply.field_ownership import ApplyMethod
from cli.apply.write_tenant import Prediction, predicted_tenant
from cli.manifests.read import TenantDocument
from cli.preview.comparison_base import Base
from cluster.errors import ClusterError
from tenancy.base.errors import InvalidSpec
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest

Predict = Callable[[TenantDocument], Prediction]


def predictions_on(base: Base, method: ApplyMethod | None = None) -> Predict:
    """Return a function that predicts the Tenant that results if a manifest is applied with `method`.

    The predicted Tenant has the status of the live Tenant. If `method` is None, or if the base is not a
    cluster, the predicted spec is the spec in the manifest. The function caches its results. It raises
    Rejection if the manifest cannot be applied.
    """
    predictions: dict[int, Prediction] = {}

    def predict(document: TenantDocument) -> Prediction:
        if id(document) not in predictions:
            predictions[id(document)] = _prediction(base, document, method)
        return predictions[id(document)]

    return predict


def known_tenant(base: Base, document: TenantDocument) -> Manifest | None:
    """The Tenant in the base that has the name and the API version of the document.

    None if the base does not contain it.
    """
    tenant = base.tenants.get(document.name)
    is_same = tenant is not None and tenant["apiVersion"] == document.manifest["apiVersion"]
    return tenant if is_same else None


def _prediction(base: Base, document: TenantDocument, method: ApplyMethod | None) -> Prediction:
    live = known_tenant(base, document)
    if base.cluster is None or method is None:
        prediction = Prediction(document.manifest)
    else:
        may_patch = kind_of(document.manifest) in base.patchable
        try:
            prediction = predicted_tenant(
                base.cluster if may_patch else None, live, document.manifest, method
            )
        except ClusterError as error:
            if not error.is_refusal:
                raise
            raise InvalidSpec("", f"the API server rejects the Tenant: {error}") from None
    return replace(prediction, tenant={**prediction.tenant, "status": (live or {}).get("status")})
