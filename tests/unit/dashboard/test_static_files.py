"""The pages are answered from memory, compressed once."""

import gzip
from pathlib import Path

from aiohttp.test_utils import make_mocked_request

from lynq.dashboard.static_files import StaticFiles


async def test_page_is_compressed_once(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>hello")
    files = StaticFiles(tmp_path)

    async def body(encoding: str) -> tuple[object, str]:
        request = make_mocked_request("GET", "/nodes", headers={"Accept-Encoding": encoding})
        response = await files.serve(request)
        assert response.headers["Vary"] == "Accept-Encoding"
        return response.body, response.headers.get("Content-Encoding", "")

    compressed, encoding = await body("gzip, br")
    assert isinstance(compressed, bytes)
    assert (gzip.decompress(compressed), encoding) == (b"<p>hello", "gzip")
    assert (await body("deflate, gzip"))[0] is compressed
    assert await body("br") == (b"<p>hello", "")
