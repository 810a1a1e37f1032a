"""The settings of network access. They are a part of `Settings`."""

from enum import StrEnum
from ipaddress import ip_network
from typing import Annotated

from pydantic import Field, model_validator

from tenancy.base.fields import Cidr, SelectorLabels
from tenancy.base.model import Model

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
            raise ValueError(f"endPort {self.end_port} is below port {self.port}")
        return self


class Addresses(Model):
    """A range of IP addresses outside the cluster, and the allowed ports."""

    cidr: Cidr = Field(description="The address range as a CIDR, such as 203.0.113.0/24.")
    except_: tuple[Cidr, ...] = Field(
        default=(),
        alias="except",
        max_length=64,
        description="Smaller CIDRs inside `cidr` that are not part of the range.",
    )
    ports: tuple[PortRange, ...] = Field(
        default=(), max_length=64, description="The allowed ports. Default: all ports."
    )

    @model_validator(mode="after")
    def _exceptions_are_inside(self) -> "Addresses":
        whole_range = ip_network(self.cidr)
        for text in self.except_:
            part = ip_network(text)
            is_inside = (
                part.version == whole_range.version
                and part.subnet_of(whole_range)  # type: ignore[arg-type]
                and part != whole_range
            )
            if not is_inside:
                raise ValueError(f"except {text!r} must be a smaller CIDR inside {self.cidr}")
        return self


class Network(Model):
    """Additional connections that are allowed. No setting disables the isolation between tenants."""

    ingress_controller: SelectorLabels | None = Field(
        default=None,
        description="Labels of the namespace of the ingress controller. Pods in namespaces with these labels "
        "can connect to the tenant's pods.",
    )
    monitoring: SelectorLabels | None = Field(
        default=None,
        description="Labels of the monitoring namespace. Pods in namespaces with these labels can connect to "
        "the tenant's pods.",
    )
    egress: tuple[Addresses, ...] | None = Field(
        default=None,
        max_length=64,
        description="Addresses outside the cluster to which the tenant's pods can connect.",
    )
    ingress: tuple[Addresses, ...] | None = Field(
        default=None,
        max_length=64,
        description="Addresses outside the cluster from which clients can connect to the tenant's pods.",
    )
