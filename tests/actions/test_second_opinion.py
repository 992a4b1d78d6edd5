"""The guard against a second opinion: whatever `ssrfguard` refuses, we refuse as well."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ssrfguard import DEFAULT_DENIED, Policy, SSRFGuardError

from cronty.actions.addresses import kind_of
from cronty.actions.outbound import CallRefused, Outbound
from tests.actions.servers import watching
from tests.actions.test_ssrf import ANSWERS, SPELLINGS, Names

POLICY = Policy(allowed_schemes=frozenset({"https"}), max_url_length=2048)

FORBIDDEN = [
    "127.0.0.1", "127.8.9.10", "0.0.0.0", "10.0.0.1", "172.16.5.4", "192.168.1.1", "169.254.169.254", "169.254.170.2",
    "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1", "224.0.0.251", "255.255.255.255",
]  # fmt: skip

# What we refuse and the second opinion lets pass at this point. Hexadecimal spellings, Arabic digits, the last dot and
# `[v1.x]` are names to it, and refused once they resolve; we don't ask a resolver about what isn't one plain spelling
# of a host. Azure's 168.63.129.16 is a public address, and answers only inside Azure, with credentials.
# `::ffff:0:…` (RFC 2765, SIIT) hides an IPv4 address from whoever translates it.
WE_ALONE = {
    "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0X7F.1/", "https://0xa9fea9fe/", "https://١٢٧.0.0.1/",
    "https://[v1.x]/", "https://example.com.", "https://168.63.129.16/", "https://[::ffff:0:127.0.0.1]/",
}  # fmt: skip


def spelled(address: str) -> Iterator[str]:
    """An IPv4 address in the ways that resolvers, parsers and translators between protocols have understood it."""
    number = int(IPv4Address(address))
    a, b, c, d = address.split(".")
    high, low = number >> 16, number & 0xFFFF
    yield from (address, f"{address}.", f"{number}", f"{number:#x}", f"{number:#o}".replace("0o", "0"))
    yield from (f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{low}", ".".join(f"{int(one):#x}" for one in (a, b, c, d)))
    yield from (".".join(f"{int(one):04o}" for one in (a, b, c, d)), f"{a}.{b}.{c}.{int(d):#x}")
    yield from (address.replace(".", "。"), address.replace(".", "%2e"), "".join(_wide(one) for one in address))
    yield from (f"[::{address}]", f"[::ffff:{address}]", f"[::ffff:{high:x}:{low:x}]", f"[64:ff9b::{address}]")
    yield from (f"[64:ff9b:1::{address}]", f"[2002:{high:x}:{low:x}::1]", f"[2001:0:{high:x}:{low:x}::1]")


def _wide(character: str) -> str:
    return chr(ord(character) + 0xFEE0) if character.isdigit() else character


HOSTILE = [*SPELLINGS, *(f"https://{host}/" for address in FORBIDDEN for host in spelled(address))]


def refused_elsewhere(url: str) -> bool:
    try:
        POLICY.check_url(url)
    except SSRFGuardError:
        return True
    return False


async def test_of_all_hostile_targets_none_is_called_and_none_that_the_other_refuses_is_let_through() -> None:
    assert len(set(HOSTILE)) >= 300
    names = Names(["127.0.0.1"])
    outbound = Outbound(resolver=names)
    let_through: list[str] = []
    with watching() as watch:
        for url in HOSTILE:
            try:
                await outbound.send("POST", url)
            except CallRefused:
                continue
            let_through.append(url)
    await outbound.aclose()
    assert (watch.seen, names.asked, let_through) == ([], [], [])


def test_where_we_alone_refuse_is_written_down() -> None:
    assert {url for url in SPELLINGS if not refused_elsewhere(url)} == WE_ALONE


@pytest.mark.parametrize("answers", ANSWERS, ids=lambda answers: answers[-1])
async def test_an_answer_that_the_other_refuses_is_refused(answers: Sequence[str]) -> None:
    permitted = all(POLICY.permits_address(one) for one in answers)
    outbound = Outbound(resolver=Names(answers))
    with watching() as watch, pytest.raises(CallRefused):
        await outbound.send("POST", "https://hooks.example.com/")
    await outbound.aclose()
    assert watch.seen == []
    assert not permitted or answers == ["168.63.129.16"]


@given(st.ip_addresses())
def test_an_address_that_the_other_refuses_is_refused(address: IPv4Address | IPv6Address) -> None:
    assert POLICY.permits_address(address) or kind_of(address) is not None


def test_the_edges_of_every_block_that_the_other_refuses_are_refused() -> None:
    edges = [edge for block in DEFAULT_DENIED.blocks for edge in (block.network[0], block.network[-1])]
    refused = [edge for edge in edges if not POLICY.permits_address(edge)]
    assert len(refused) >= 40
    assert [edge for edge in refused if kind_of(edge) is None] == []
