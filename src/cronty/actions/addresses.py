"""Where we never connect to: a table of addresses, and the one spelling of a host we accept.

IPv4 is open except for what the table names. IPv6 is the other way round: nothing is reachable but the global
unicast space, less what the table names, so that a range assigned tomorrow is refused today.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from re import compile as pattern
from typing import Final, Literal

type Address = IPv4Address | IPv6Address
type Kind = Literal["private", "loopback", "shared", "link-local", "metadata", "multicast", "reserved", "embedded IPv4"]

ALLOWLISTABLE: Final[frozenset[Kind]] = frozenset({"private", "loopback", "shared"})
"""Kinds of address that an operator's allowlist may permit. All other kinds are always blocked."""

# The IANA special-purpose registries, and what clouds have put elsewhere. The first match wins.
_TABLE: Final[tuple[tuple[str, Kind], ...]] = (
    ("169.254.169.254/32", "metadata"),  # AWS, Azure, Google, most others
    ("169.254.170.0/24", "metadata"),  # credentials of AWS containers
    ("168.63.129.16/32", "metadata"),  # Azure's host; a public address
    ("100.100.100.200/32", "metadata"),  # Alibaba
    ("192.0.0.192/32", "metadata"),  # Oracle
    ("fd00:ec2::/32", "metadata"),  # AWS
    ("fd20:ce::254/128", "metadata"),  # Google
    ("0.0.0.0/8", "reserved"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "reserved"),
    ("192.31.196.0/24", "reserved"),
    ("192.52.193.0/24", "reserved"),
    ("192.88.99.0/24", "reserved"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "reserved"),
    ("198.18.0.0/15", "reserved"),
    ("198.51.100.0/24", "reserved"),
    ("203.0.113.0/24", "reserved"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),  # and broadcast
    ("::1/128", "loopback"),
    ("::/96", "embedded IPv4"),  # compatible
    ("::ffff:0:0/96", "embedded IPv4"),  # mapped
    ("::ffff:0:0:0/96", "embedded IPv4"),  # translated
    ("64:ff9b:1::/48", "embedded IPv4"),  # local-use NAT64 (RFC 8215)
    ("2001::/32", "embedded IPv4"),  # Teredo
    ("2002::/16", "embedded IPv4"),  # 6to4
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "reserved"),
    ("2620:4f:8000::/48", "reserved"),
    ("3fff::/20", "reserved"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "private"),
    ("ff00::/8", "multicast"),
)
_KINDS: Final[tuple[tuple[IPv4Network | IPv6Network, Kind], ...]] = tuple(
    (ip_network(text), kind) for text, kind in _TABLE
)
_GLOBAL: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")

_LABEL: Final = pattern(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = pattern(r"[0-9]+|0x[0-9a-f]*")


def kind_of(address: Address) -> Kind | None:
    """Why we don't connect there, or None for an address that is simply public."""
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return "link-local"
        if address in _NAT64:  # how an IPv6-only network reaches every IPv4 host, so the inner address decides
            return kind_of(IPv4Address(int(address) & 0xFFFFFFFF))
    for network, kind in _KINDS:
        if address in network:
            return kind
    return "reserved" if isinstance(address, IPv6Address) and address not in _GLOBAL else None


def as_address(host: str) -> Address | None:
    """The address, if the host is one in its usual spelling; 0x7f.1, 2130706433 and 0177.0.0.1 are not."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def host_name_error(host: str) -> str | None:
    """What is wrong with this lowercase ASCII host name, or None."""
    if not host:
        return "no host is named"
    if host.endswith("."):
        return "the name ends with a dot; write it without"
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return "it looks like an address in an unusual spelling; write it as 192.0.2.1 or [2001:db8::1]"
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return "it isn't a host name"
    return None
