"""Prints what Cronty is made of as CycloneDX 1.6, from the locked requirements: `python -m tests.house.sbom`."""

import json
import re
import tomllib
import uuid
from hashlib import sha256
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
VENDORED: Final = {"htmx.min.js": "pkg:npm/htmx.org", "inter-latin.woff2": "pkg:npm/%40fontsource-variable/inter@5.3.0"}
"""A file that doesn't say its version has it here."""

type Component = dict[str, object]


def components_of(text: str, scope: str) -> dict[str, Component]:
    """The packages of a requirements file, by name."""
    found: dict[str, Component] = {}
    for part in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]:
        named = re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", part)
        assert named, part
        name = re.sub(r"[-_.]+", "-", named[1]).lower()
        place = f"pkg:pypi/{name}@{named[2]}"
        hashes = [{"alg": "SHA-256", "content": one} for one in re.findall(r"--hash=sha256:([0-9a-f]{64})", part)]
        found[name] = {
            "type": "library", "bom-ref": place, "name": name, "version": named[2], "scope": scope, "purl": place,
            "hashes": hashes,
        }  # fmt: skip
    return found


def vendored() -> list[Component]:
    """Files of others that come with the package."""
    found: list[Component] = []
    for name, place in VENDORED.items():
        content = (ROOT / "src/cronty/web/dashboard/static" / name).read_bytes()
        if (inside := re.search(rb'version:"([0-9.]+)"', content)) is not None:
            place = f"{place}@{inside[1].decode()}"
        version = place.rpartition("@")[2]
        found.append(
            {
                "type": "library", "bom-ref": place, "name": name, "version": version, "scope": "optional",
                "purl": place, "hashes": [{"alg": "SHA-256", "content": sha256(content).hexdigest()}],
            }
        )  # fmt: skip
    return found


def bill_of_materials() -> dict[str, object]:
    """`required` is what `pip install cronty` brings, `optional` what extras add. The same files give the same bill."""
    texts = [(ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8") for name in ("extras", "runtime")]
    packages = components_of(texts[0], "optional") | components_of(texts[1], "required")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [packages[name] for name in sorted(packages)] + vendored()
    itself = f"pkg:pypi/cronty@{project['version']}"
    content = json.dumps([itself, listed])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": itself, "name": "cronty", "version": project["version"],
                "purl": itself, "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": listed,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(bill_of_materials(), indent=2))
