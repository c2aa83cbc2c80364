#!/usr/bin/env python3
"""Generates the SBOM of the wheel in CycloneDX JSON, from constraints.txt and package metadata.

`sbom.py WHEEL` prints it; `sbom.py WHEEL STATUS` also lists the Debian packages of the image, from
the file var/lib/dpkg/status of its base. The output is reproducible: it contains neither time nor
random values.
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

from runtime import normalized, runtime_lines

ROOT = Path(__file__).parents[1]

_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def sbom(wheel: Path, constraints: str, dpkg_status: str = "") -> dict[str, Any]:
    """Return the SBOM of a wheel, its runtime dependencies and the Debian packages below them."""
    content = hashlib.sha256(wheel.read_bytes()).hexdigest()
    name, version = wheel.name.split("-")[:2]
    components = [*_components(constraints), *_debian_components(dpkg_status)]
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
                "dependsOn": [component["bom-ref"] for component in components],
            }
        ],
    }


def _components(constraints: str) -> Iterator[dict[str, Any]]:
    """Yield the runtime dependencies, each with the hashes that pip accepts."""
    component: dict[str, Any] = {}
    for line in runtime_lines(constraints):
        if locked := _LOCKED.match(line):
            if component:
                yield component
            component = _component(*locked.groups())
        if accepted := _HASH.search(line):
            # One hash per file and platform, so not a hash of the component.
            component["properties"].append(
                {"name": "lynq:accepted-file:sha256", "value": accepted.group(1)}
            )
    if component:
        yield component


def _debian_components(dpkg_status: str) -> Iterator[dict[str, Any]]:
    """Yield the installed packages of a dpkg status file."""
    for paragraph in dpkg_status.split("\n\n"):
        fields = dict(
            line.split(": ", 1)
            for line in paragraph.splitlines()
            if re.match(r"[A-Z][\w-]*: ", line)
        )
        if fields.get("Status") == "install ok installed":
            name, version = fields["Package"], fields["Version"]
            reference = f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}"
            yield {
                "type": "library",
                "bom-ref": reference,
                "name": name,
                "version": version,
                "purl": reference,
            }


def _component(name: str, version: str) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _reference(name, version),
        "name": normalized(name),
        "version": version,
        "purl": _reference(name, version),
    }
    if license_text := _license(name):
        component["licenses"] = [license_text]
    return component | {"properties": []}


def _license(name: str) -> dict[str, Any]:
    try:
        package = metadata(name)
    except PackageNotFoundError:
        return {}
    expressions = package.get_all("License-Expression") or []
    if expressions:
        return {"expression": expressions[0]}
    classified = [
        classifier.rpartition(" :: ")[2]
        for classifier in package.get_all("Classifier") or []
        if classifier.startswith("License ::")
    ]
    # Some packages have the whole license text in this field.
    stated = [line for text in package.get_all("License") or [] for line in text.splitlines()[:1]]
    names = [*classified, *stated]
    return {"license": {"name": names[0]}} if names else {}


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{normalized(name)}@{version}"


if __name__ == "__main__":
    status = Path(sys.argv[2]).read_text() if sys.argv[2:] else ""
    document = sbom(Path(sys.argv[1]), (ROOT / "constraints.txt").read_text(), status)
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
