"""What others could have written, or could put in the place of something of ours, is neither read nor used."""

import os
import shutil
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from cronty.actions.agents import BadAgents, read_agents
from cronty.actions.shell import BadCommands, Declared, declare, read_commands
from cronty.cli.service_folder import ServiceFolder, ServiceSpec
from cronty.own_files import NotOurs, make_own_folder, read_own
from cronty.store.local import NoDatabase, start_local_server
from cronty.store.private_file import BadPrivateFile, private_folder, private_text

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes what belongs to somebody else")


@pytest.fixture
def no_umask() -> Generator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def ours(folder: Path) -> Path:
    """A file of ours, three folders down."""
    path = folder / "a/b/c/file.toml"
    path.parent.mkdir(parents=True)
    path.write_text("here = true\n")
    path.chmod(0o600)
    for above in path.parents[:3]:
        above.chmod(0o755)
    return path


@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_file_is_as_good_as_every_folder_above_it(tmp_path: Path, above: int) -> None:
    path = ours(tmp_path)
    assert read_own(path) == b"here = true\n"
    folder = path.parents[above]
    folder.chmod(0o777)
    with pytest.raises(NotOurs, match=f"is reached through {folder}, which may be written by others") as refused:
        read_own(path)
    assert refused.value.mend == f"chmod go-w {folder}"
    folder.chmod(0o1777)  # there nobody moves what isn't theirs
    assert read_own(path) == b"here = true\n"


@needs_root
@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_file_of_root_in_a_folder_of_somebody_else_or_of_their_group_is_not_believed(
    tmp_path: Path, above: int
) -> None:
    path = ours(tmp_path)
    folder = path.parents[above]
    shutil.chown(folder, "nobody")
    with pytest.raises(NotOurs, match=f"is reached through {folder}, which belongs to nobody"):
        read_own(path)
    shutil.chown(folder, "root", 12345)
    assert read_own(path) == b"here = true\n"
    folder.chmod(0o775)
    with pytest.raises(NotOurs, match=f"is reached through {folder}, which may be written by others"):
        read_own(path)


@needs_root
def test_a_link_counts_as_its_maker_and_as_all_that_it_leads_through(tmp_path: Path) -> None:
    path = ours(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(path.parents[1])
    assert read_own(link / "c/file.toml") == b"here = true\n"
    assert read_own(link / "../b/c/file.toml") == b"here = true\n"
    path.parents[2].chmod(0o777)
    with pytest.raises(NotOurs, match="may be written by others"):
        read_own(link / "c/file.toml")
    path.parents[2].chmod(0o755)
    os.chown(link, 65534, 65534, follow_symlinks=False)
    with pytest.raises(NotOurs, match=f"is reached through {link}, which belongs to "):
        read_own(link / "c/file.toml")


def test_links_that_go_round_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to(tmp_path / "y")
    (tmp_path / "y").symlink_to(tmp_path / "x")
    with pytest.raises(OSError, match="symbolic links"):
        read_own(tmp_path / "x")


def test_agents_commands_and_the_service_are_not_taken_from_where_others_could_put_them(tmp_path: Path) -> None:
    data = tmp_path / "team/data"
    agents, commands = data / "agents.toml", data / "commands.toml"
    declare(commands, [Declared("true")])
    agents.write_text("[agents.x]\n")
    agents.chmod(0o600)
    service = ServiceFolder(data)
    service.make()
    service.save_spec(ServiceSpec([], "http://127.0.0.1:1", "background", "/"))
    assert [*read_agents(agents), *read_commands(commands).values()] == ["x", Declared("true")]
    assert service.spec()
    private_text(data / "key", lambda: "secret")
    data.parent.chmod(0o777)  # whoever exchanges `data` now has exchanged all of it
    with pytest.raises(BadAgents, match=f"chmod go-w {data.parent}"):
        read_agents(agents)
    with pytest.raises(BadCommands, match=f"chmod go-w {data.parent}"):
        read_commands(commands)
    with pytest.raises(BadPrivateFile, match=f"chmod go-w {data.parent}"):
        service.spec()
    with pytest.raises(BadPrivateFile, match=f"chmod go-w {data.parent}"):
        ServiceFolder(data)
    with pytest.raises(BadPrivateFile, match=f"chmod go-w {data.parent}"):
        private_text(data / "key", lambda: "another")


def test_folders_that_are_made_on_the_way_are_for_nobody_else_whatever_the_umask(
    tmp_path: Path, no_umask: None
) -> None:
    make_own_folder(tmp_path / "first")
    private_folder(tmp_path / ".local/share/cronty", make=True)
    declare(tmp_path / "etc/cronty/commands.toml", [Declared("true")])
    to_pass_through = 0o711 if os.geteuid() == 0 else 0o700
    modes = {str(one.relative_to(tmp_path)): stat.S_IMODE(one.stat().st_mode) for one in tmp_path.rglob("*")}
    assert modes == {
        "first": 0o700,
        ".local": to_pass_through,
        ".local/share": to_pass_through,
        ".local/share/cronty": 0o700,
        "etc": to_pass_through,
        "etc/cronty": 0o700,
        "etc/cronty/commands.toml": 0o600,
    }


@needs_root
@pytest.mark.parametrize("below", ["", "data"])
def test_root_follows_nobodys_link_to_its_data_folder(tmp_path: Path, below: str) -> None:
    shared, closed = tmp_path / "shared", tmp_path / "closed"
    shared.mkdir()
    shared.chmod(0o1777)
    closed.mkdir(mode=0o700)
    (shared / "x").symlink_to(closed)
    os.chown(shared / "x", 65534, 65534, follow_symlinks=False)
    with pytest.raises(NoDatabase, match=r"belongs to .* set CRONTY_DATA_DIR to a folder of your own"):
        start_local_server(shared / "x" / below)
    with pytest.raises(BadPrivateFile):
        ServiceFolder(shared / "x" / below)
    assert (stat.S_IMODE(closed.stat().st_mode), list(closed.iterdir())) == (0o700, [])


@needs_root
def test_a_folder_that_somebody_else_made_in_a_shared_place_is_not_used(tmp_path: Path) -> None:
    theirs = tmp_path / "shared/theirs"
    theirs.mkdir(parents=True)
    theirs.parent.chmod(0o1777)
    (theirs / "data").mkdir(mode=0o700)  # root's, but they can exchange it
    shutil.chown(theirs, "nobody")
    for folder in (theirs, theirs / "data", theirs / "new"):
        with pytest.raises(BadPrivateFile, match="belongs to nobody"):
            private_folder(folder, make=True)
    assert not (theirs / "new").exists()
    assert private_folder(theirs.parent / "ours", make=True).is_dir()
