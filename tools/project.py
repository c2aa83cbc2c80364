#!/usr/bin/env python3
"""Name and version of the release artifacts, from pyproject.toml.

As a command it prints the version, or with the argument `image` the image with its tag.
"""

import sys
import tomllib
from pathlib import Path
from typing import Final

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())

VERSION: Final[str] = _PROJECT["project"]["version"]
IMAGE: Final[str] = _PROJECT["tool"]["lynq"]["image"]
"""The image without registry and tag."""

if __name__ == "__main__":
    sys.stdout.write(f"{IMAGE}:{VERSION}\n" if sys.argv[1:] == ["image"] else f"{VERSION}\n")
