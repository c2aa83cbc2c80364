"""Compares rendered manifests with expected ones, and reports the results of tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from enum import Enum
from xml.etree import ElementTree as ET

from lynq.api.text import shown_lines


class CaseState(Enum):
    """The result of a case."""

    PASSED = "ok"
    UPDATED = "updated"
    """The expected manifests were written."""
    FAILED = "FAIL"
    """The manifests differ from the expected ones."""
    BROKEN = "ERROR"
    """The case cannot be run."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case of a test."""

    name: str
    state: CaseState
    message: str = ""
    """Why the case failed, in one line."""
    diff: str = ""
    seconds: float = 0.0

    @property
    def has_failed(self) -> bool:
        """Whether the test as a whole fails."""
        return self.state in {CaseState.FAILED, CaseState.BROKEN}


def manifest_diff(expected: str, rendered: str, name: str) -> str:
    """Return the lines that differ, with the lines around them; empty if none do."""
    # A line of YAML ends here, and not at each character at which `splitlines` does.
    before, after = (text.removesuffix("\n").split("\n") for text in (expected, rendered))
    return "\n".join(unified_diff(before, after, name, "rendered", n=3, lineterm=""))


def junit_xml(suite: str, results: Sequence[CaseResult]) -> str:
    """Return the results in the format of JUnit, which CI servers show."""
    root = ET.Element(
        "testsuite",
        name=suite,
        tests=str(len(results)),
        failures=str(sum(result.state is CaseState.FAILED for result in results)),
        errors=str(sum(result.state is CaseState.BROKEN for result in results)),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        case = ET.SubElement(
            root, "testcase", classname=suite, name=result.name, time=f"{result.seconds:.3f}"
        )
        if result.has_failed:
            tag = "failure" if result.state is CaseState.FAILED else "error"
            problem = ET.SubElement(case, tag, message=shown_lines(result.message))
            problem.text = shown_lines(result.diff)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
