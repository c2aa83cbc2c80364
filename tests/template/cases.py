"""Read golden cases and Go's results for them; README.md describes both files."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

GOLDEN = Path(__file__).parent / "golden"
_MISSING = {"stage": "none", "error": "Go was not asked: run `make golden`"}


@dataclass(frozen=True, slots=True)
class Case:
    """One template with its data, named within its file."""

    family: str
    name: str
    template: str
    data: dict[str, Any]
    loose: bool
    """Whether only the stage of an error must match, not its text."""

    def question(self) -> str:
        """Return the case as a line of the oracle's input."""
        return json.dumps({"template": self.template, "data": self.data})


@dataclass(frozen=True, slots=True)
class Result:
    """Go's result of a case: output, or the stage that failed and the text of its error."""

    output: bytes | None = None
    stage: str = ""
    error: str = ""

    @classmethod
    def from_answer(cls, answer: dict[str, str]) -> "Result":
        """Parse one answer of the oracle."""
        if "stage" in answer:
            return cls(stage=answer["stage"], error=answer["error"])
        if "hex" in answer:
            return cls(output=bytes.fromhex(answer["hex"]))
        return cls(output=answer["output"].encode())


def families() -> list[Path]:
    """List the case files in a stable order."""
    return sorted(GOLDEN.glob("*.yaml"))


def results_file(family: Path) -> Path:
    """Return the results file of a case file."""
    return family.with_suffix(".json")


def read_cases(family: Path) -> Iterator[Case]:
    """Yield a file's cases; a case without data has the file's."""
    content = yaml.safe_load(family.read_text())
    shared = content.get("data", {})
    for entry in content["cases"]:
        data = entry.get("data", shared)
        loose = entry.get("loose", False)
        yield Case(family.stem, entry["name"], entry["template"], data, loose)


def read_golden() -> Iterator[tuple[Case, Result]]:
    """Yield every case with Go's result."""
    for family in families():
        results = results_file(family)
        answers = json.loads(results.read_text()) if results.exists() else {}
        for case in read_cases(family):
            yield case, Result.from_answer(answers.get(case.name, _MISSING))
