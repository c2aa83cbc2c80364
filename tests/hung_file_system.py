"""A directory whose file system never answers: FUSE without a server."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FUSE = Path("/dev/fuse")
_DETACH = 2

requires_fuse = pytest.mark.skipif(
    os.geteuid() != 0 or not FUSE.exists(), reason="needs root and FUSE"
)


@contextmanager
def hung(directory: Path) -> Iterator[None]:
    """Block every access below the directory while the block runs."""
    libc = ctypes.CDLL(None, use_errno=True)
    server = os.open(FUSE, os.O_RDWR)
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0"
    if libc.mount(b"hung", bytes(directory), b"fuse", 0, options.encode()):
        os.close(server)
        pytest.skip("FUSE cannot be mounted here")
    try:
        yield
    finally:
        # The blocked calls fail.
        os.close(server)
        libc.umount2(bytes(directory), _DETACH)
