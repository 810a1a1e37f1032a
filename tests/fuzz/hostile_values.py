"""Values that a spec should not contain, and a function that writes manifests with such values as JSON.

Some values are large or deeply nested. In a manifest, a short marker represents such a value. `json_text`
replaces the markers by the values.
"""

import json
from typing import Any

from tenancy.base.pulumi_signature import PULUMI_SIGNATURE

MIB = 2**20


def _nested(levels: int, start: str, end: str) -> str:
    return start * levels + "1" + end * levels


# The JSON text of each large value, keyed by its marker.
LARGE_VALUES = {
    "@mib@": json.dumps("x" * MIB),
    "@mib of emoji@": json.dumps("\N{GRINNING FACE}" * (MIB // 4), ensure_ascii=False),
    "@20 maps@": _nested(20, '{"a":', "}"),
    "@900 maps@": _nested(900, '{"a":', "}"),
    "@5000 maps@": _nested(5000, '{"a":', "}"),
    "@5000 lists@": _nested(5000, "[", "]"),
    "@1000 namespaces@": json.dumps([{"name": f"n{number}"} for number in range(1000)]),
    "@100 namespaces@": json.dumps([{"name": f"n{number}", "weight": 1000} for number in range(100)]),
    "@300 equal items@": json.dumps(["same"] * 300),
    "@300 entries@": json.dumps({f"k{number}": "1" for number in range(300)}),
    "@5000 digits@": "9" * 5000,
}
TEXTS = [
    *("", " ", "a", "A b", "-", ".", "..", "*", "*.", "/", "a/b/c", "../../etc", "a\nb", "\0", "\x1b[2J"),
    *("ü", "e\u0301", "\u202egpj.exe", "\ufeff", "\uffff", "\N{GRINNING FACE}" * 64, "x" * 64, "x" * 254),
    *("${tenant.name}", "${tenant.nope}", "${tenant.labels[", "{{.}}", "%s%n", "null", "true", "1e400"),
    *("1e-400", "-1", "0", "0x10", "1Ki", "1.5", "9223372036854775808", "1h", "99999999h", "0s"),
    *(
        "system:anonymous",
        "system:masters",
        "kube-system",
        "10.0.0.1/8",
        "fe80::1%eth0/128",
        "::ffff:1.2.3.4/128",
    ),
    PULUMI_SIGNATURE,
]
NUMBERS = [0, -1, 1.5, 1e308, 101, 65536, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64]
HOSTILE_VALUES: list[Any] = [
    *(None, True, [], {}, [[]], [None], {"": ""}, {"a": None}, {"A b": "*"}, ["same", "same"]),
    *(*TEXTS, *NUMBERS, *LARGE_VALUES),
]


def json_text(manifest: Any) -> str:
    """The manifest as JSON. Each marker is replaced by its large value."""
    text = json.dumps(manifest, ensure_ascii=False)
    for marker, value in LARGE_VALUES.items():
        text = text.replace(json.dumps(marker), value)
    return text
