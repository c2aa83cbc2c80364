#!/usr/bin/env python3
"""Reads the OCI archive of the image.

As a command it prints digest and size, and fails if the image is larger than 100 MB.
"""

import json
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

LIMIT: Final = 100_000_000
"""The allowed size of the compressed layers in bytes."""


@dataclass(frozen=True)
class ImageArchive:
    """An OCI image layout in a tar file, with one image."""

    path: Path

    @property
    def digest(self) -> str:
        """The digest of the manifest, which a registry shows."""
        (descriptor,) = json.loads(self._read("index.json"))["manifests"]
        digest: str = descriptor["digest"]
        return digest

    @property
    def name(self) -> str:
        """The name and tag that the index gives to the image."""
        (descriptor,) = json.loads(self._read("index.json"))["manifests"]
        name: str = descriptor["annotations"]["org.opencontainers.image.ref.name"]
        return name

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The manifest of the image."""
        manifest: dict[str, Any] = json.loads(self._blob(self.digest))
        return manifest

    @cached_property
    def config(self) -> dict[str, Any]:
        """User, environment and entry point of the image."""
        config: dict[str, Any] = json.loads(self._blob(self.manifest["config"]["digest"]))["config"]
        return config

    @property
    def size(self) -> int:
        """The size of the compressed layers in bytes."""
        return sum(layer["size"] for layer in self.manifest["layers"])

    def unpack(self, folder: Path) -> None:
        """Extract all layers; requires root."""
        for layer in self.manifest["layers"]:
            subprocess.run(  # noqa: S603
                ["tar", "--extract", "--gzip", "--directory", folder],  # noqa: S607
                input=self._blob(layer["digest"]),
                check=True,
            )

    def _blob(self, digest: str) -> bytes:
        return self._read("blobs/" + digest.replace(":", "/"))

    def _read(self, name: str) -> bytes:
        with tarfile.open(self.path) as archive:
            file = archive.extractfile(f"./{name}")
            if file is None:
                raise FileNotFoundError(f"{self.path}: {name} is not a file")
            return file.read()


def main() -> int:
    """Print digest and size of an archive; return the exit code."""
    image = ImageArchive(Path(sys.argv[1]))
    sizes = " + ".join(f"{layer['size'] / 1e6:.1f}" for layer in image.manifest["layers"])
    sys.stdout.write(f"{image.path}: {image.name}@{image.digest}\n")
    sys.stdout.write(f"{image.size / 1e6:.1f} MB compressed ({sizes})\n")
    if image.size > LIMIT:
        sys.stderr.write(f"The image is larger than {LIMIT / 1e6:.0f} MB.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
