"""Admission policies for the annotation that names the author of a Tenant's spec.

`tenancy.history.spec_author` describes the annotation. The validating policy checks only requests that write
the annotation. Each annotation names a user and a generation of the Tenant. The policy compares this
generation with the generation of the Tenant after the request:

- If the two generations are equal, the request must change the spec, and the user must be the sender of the
  request.
- The policy rejects an annotation with a later generation.
- The policy accepts an annotation with an earlier generation, such as the annotation in a restored backup.
  The watcher ignores such an annotation.

The mutating policy writes the annotation for clients that do not write it themselves. Most clusters do not
serve MutatingAdmissionPolicies yet.
"""

from typing import Final

from tenancy.admission.policy_builder import cel_string, check, named_expressions, policy, rule
from tenancy.base.kinds import Kind
from tenancy.base.labels import SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.history.spec_author import GENERATION_PATTERN, MESSAGE_SEPARATOR, NO_HASH, SEPARATOR

_NAME: Final = "tenancy-spec-author"
_RULE: Final = {**rule("", "tenants"), "apiGroups": list(GROUPS)}
_FIELD: Final = f"metadata.annotations[{SPEC_AUTHOR_ANNOTATION}]"
_USER: Final = "request.userInfo.username"
# CEL: the parts of the annotation.
_PARTS: Final = f"variables.annotation.split({cel_string(SEPARATOR)}, 4)"
# CEL: the user name in the last part. Empty if a part is missing.
_NAMED_USER: Final = (
    f"variables.parts.size() == 4 ? variables.parts[3].split({cel_string(MESSAGE_SEPARATOR)}, 2)[0] : ''"
)
_IS_GENERATION: Final = cel_string(f"^{GENERATION_PATTERN}$")
_REMOVE: Final = "remove this annotation from the manifest, for example before you restore a backup"


def spec_author_policies() -> list[Manifest]:
    """The validating policy and its binding."""
    return policy(
        _NAME,
        [_RULE],
        [
            check(
                f"!variables.isWritten || !variables.counts || !variables.isNewSpec || "
                f"variables.user == {_USER}",
                f"{cel_string(f'{_FIELD}: names ')} + variables.user + ' as the author of this spec, but the "
                f"request comes from ' + {_USER} + {cel_string(f'; {_REMOVE}')}",
                "Forbidden",
            ),
            check(
                "!variables.isWritten || !variables.counts || variables.isNewSpec",
                cel_string(
                    f"{_FIELD}: another request has written this spec; to change the spec, try again; "
                    f"otherwise {_REMOVE}"
                ),
                "Invalid",
            ),
            # Without this check, a user could write the name of another user in advance, and then write the
            # spec without the annotation.
            check(
                "!variables.isWritten || !variables.isInAdvance",
                f"{cel_string(f'{_FIELD}: is for generation ')} + variables.parts[0] + ', but the request "
                f"leads to generation ' + string(object.metadata.generation) + {cel_string(f'; {_REMOVE}')}",
                "Invalid",
            ),
        ],
        variables={
            "annotation": _annotation("object"),
            "before": f"request.operation == 'CREATE' ? '' : {_annotation('oldObject')}",
            # The policy must never reject a request that does not change the annotation.
            "isWritten": "variables.annotation != variables.before",
            "parts": _PARTS,
            "user": _NAMED_USER,
            "generation": f"variables.parts.size() == 4 && variables.parts[0].matches({_IS_GENERATION}) ? "
            "int(variables.parts[0]) : 0",
            "isThisTenant": "variables.parts.size() == 4 && "
            "variables.parts[1] == (variables.generation > 1 ? object.metadata.uid : '')",
            "counts": "variables.isThisTenant && variables.generation == object.metadata.generation",
            "isInAdvance": "variables.isThisTenant && variables.generation > object.metadata.generation",
            "isNewSpec": "request.operation == 'CREATE' || "
            "object.metadata.generation != oldObject.metadata.generation",
        },
    )


def spec_author_mutations(kind: Kind) -> list[Manifest]:
    """The mutating policy and its binding. `kind` is the served version of MutatingAdmissionPolicy.

    If the request already contains an annotation that names the sender, the policy keeps this annotation,
    because the annotation can contain a message.
    """
    metadata = {"name": _NAME}
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [_RULE]},
        "matchConditions": named_expressions(
            {
                "new-spec": "request.operation == 'CREATE' || object.spec != oldObject.spec",
                "one-line": f"!{_USER}.contains({cel_string(MESSAGE_SEPARATOR)})",
            }
        ),
        "variables": named_expressions(
            {
                "annotation": _annotation("object"),
                "parts": _PARTS,
                # The API server increases the generation only after it has evaluated the mutating policies.
                "start": f"request.operation == 'CREATE' ? '1{SEPARATOR * 2}' : "
                f"string(oldObject.metadata.generation + 1) + '{SEPARATOR}' + oldObject.metadata.uid + "
                f"'{SEPARATOR}'",
                "user": _NAMED_USER,
                "isRight": f"variables.annotation.startsWith(variables.start) && variables.user == {_USER}",
            }
        ),
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": "Object{metadata: Object.metadata{annotations: "
                    f"{{{cel_string(SPEC_AUTHOR_ANNOTATION)}: variables.isRight ? variables.annotation : "
                    f"variables.start + '{NO_HASH}{SEPARATOR}' + {_USER}}}}}}}",
                },
            }
        ],
    }
    binding_spec = {"policyName": _NAME}
    return [
        {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec},
        {
            "apiVersion": kind.api_version,
            "kind": f"{kind.kind}Binding",
            "metadata": metadata,
            "spec": binding_spec,
        },
    ]


def _annotation(version: str) -> str:
    """A CEL expression that returns the annotation of `object` or `oldObject`, or an empty string."""
    return f"{version}.metadata.?annotations[?{cel_string(SPEC_AUTHOR_ANNOTATION)}].orValue('')"
