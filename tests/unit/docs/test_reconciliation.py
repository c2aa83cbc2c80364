"""docs/explanation/reconciliation.md: the table of delays has the defaults of the code."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from lynq.controllers.timing import DEFAULT_TIMING
from lynq.kube import Backoff

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "reconciliation.md"
ROWS = re.findall(r"^\| `([a-z_]+)` \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE)


def shown(value: float | timedelta | Backoff) -> str:
    if isinstance(value, Backoff):
        return f"{value.base:g} s to {value.cap:g} s"
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    return f"{seconds:g} s"


@pytest.mark.parametrize(("name", "value"), ROWS)
def test_delay_is_that_of_the_code(name: str, value: str) -> None:
    assert value == shown(getattr(DEFAULT_TIMING, name))


def test_table_has_delays() -> None:
    assert len(ROWS) > 10
