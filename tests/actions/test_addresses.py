"""The table of addresses we never connect to, against the standard library's opinion."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronty.actions.addresses import as_address, host_name_error, kind_of

NAT64 = IPv6Network("64:ff9b::/96")


@given(st.ip_addresses())
def test_whatever_the_standard_library_calls_not_global_is_refused(address: IPv4Address | IPv6Address) -> None:
    if not address.is_global or address.is_multicast or (address.is_reserved and address not in NAT64):
        assert kind_of(address) is not None


@given(st.ip_addresses(v=4))
def test_an_address_inside_the_common_nat64_prefix_is_what_it_is_outside(inner: IPv4Address) -> None:
    assert kind_of(IPv6Address(f"64:ff9b::{inner}")) == kind_of(inner)


@given(st.ip_addresses(v=4), st.sampled_from(["::", "::ffff:", "::ffff:0:", "64:ff9b:1::", "2002:7f00:1::"]))
def test_every_other_way_to_hide_an_ipv4_address_is_refused(inner: IPv4Address, prefix: str) -> None:
    assert kind_of(IPv6Address(f"{prefix}{inner}")) is not None


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("169.254.169.254", "metadata"),
        ("169.254.170.2", "metadata"),
        ("168.63.129.16", "metadata"),
        ("100.100.100.200", "metadata"),
        ("192.0.0.192", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("fd00:ec2::23", "metadata"),
        ("fd20:ce::254", "metadata"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        ("10.1.2.3", "private"),
        ("fd12::1", "private"),
        ("100.64.0.1", "shared"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("::", "embedded IPv4"),
        ("fe80::1%eth0", "link-local"),
        ("255.255.255.255", "reserved"),
        ("5f00::1", "reserved"),
        ("4000::1", "reserved"),
    ],
)
def test_what_kind_of_address_it_is(address: str, kind: str) -> None:
    assert kind_of(ip_address(address)) == kind


@pytest.mark.parametrize("address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001:80e::200e"])
def test_public_addresses_are_open(address: str) -> None:
    assert kind_of(ip_address(address)) is None


@pytest.mark.parametrize("host", ["127.1", "0177.0.0.1", "2130706433", "0x7f.1", "127.0.0.01", "1.2.3", "[::1]"])
def test_an_unusual_spelling_is_neither_an_address_nor_a_name(host: str) -> None:
    assert as_address(host) is None
    assert host_name_error(host) is not None


@pytest.mark.parametrize(
    "host", ["example.com", "a", "_dmarc.example.com", "xn--bcher-kva.example", "3com.com", "a-1.b"]
)
def test_usual_names_have_no_flaw(host: str) -> None:
    assert host_name_error(host) is None
