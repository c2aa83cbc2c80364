"""The bundle of the pages, in memory: a path is looked up by name and never opened.

It is compressed once: pages need no login, and compressing for each request would cost a core.
"""

import gzip
import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from aiohttp import web

_INDEX: Final = "index.html"
_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}
_MISSING: Final = (
    b"<!doctype html><title>Lynq</title><p>The pages of the dashboard are not built: run make ui."
)


class _StaticFile(NamedTuple):
    body: bytes
    compressed: bytes
    content_type: str
    etag: str


class StaticFiles:
    """The files of the bundle; every other path is a page, which is index.html."""

    def __init__(self, folder: Traversable | None = None) -> None:
        folder = folder or files("lynq.dashboard") / "static"
        self._files = {
            file.name: _file(file.name, file.read_bytes())
            for file in (folder.iterdir() if folder.is_dir() else ())
            if file.is_file()
        }
        self._files.setdefault(_INDEX, _file(_INDEX, _MISSING))

    async def serve(self, request: web.Request) -> web.Response:
        """Answer a request for a file or a page."""
        file = self._files.get(request.path.removeprefix("/")) or self._files[_INDEX]
        headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == file.etag:
            return web.Response(status=304, headers=headers)
        headers |= {"Content-Type": file.content_type, "Vary": "Accept-Encoding"}
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return web.Response(body=file.body, headers=headers)
        headers["Content-Encoding"] = "gzip"
        return web.Response(body=file.compressed, headers=headers)


def _file(name: str, body: bytes) -> _StaticFile:
    extension = name.rpartition(".")[2]
    digest = hashlib.sha256(body).hexdigest()[:16]
    content_type = _TYPES.get(extension, "application/octet-stream")
    return _StaticFile(body, gzip.compress(body, mtime=0), content_type, f'"{digest}"')
