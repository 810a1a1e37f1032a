"""Regular expressions for fields. A text for each expression describes the valid values in messages."""

from typing import Final

from tenancy.base.names import DNS_LABEL_PATTERN, DNS_LABEL_TEXT

DNS_NAME: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
DNS_NAME_PATTERN: Final = f"^{DNS_NAME}$"
SERVICE_ACCOUNT_PATTERN: Final = rf"^([a-z0-9]([-a-z0-9]{{0,61}}[a-z0-9])?/)?{DNS_NAME}$"
LABEL_VALUE_PATTERN: Final = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
# Control characters are rejected. Pulumi's Kubernetes provider can't send them, and terminals interpret them.
NO_CONTROL_CHARACTERS: Final = r"^\P{Cc}*$"
REGISTRY_PATTERN: Final = r"^[a-z0-9][-a-z0-9.]*(:[0-9]+)?(/[-a-z0-9._]+)*$"
_HOST_END: Final = r"([a-z0-9]|\$\{tenant\.name\})"
_HOST_LABEL: Final = rf"{_HOST_END}(([-a-z0-9]|\$\{{tenant\.name\}})*{_HOST_END})?"
HOST_PATTERN: Final = rf"^(\*\.)?{_HOST_LABEL}(\.{_HOST_LABEL})*$"
CLASS_PATTERN: Final = f"^({DNS_NAME})?$"
NO_SPACES: Final = r"^\S+$"
_LABEL_KEY: Final = r"([a-z0-9][-a-z0-9.]*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
LABEL_KEY_PATTERN: Final = f"^{_LABEL_KEY}$"
TAINT_PATTERN: Final = (
    rf"^{_LABEL_KEY}(=([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?)?"
    r"(:(NoSchedule|PreferNoSchedule|NoExecute))?$"
)
# The values that each pattern accepts, for messages. Each text completes the sentence "the value must …".
PATTERN_TEXTS: Final = {
    DNS_LABEL_PATTERN: f"have only {DNS_LABEL_TEXT}",
    DNS_NAME_PATTERN: "be a DNS name such as name or name.example",
    SERVICE_ACCOUNT_PATTERN: "be the name of a service account, or namespace/name",
    LABEL_VALUE_PATTERN: "be a label value: letters, digits, dashes, underscores and dots, with a letter or "
    "digit at both ends",
    NO_CONTROL_CHARACTERS: "have no control characters, such as line breaks",
    REGISTRY_PATTERN: "be an image registry with an optional path, such as registry.example.com/team",
    HOST_PATTERN: "be a host name such as shop.example.com or *.shop.example.com",
    CLASS_PATTERN: "be the name of a class, or empty",
    LABEL_KEY_PATTERN: "be the key of a label or an annotation, such as example.com/key",
    TAINT_PATTERN: "be a taint such as key=value:NoSchedule, key:NoSchedule or key",
    NO_SPACES: "have no spaces, and must not be empty",
}
