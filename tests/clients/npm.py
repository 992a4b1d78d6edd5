"""The ecosystem's own tools, from npm: which versions, where they are kept, how they are run."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from platformdirs import user_cache_path

PINNED: Final = {
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "gpt-tokenizer": "4.0.0",
    "node": "22.23.3",  # the Inspector needs 22 or newer, whatever the machine has
}
"""The only place where these versions are named."""

_UNREACHABLE: Final = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET")

_COUNT: Final = """
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { readFileSync } from "node:fs";
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((text) => encode(text).length)));
"""


class Npm:
    """Installed packages, and the Node that runs them."""

    def __init__(self, folder: Path) -> None:
        self.modules = folder / "node_modules"

    def run(
        self, script: str, *arguments: str, cwd: Path, stdin: str = "", timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a script of a package, such as `.bin/conformance`; its exit code is for the caller to judge."""
        node = self.modules / "node/bin/node"
        return subprocess.run(
            [str(node), str(self.modules / script), *arguments],
            cwd=cwd, input=stdin, capture_output=True, text=True, check=False, timeout=timeout,
            env={**os.environ, "NO_COLOR": "1", "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"},
        )  # fmt: skip

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text is, by o200k_base, whose vocabulary comes with the package."""
        script = self.modules.parent / "count.mjs"
        script.write_text(_COUNT)
        done = self.run("../count.mjs", cwd=script.parent, stdin=json.dumps(texts))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def install() -> Npm:
    """Everything pinned, kept in the user's cache folder; the test is skipped where npm can't be reached."""
    wanted = [f"{name}@{version}" for name, version in PINNED.items()]
    place = user_cache_path("cronty-tests") / ("npm-" + hashlib.sha256(" ".join(wanted).encode()).hexdigest()[:12])
    if not place.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm isn't installed, and the Inspector and the conformance suite come from it")
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="npm-new-", dir=place.parent))
        done = subprocess.run(
            [npm, "install", "--prefix", str(fresh), "--no-audit", "--no-fund", "--save-exact", *wanted],
            cwd=fresh, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        if done.returncode:
            shutil.rmtree(fresh, ignore_errors=True)
            if _UNREACHABLE.search(done.stderr):
                pytest.skip(f"npm can't reach its registry: {_UNREACHABLE.findall(done.stderr)[0]}")
            pytest.fail(f"npm install failed:\n{done.stderr[-2000:]}")
        try:
            fresh.rename(place)
        except OSError:  # another test run was quicker
            shutil.rmtree(fresh, ignore_errors=True)
    return Npm(place)
