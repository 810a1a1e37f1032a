"""The settings of network access. They are a part of `Settings`."""

from enum import StrEnum
from ipaddress import ip_network
from typing import Annotated

from pydantic import Field, model_validator

from tenancy.base.fields import Cidr, SelectorLabels
from tenancy.base.model import Model
from tenancy.base.validation import raise_problems

PortNumber = Annotated[int, Field(ge=1, le=65535)]


class Protocol(StrEnum):
    TCP = "TCP"
    UDP = "UDP"
    SCTP = "SCTP"


class PortRange(Model):
    """One port, or all ports from `port` to `endPort`."""

    port: PortNumber = Field(description="The port, or the first port of the range.")
    end_port: PortNumber | None = Field(
        default=None,
        description="The last port of the range. Default: the same as `port`.",
    )
    protocol: Protocol = Field(default=Protocol.TCP, description="The protocol of the ports.")

    @model_validator(mode="after")
    def _range_is_ascending(self) -> "PortRange":
        if self.end_port is not None and self.end_port < self.port:
            raise_problems([(("endPort",), f"endPort {self.end_port} is below port {self.port}")])
        return self


class Addresses(Model):
    """A range of IP addresses outside the cluster, and the allowed ports."""

    cidr: Cidr = Field(description="The address range as a CIDR, such as 203.0.113.0/24.")
    except_: tuple[Cidr, ...] = Field(
        default=(),
        alias="except",
        max_length=64,
        description="Smaller CIDRs inside `cidr`. Their addresses are not part of the range.",
    )
    ports: tuple[PortRange, ...] = Field(
        default=(), max_length=64, description="The allowed ports. Default: all ports."
    )

    @model_validator(mode="after")
    def _exceptions_are_inside(self) -> "Addresses":
        raise_problems(
            (("except", index), f"except {text!r} must be a smaller CIDR inside {self.cidr}")
            for index, text in enumerate(self.except_)
            if not _is_smaller_part(text, self.cidr)
        )
        return self


class Network(Model):
    """Allows more connections to and from the tenant's pods. No field turns the tenant's isolation off."""

    ingress_controller: SelectorLabels | None = Field(
        default=None,
        description="Labels of the namespace in which the ingress controller runs. Pods in namespaces with "
        "these labels can connect to the tenant's pods.",
    )
    monitoring: SelectorLabels | None = Field(
        default=None,
        description="Labels of the monitoring namespace. Pods in namespaces with these labels can connect to "
        "the tenant's pods.",
    )
    egress: tuple[Addresses, ...] | None = Field(
        default=None,
        max_length=64,
        description="Addresses outside the cluster. The tenant's pods can connect to these addresses.",
    )
    ingress: tuple[Addresses, ...] | None = Field(
        default=None,
        max_length=64,
        description="Addresses outside the cluster. Clients with these addresses can connect to the "
        "tenant's pods.",
    )


def _is_smaller_part(part: str, whole: str) -> bool:
    inner, outer = ip_network(part), ip_network(whole)
    return (
        inner.version == outer.version
        and inner.subnet_of(outer)  # type: ignore[arg-type]
        and inner != outer
    )
