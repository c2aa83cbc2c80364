"""Paths with slashes. The `os` forms are the same: templates render on Linux."""

from lynq.template.functions.signature import function


@function("base", "func(string) string")
@function("osBase", "func(string) string")
def base(path: str) -> str:
    """Return the last element."""
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


@function("dir", "func(string) string")
@function("osDir", "func(string) string")
def directory(path: str) -> str:
    """Return all but the last element."""
    head, slash, _ = path.rpartition("/")
    return clean(head + slash)


@function("ext", "func(string) string")
@function("osExt", "func(string) string")
def extension(path: str) -> str:
    """Return the suffix of the last element from its last dot on."""
    _, dot, tail = path.rpartition("/")[2].rpartition(".")
    return dot + tail if dot else ""


@function("isAbs", "func(string) bool")
@function("osIsAbs", "func(string) bool")
def is_abs(path: str) -> bool:
    """Report whether the path is absolute."""
    return path.startswith("/")


@function("clean", "func(string) string")
@function("osClean", "func(string) string")
def clean(path: str) -> str:
    """Return the shortest equivalent path by purely lexical processing, as path.Clean does."""
    root = "/" if path.startswith("/") else ""
    kept: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            kept.append(part)
        elif kept and kept[-1] != "..":
            kept.pop()
        elif not root:
            kept.append(part)
    return root + "/".join(kept) or "."
