"""Every golden case renders as in Go; README.md describes how the results are generated."""

import pytest

from lynq.template import Environment, SeededRandom, TemplateError, render
from template.cases import Case, Result, read_golden

# The oracle's clock is fixed at 2009-11-10 23:00:00 UTC.
ENVIRONMENT = Environment(now=1_257_894_000_000_000_000, random=SeededRandom(b"golden"))
STAGES = {"parse": "parse", "execute": "exec"}


def render_like_go(case: Case) -> Result:
    try:
        return Result(output=render(case.template, case.data, ENVIRONMENT).encode())
    except TemplateError as error:
        stage = STAGES.get(error.kind, error.kind)
        return Result(stage=stage, error=str(error))


def as_text(output: bytes | None) -> bytes | None:
    """Return the output as text, with U+FFFD for each invalid byte."""
    if output is None:
        return None
    escaped = output.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in escaped).encode()


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param(case, result, id=f"{case.family}: {case.name}")
        for case, result in read_golden()
    ],
)
def test_output_equals_gos(case: Case, expected: Result) -> None:
    ours = render_like_go(case)

    assert (ours.output, ours.stage) == (as_text(expected.output), expected.stage)
    if not case.loose:
        assert ours.error == expected.error
