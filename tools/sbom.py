#!/usr/bin/env python3
"""Writes the bill of materials of the wheel: CycloneDX JSON, from constraints.txt and metadata.

`sbom.py WHEEL` prints it. The same wheel gives the same bytes: no time of day, no chance.
"""

import hashlib
import json
import re
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from runtime import normal, runtime_lines

ROOT = Path(__file__).parents[1]

_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def bill(wheel: Path, constraints: str) -> dict[str, Any]:
    """Return the bill of a wheel and of what it is installed with."""
    content = hashlib.sha256(wheel.read_bytes()).hexdigest()
    name, version = wheel.name.split("-")[:2]
    components = list(_components(constraints))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": _reference(name, version),
                "name": name,
                "version": version,
                "purl": _reference(name, version),
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "hashes": [{"alg": "SHA-256", "content": content}],
            }
        },
        "components": components,
        "dependencies": [
            {
                "ref": _reference(name, version),
                "dependsOn": [each["bom-ref"] for each in components],
            }
        ],
    }


def _components(constraints: str) -> Iterator[dict[str, Any]]:
    """Yield what is installed besides the wheel, each with the hashes that pip may accept."""
    component: dict[str, Any] = {}
    for line in runtime_lines(constraints):
        if locked := _LOCKED.match(line):
            if component:
                yield component
            component = _component(*locked.groups())
        if accepted := _HASH.search(line):
            # Of a file per platform, so not the component's own.
            component["properties"].append(
                {"name": "lynq:accepted-file:sha256", "value": accepted.group(1)}
            )
    if component:
        yield component


def _component(name: str, version: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": _reference(name, version),
        "name": normal(name),
        "version": version,
        "purl": _reference(name, version),
    }
    if license_text := _license(name):
        found["licenses"] = [license_text]
    return found | {"properties": []}


def _license(name: str) -> dict[str, Any]:
    try:
        known = metadata(name)
    except PackageNotFoundError:
        return {}
    expressions = known.get_all("License-Expression") or []
    if expressions:
        return {"expression": expressions[0]}
    classified = [
        each.rpartition(" :: ")[2]
        for each in known.get_all("Classifier") or []
        if each.startswith("License ::")
    ]
    # Some have the whole text in there.
    stated = [line for text in known.get_all("License") or [] for line in text.splitlines()[:1]]
    names = [*classified, *stated]
    return {"license": {"name": names[0]}} if names else {}


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{normal(name)}@{version}"


if __name__ == "__main__":
    written = bill(Path(sys.argv[1]), (ROOT / "constraints.txt").read_text())
    sys.stdout.write(json.dumps(written, indent=2) + "\n")
