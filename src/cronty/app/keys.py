"""The installation's own key, from which others are made."""

from collections.abc import Callable

from cronty.settings import Settings
from cronty.store.sealing import key_of_folder


def with_the_key[T](settings: Settings, read: Callable[[str], T]) -> T | None:
    """Made with the key of the settings; a local installation keeps one of its own."""
    if settings.secret_key is not None:
        return read(settings.secret_key.get_secret_value())
    return read(key_of_folder(settings.data_dir)) if settings.database_url is None else None
