"""What importing may bring with it: nothing that only other ways in need, and no line on the terminal."""

import os
import subprocess
import sys

from tests.patience import PATIENCE

HEAVY = ("asyncpg", "cryptography", "jsonschema", "mcp", "pydantic", "starlette", "uvicorn")
ROOMS = ("actions", "app", "client", "engine", "jobs", "mcp", "scheduler", "store", "timing", "web")


def test_help_lists_the_commands_without_what_they_need() -> None:
    names = (*HEAVY, *(f"cronty.{room}" for room in ROOMS))
    code = f"""if True:
        import sys
        from cronty.cli.main import app
        sys.argv = ["cronty", "--help"]
        app(standalone_mode=False)
        print([name for name in {names!r} if name in sys.modules])"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert "Schedule something" in said.stdout
    assert said.stdout.splitlines()[-1] == "[]"


def test_what_takes_long_to_import_is_imported_when_it_is_first_used() -> None:
    code = """if True:
        import sys
        from cronty import Cronty
        from cronty.jobs.arguments import jsonschema
        from cronty.scheduler.identity import jwt
        late = ("jsonschema.validators", "jwt.api_jwt", "cryptography.x509")
        print([name for name in late if name in sys.modules])
        print(jsonschema.Draft202012Validator.__name__, jwt.PyJWTError.__name__)"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert said.stdout.splitlines() == ["[]", "Draft202012Validator PyJWTError"]


def test_nothing_is_said_where_there_is_no_runtime_folder() -> None:
    code = "import chaos.postgres, tests.conftest"
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    command = [sys.executable, "-W", "default::UserWarning", "-c", code]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert "XDG_RUNTIME_DIR" not in said.stdout + said.stderr
