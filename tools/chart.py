#!/usr/bin/env python3
"""Packages the chart: `chart.py FOLDER` writes a .tgz, an OCI archive and an index of a repository.

The output is reproducible: files are sorted, and the only time is SOURCE_DATE_EPOCH. Media types
and annotations of the OCI archive are those of `helm push`.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "chart"

_CONFIG: Final = "application/vnd.cncf.helm.config.v1+json"
_CONTENT: Final = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_INDEX: Final = "application/vnd.oci.image.index.v1+json"


def package(chart: Path, name: str) -> bytes:
    """Return the .tgz of a chart folder."""
    files = {
        f"{name}/{path.relative_to(chart)}": path.read_bytes()
        for path in chart.rglob("*")
        if path.is_file() and path.suffix not in {".swp", ".orig"}
    }
    return gzip.compress(_tar(files), compresslevel=9, mtime=0)


def oci_archive(content: bytes, metadata: dict[str, Any], created: str) -> bytes:
    """Return an OCI image layout with the packaged chart, as a tar file."""
    config = _json(metadata)
    annotations = {
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.description": metadata["description"],
        "org.opencontainers.image.title": metadata["name"],
        "org.opencontainers.image.version": metadata["version"],
    }
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, config),
            "layers": [_descriptor(_CONTENT, content)],
            "annotations": annotations,
        }
    )
    tag = {"annotations": {"org.opencontainers.image.ref.name": metadata["version"]}}
    index = {
        "schemaVersion": 2,
        "mediaType": _INDEX,
        "manifests": [_descriptor(_MANIFEST, manifest) | tag],
    }
    blobs = {f"blobs/sha256/{_sha256(blob)}": blob for blob in (config, content, manifest)}
    layout = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": _json(index)}
    return _tar(layout | blobs)


def repository_index(
    content: bytes, metadata: dict[str, Any], file: str, created: str
) -> dict[str, Any]:
    """Return the index.yaml of a chart repository with this version only."""
    entry = {**metadata, "created": created, "digest": _sha256(content), "urls": [file]}
    return {"apiVersion": "v1", "entries": {metadata["name"]: [entry]}, "generated": created}


def main() -> int:
    """Write all files into a folder; return the exit code."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    metadata = yaml.safe_load((CHART / "Chart.yaml").read_text())
    moment = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC)
    created = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    file = f"{metadata['name']}-{metadata['version']}.tgz"
    content = package(CHART, metadata["name"])
    (folder / file).write_bytes(content)
    archive = folder / f"{metadata['name']}-chart-{metadata['version']}.oci.tar"
    archive.write_bytes(oci_archive(content, metadata, created))
    index = yaml.safe_dump(repository_index(content, metadata, file, created))
    (folder / "index.yaml").write_text(index)
    shutil.copy(ROOT / "deploy" / "artifacthub-repo.yml", folder)
    sys.stdout.write(f"{folder / file}: sha256:{_sha256(content)}\n{archive}\n")
    return 0


def _tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _descriptor(media_type: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{_sha256(blob)}", "size": len(blob)}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
