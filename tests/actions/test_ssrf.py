"""Hostile targets: no connection to a forbidden address, in whatever way it is spelled or resolved."""

from collections.abc import Sequence

import pytest

from cronty.actions.outbound import CallFailed, CallRefused, Outbound
from tests.actions.servers import answer, plain, watching

PUBLIC = "93.184.215.14"

SPELLINGS = [
    # Loopback in every spelling that some resolver or another understands.
    "https://127.0.0.1/", "https://127.0.0.1:443/", "https://127.1/", "https://127.0.1/", "https://127.255.255.254/",
    "https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0X7F.1/", "https://0177.0.0.1/",
    "https://017700000001/", "https://0/", "https://0.0.0.0/", "https://127.0.0.1./", "https://127.000.000.001/",
    "https://[::1]/", "https://[0:0:0:0:0:0:0:1]/", "https://[::]/", "https://[::127.0.0.1]/",
    "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::ffff:0:127.0.0.1]/",
    "https://[64:ff9b::127.0.0.1]/", "https://[64:ff9b:1::127.0.0.1]/", "https://[2002:7f00:1::]/",
    "https://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
    "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/", "https://１２７.0.0.1/", "https://١٢٧.0.0.1/",
    "https://%31%32%37.0.0.1/", "https://127.0.0.1%2f@example.com/", "https://127%2e0%2e0%2e1/",
    # Metadata services and the neighbourhood.
    "https://169.254.169.254/latest/meta-data/", "https://2852039166/", "https://0xa9fea9fe/",
    "https://[::ffff:169.254.169.254]/", "https://[64:ff9b::a9fe:a9fe]/", "https://[fd00:ec2::254]/",
    "https://169.254.170.2/", "https://168.63.129.16/", "https://100.100.100.200/", "https://192.0.0.192/",
    "https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/",
    "https://10.0.0.1/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.1.1/",
    "https://100.64.0.1/", "https://[fc00::1]/", "https://[fd12:3456::1]/", "https://[fec0::1]/",
    # Nobody's, everybody's, or not routed.
    "https://192.0.2.1/", "https://198.18.0.1/", "https://198.51.100.1/", "https://203.0.113.1/",
    "https://192.88.99.1/", "https://224.0.0.1/", "https://239.255.255.250/", "https://240.0.0.1/",
    "https://255.255.255.255/", "https://[ff02::1]/", "https://[100::1]/", "https://[2001:db8::1]/",
    "https://[2001:10::1]/", "https://[3fff::1]/", "https://[5f00::1]/",
    # URLs that are read differently by different readers.
    f"https://user@{PUBLIC}/", f"https://127.0.0.1@{PUBLIC}/", f"https://{PUBLIC}@127.0.0.1/", "https://@127.0.0.1/",
    f"https://{PUBLIC}\\@127.0.0.1/", f"https://{PUBLIC}#@127.0.0.1@x/ y", "https://127.0.0.1\t/",
    "https:/127.0.0.1/", "https:127.0.0.1", "https:///127.0.0.1/", "//127.0.0.1/", "127.0.0.1", "https://", "",
    "https://example.com\r\nHost: x/", "https://exa mple.com/", "https://-a.com/", "https://a..com/", "https://.com/",
    "https://[::1/", "https://[127.0.0.1]/", "https://[v1.x]/", "https://example.com.", "https://ex%41mple.com/",
    "https://example.com:22/", "https://example.com:0/", "https://example.com:-1/", "https://example.com:99999999/",
    "https://example.com:4４3x/", "https://example.com:x/",
    # Not ours to speak.
    f"http://{PUBLIC}/", "http://example.com/", "http://example.com:443/", "ftp://example.com/", "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_x", "data:text/plain,x", "javascript:alert(1)", "unix:///var/run/docker.sock",
    "https://example.com/" + "a" * 2048,
]  # fmt: skip

ANSWERS = [
    ["127.0.0.1"], ["::1"], ["10.0.0.5"], ["192.168.0.10"], ["172.20.0.2"], ["169.254.169.254"], ["168.63.129.16"],
    ["100.64.1.1"], ["fd00:ec2::254"], ["fe80::1%eth0"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"], ["2002:a00:1::"],
    ["0.0.0.0"], ["255.255.255.255"], ["224.0.0.251"], [PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC],
    [PUBLIC, "2606:2800:21f:cb07::1", "fd00::1"], [*[f"93.184.215.{n}" for n in range(1, 60)], "10.0.0.1"],
]  # fmt: skip


class Names:
    """A resolver in the hand: every question gets the next answer, the last one forever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = [*answers]
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(set(SPELLINGS)) == len(SPELLINGS) >= 60


@pytest.mark.parametrize("url", SPELLINGS)
async def test_a_hostile_url_is_refused_before_anybody_is_asked_or_called(url: str) -> None:
    names = Names(["127.0.0.1"])
    outbound = Outbound(resolver=names)
    with watching() as watch:
        with pytest.raises(CallRefused, match="We don't call"):
            outbound.check(url)
        with pytest.raises(CallRefused, match="We don't call"):
            await outbound.send("POST", url)
    await outbound.aclose()
    assert (watch.seen, names.asked) == ([], [])


@pytest.mark.parametrize("answers", ANSWERS, ids=lambda answers: answers[-1])
async def test_a_name_is_refused_if_any_of_its_addresses_is(answers: list[str]) -> None:
    outbound = Outbound(resolver=Names(answers))
    outbound.check("https://hooks.example.com/")
    with watching() as watch, pytest.raises(CallRefused, match=r"We don't call 'hooks.example.com': it ha|hides"):
        await outbound.send("POST", "https://hooks.example.com/")
    await outbound.aclose()
    assert watch.seen == []


async def test_a_refusal_names_the_host_and_the_kind_of_address_but_not_the_address() -> None:
    outbound = Outbound(resolver=Names(["10.20.30.40"]))
    with pytest.raises(CallRefused) as refused:
        await outbound.send("POST", "https://hooks.example.com/")
    await outbound.aclose()
    assert str(refused.value) == "We don't call 'hooks.example.com': it has a private address."


@pytest.mark.parametrize(
    "url",
    [
        "https://ann:HUSH@example.com/", "https://ann:HU/HUSH@example.com/", "https://HUSH@example.com/",
        "https://example.com:99999/?token=HUSH", "https://exa mple.com/?token=HUSH", "https://ann:HUSH/@example.com",
        "https://example.com/?token=HUSH" + "x" * 2048, "https:/example.com?token=HUSH", "HUSH", "ann:HUSH@example.com",
        "http://example.com/HUSH", "https://127.0.0.1/?token=HUSH", "https://-a.com/?token=HUSH",
    ],
)  # fmt: skip
async def test_a_refusal_says_nothing_of_a_url_but_its_host(url: str) -> None:
    outbound = Outbound()
    with pytest.raises(CallRefused) as refused:
        outbound.check(url)
    await outbound.aclose()
    assert "HUSH" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://EXAMPLE.com/", "example.com"),
        ("https://example.com:/", "example.com"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("HTTPS://example.com:443", "example.com"),
    ],
)
async def test_what_can_be_spelled_in_one_way_only_is_spelled_so_before_it_is_asked_for(url: str, asked: str) -> None:
    names = Names([PUBLIC])
    outbound = Outbound(resolver=names)
    with watching() as watch, pytest.raises(CallFailed):
        await outbound.send("POST", url)
    await outbound.aclose()
    assert (names.asked, watch.seen) == ([asked], [PUBLIC])


async def test_a_name_that_changes_its_mind_is_asked_once_and_called_where_it_was_checked() -> None:
    names = Names([PUBLIC], ["127.0.0.1"])
    outbound = Outbound(resolver=names)
    with watching() as watch, pytest.raises(CallFailed) as failed:
        await outbound.send("POST", "https://rebind.example.com/")
    assert (watch.seen, names.asked, failed.value.category) == ([PUBLIC], ["rebind.example.com"], "refused")
    with watching() as watch, pytest.raises(CallRefused, match="loopback"):
        await outbound.send("POST", "https://rebind.example.com/")
    assert watch.seen == []
    await outbound.aclose()


async def test_a_public_address_that_does_not_answer_is_followed_by_the_next_one_up_to_four() -> None:
    addresses = [f"93.184.215.{n}" for n in range(1, 10)]
    outbound = Outbound(resolver=Names(addresses))
    with watching() as watch, pytest.raises(CallFailed):
        await outbound.send("POST", "https://hooks.example.com/")
    await outbound.aclose()
    assert watch.seen == addresses[:4]


@pytest.mark.parametrize("location", ["http://127.0.0.1:1/secret", "http://169.254.169.254/", "/elsewhere"])
async def test_a_redirect_is_an_answer_and_not_an_order(location: str) -> None:
    async with plain(answer(302, b"", location=location), answer(200)) as server:
        outbound = Outbound([server.allowed])
        with watching() as watch:
            given = await outbound.send("POST", server.url)
        await outbound.aclose()
    assert (given.status, len(server.received), watch.seen) == (302, 1, ["127.0.0.1"])


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://93.184.215.99:3128")
    async with plain(answer(200)) as server:
        outbound = Outbound([server.allowed])
        with watching() as watch:
            await outbound.send("POST", server.url)
        await outbound.aclose()
    assert watch.seen == ["127.0.0.1"]


# -- what an operator allows --------------------------------------------------------------------------------------


async def test_an_allowed_host_may_be_private_on_its_port_and_by_plain_http() -> None:
    async with plain(answer(200, b"hello")) as server:
        names = Names(["127.0.0.1"])
        outbound = Outbound([f"ntfy.internal:{server.port}"], resolver=names)
        given = await outbound.send("POST", f"http://NTFY.internal:{server.port}/topic?a=1#frag", body=b"x")
        for url in (f"http://other.internal:{server.port}/", "http://ntfy.internal/", "https://ntfy.internal/"):
            with watching() as watch, pytest.raises(CallRefused):
                await outbound.send("POST", url)
            assert watch.seen == []
        await outbound.aclose()
    assert given.body == b"hello"
    assert server.received[0].line == "POST /topic?a=1 HTTP/1.1"
    assert server.received[0].headers["host"] == f"ntfy.internal:{server.port}"


@pytest.mark.parametrize("answers", [["169.254.169.254"], ["168.63.129.16"], ["fd00:ec2::254"], ["224.0.0.1"], ["::"]])
async def test_even_an_allowed_host_is_never_a_metadata_service(answers: list[str]) -> None:
    outbound = Outbound(["ntfy.internal"], resolver=Names(answers))
    with watching() as watch, pytest.raises(CallRefused):
        await outbound.send("POST", "http://ntfy.internal/")
    await outbound.aclose()
    assert watch.seen == []


@pytest.mark.parametrize("entry", ["[fd12::1]:8080", "[FD12:0::1]:8080"])
async def test_an_allowed_address_may_be_written_in_any_usual_way(entry: str) -> None:
    outbound = Outbound([entry])
    outbound.check("http://[fd12:0:0::1]:8080/")
    with pytest.raises(CallRefused):
        outbound.check("http://[fd12::2]:8080/")
    await outbound.aclose()


@pytest.mark.parametrize("entry", ["", "http://x", "a b", "*.example.com", "127.1", "host:port", "host:80:80", "a/b"])
def test_an_entry_that_is_no_host_is_refused_at_the_start(entry: str) -> None:
    with pytest.raises(ValueError, match="Can't allow"):
        Outbound([entry])


def test_one_string_is_not_a_list_of_hosts() -> None:
    with pytest.raises(TypeError, match="list of hosts"):
        Outbound("localhost")
