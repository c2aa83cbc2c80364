"""Progress of long steps: state, elapsed time and usual duration."""

import io

import pytest

from lynq.cluster.progress import ProgressStep


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_log_output_has_complete_lines() -> None:
    out = io.StringIO()
    with ProgressStep("Building", usually="7 min", out=out):
        pass
    assert out.getvalue().splitlines() == [
        "Building (usually 7 min) …",
        "Building: done after 0:00",
    ]


def test_terminal_output_is_one_rewritten_line(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 75.0, 75.0, 76.0])
    monkeypatch.setattr("lynq.cluster.progress.time.monotonic", lambda: next(ticks))
    out = Terminal()
    with ProgressStep("Building", usually="7 min", out=out) as step:
        step.update("5 packages")
    text = out.getvalue()
    assert "Building: 5 packages, 1:15 so far (usually 7 min)" in text
    assert text.count("\n") == 1


def test_log_output_is_rate_limited() -> None:
    out = io.StringIO()
    with ProgressStep("Building", usually="7 min", out=out) as step:
        for count in range(1000):
            step.update(f"{count} packages")
    assert out.getvalue().count("\n") == 2


def test_failure_is_reported() -> None:
    out = io.StringIO()
    with pytest.raises(ValueError, match="no"), ProgressStep("Building", usually="7 min", out=out):
        raise ValueError("no")
    assert "Building: failed after 0:00" in out.getvalue()
