"""The key of the user who runs a server on this machine."""

from pathlib import Path

from cronty.contract.local_key import FILE, new_local_key
from cronty.store.private_file import private_folder, private_text


def local_key_of(data_dir: Path) -> str:
    """The key in the data folder, made at the first start."""
    return private_text(key_file(data_dir), new_local_key)


def key_file(data_dir: Path) -> Path:
    return private_folder(data_dir) / FILE
