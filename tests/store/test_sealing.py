"""What is sealed opens with its key, in its place, and nowhere else."""

import stat
from base64 import b64encode, urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cronty.store.sealing import BadKey, CannotOpen, Sealer, key_of_folder, new_key

SECRET = "mailto://ann:canary@example.com"


def test_what_is_sealed_opens_and_shows_nothing_of_itself() -> None:
    sealer = Sealer.read(new_key())
    sealed = sealer.seal(SECRET, "here")
    assert sealer.open(sealed, sealer.key_id, "here") == SECRET
    assert b"canary" not in sealed
    assert sealer.seal(SECRET, "here") != sealed


def test_a_sealed_text_does_not_open_in_another_place() -> None:
    sealer = Sealer.read(new_key())
    with pytest.raises(CannotOpen):
        sealer.open(sealer.seal(SECRET, "owner 1 phone"), sealer.key_id, "owner 2 phone")


def test_a_changed_text_does_not_open() -> None:
    sealer = Sealer.read(new_key())
    sealed = sealer.seal(SECRET, "here")
    for changed in (sealed[:-1], bytes([sealed[0] ^ 1]) + sealed[1:], sealed[:5], b""):
        with pytest.raises(CannotOpen):
            sealer.open(changed, sealer.key_id, "here")


def test_while_keys_rotate_the_first_seals_and_all_open() -> None:
    old, new = new_key(), new_key()
    before, during, after = Sealer.read(old), Sealer.read(f"{new}, {old}"), Sealer.read(new)
    sealed = before.seal(SECRET, "here")
    assert during.open(sealed, before.key_id, "here") == SECRET
    again = during.seal(SECRET, "here")
    assert after.open(again, during.key_id, "here") == SECRET
    with pytest.raises(CannotOpen):
        before.open(again, during.key_id, "here")


def test_base64_of_both_kinds_is_read() -> None:
    key = b"\xff\xfe" * 16
    assert Sealer.read(b64encode(key).decode()).key_id == Sealer([key]).key_id
    assert Sealer.read(b64encode(key, b"-_").decode().rstrip("=")).key_id == Sealer([key]).key_id


GOOD = urlsafe_b64encode(bytes(range(32))).decode()


@pytest.mark.parametrize("wrong", ["", "canary", "canary" * 40, f"{GOOD},canary", "cänary", ","])
def test_a_key_that_is_none_is_refused_without_being_shown(wrong: str) -> None:
    with pytest.raises(BadKey, match="`cronty key` prints a new one") as refused:
        Sealer.read(wrong)
    assert "canary" not in str(refused.value)


def test_a_local_installation_makes_one_key_for_its_owners_eyes_only(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(key_of_folder, [folder] * 32))
    assert len(keys) == 1
    Sealer.read(keys.pop())
    assert stat.S_IMODE((folder / "secret.key").stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["secret.key"]
