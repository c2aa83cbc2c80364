"""The records of executed lines: one file per file of tests, in a folder outside the tree."""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Record:
    """The lines of Lynq that a file of tests executes."""

    commit: str
    """The lines are those of the sources of this commit."""
    lines: dict[str, frozenset[int]]
    """By the path of the source."""


@dataclass(frozen=True, slots=True)
class Records:
    """A folder with records."""

    folder: Path

    @classmethod
    def of_checkout(cls) -> "Records":
        """Return the records of this checkout."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cls(cache / "lynq" / "lines" / hashlib.sha256(bytes(ROOT)).hexdigest()[:16])

    @staticmethod
    def name_of(test_file: Path) -> str:
        """Return the name of the record of a file of tests."""
        return str(test_file.relative_to(ROOT)).replace("/", "+")

    def read(self, name: str) -> Record | None:
        """Return a record, if there is one."""
        try:
            content = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        lines = {path: frozenset(numbers) for path, numbers in content["lines"].items()}
        return Record(content["commit"], lines)

    def write(self, name: str, commit: str, lines: Iterable[str]) -> None:
        """Replace a record; each line is PATH:NUMBER."""
        by_path = defaultdict(list)
        for line in lines:
            path, _, number = line.rpartition(":")
            by_path[path].append(int(number))
        self.folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"commit": commit, "lines": by_path})
        temporary = self.folder / f".{name}"
        temporary.write_text(content, encoding="utf-8")
        temporary.replace(self.folder / name)
