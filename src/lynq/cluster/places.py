"""Where the local control plane keeps its things on this machine."""

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return the folder for what can be made again: toolchains and binaries."""
    return _base("XDG_CACHE_HOME", ".cache") / "lynq"


def clusters_directory() -> Path:
    """Return the folder that holds one record per running cluster."""
    return _base("XDG_STATE_HOME", ".local/state") / "lynq" / "clusters"


def controlplane_source() -> Path:
    """Return the Go module of the control plane: in the wheel, or in the source tree."""
    packaged = Path(__file__).parent / "controlplane"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "tools" / "controlplane"


def _base(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback)
