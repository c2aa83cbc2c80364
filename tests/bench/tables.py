"""The results of a run: as tables, ratios first, and as JSON."""

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from bench.measuring import Measurement

FLUX_SECONDS = {100: 28, 500: 122, 1000: 256}
"""Flux 2.6, kustomize-controller, on a runner of 16 cores: fluxcd/flux-benchmark, RESULTS.md."""


@dataclass(slots=True)
class Comparison:
    """The same work by the floor and by the operator."""

    work: str
    rows: int
    floor: Measurement
    ours: Measurement
    ratios: tuple[float, ...] = ()
    """The ratios of all rounds, in their order; empty if there was one."""

    @property
    def ratio(self) -> float:
        return self.ours.seconds / self.floor.seconds

    def requests_per_row(self) -> dict[str, float]:
        """Return the operator's requests per row by verb and resource; none that are rare."""
        return {
            key: round(count / self.rows, 2)
            for key, count in sorted(self.ours.requests.items())
            if count >= self.rows * 0.02
        }

    def as_json(self) -> dict[str, Any]:
        return {
            "work": self.work,
            "rows": self.rows,
            "floor": self.floor.as_json(),
            "ours": self.ours.as_json(),
            "ratio": round(self.ratio, 3),
            "ratios": [round(ratio, 3) for ratio in self.ratios],
            "requests_per_row": self.requests_per_row(),
        }


def median(rounds: list[Comparison]) -> Comparison:
    """Return the round with the median ratio; of an even number, the worse of the middle two."""
    middle = sorted(rounds, key=lambda comparison: comparison.ratio)[len(rounds) // 2]
    ratios = tuple(comparison.ratio for comparison in rounds) if len(rounds) > 1 else ()
    return replace(middle, ratios=ratios)


@dataclass(slots=True)
class Results:
    """Everything that a run has measured."""

    machine: dict[str, Any]
    comparisons: list[Comparison] = field(default_factory=list)
    flux: list[Comparison] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    """Figures without a floor: memory, idle requests and CPU, push latency."""

    def add_percentiles(self, title: str, durations: list[float]) -> None:
        """Add the median and the 99th percentile of sorted durations."""
        for percent in (50, 99):
            self.figures[f"{title}, p{percent}, s"] = round(percentile(durations, percent), 3)

    def as_json(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "comparisons": [comparison.as_json() for comparison in self.comparisons],
            "flux": [comparison.as_json() for comparison in self.flux],
            "figures": self.figures,
        }

    def text(self) -> str:
        """Return all tables."""
        parts = [f"machine: {', '.join(f'{k} {v}' for k, v in self.machine.items())}"]
        if self.comparisons:
            parts += ["", *_comparison_table(self.comparisons)]
            parts += ["", *_request_table(self.comparisons)]
        if self.figures:
            parts += ["", *_table(("figure", "value"), self.figures.items())]
        if self.flux:
            parts += ["", *_flux_table(self.flux)]
        return "\n".join(parts)


def _comparison_table(comparisons: list[Comparison]) -> list[str]:
    headers = ["work", "rows", "ratio", "rounds", "floor s", "ours s", "floor CPU s", "ours CPU s"]
    headers += ["API CPU s, floor", "API CPU s, ours", "RSS MiB"]
    return _table(headers, map(_cells, comparisons))


def _cells(comparison: Comparison) -> tuple[str, ...]:
    floor, ours = comparison.floor, comparison.ours
    return (
        comparison.work,
        str(comparison.rows),
        f"{comparison.ratio:.2f}",
        _rounds(comparison),
        f"{floor.seconds:.2f}",
        f"{ours.seconds:.2f}",
        f"{floor.cpu:.2f}",
        f"{ours.cpu:.2f}",
        f"{floor.server_cpu:.1f}",
        f"{ours.server_cpu:.1f}",
        f"{ours.memory:.0f}",
    )


def _rounds(comparison: Comparison) -> str:
    return " ".join(f"{ratio:.2f}" for ratio in comparison.ratios) or "–"


def _request_table(comparisons: list[Comparison]) -> list[str]:
    rows = []
    for comparison in comparisons:
        per_row = comparison.requests_per_row()
        ours, floor = comparison.ours.requests, comparison.floor.requests
        texts = (f"{count:g} {key}" for key, count in per_row.items())
        rows.append(
            (
                f"{comparison.work}, {comparison.rows}",
                f"{_without_events(floor).total() / comparison.rows:.2f}",
                f"{_without_events(ours).total() / comparison.rows:.2f}",
                f"{(ours.total() - _without_events(ours).total()) / comparison.rows:.2f}",
                ", ".join(texts),
            )
        )
    return _table(("requests per row", "floor", "ours", "events", "ours in detail"), rows)


def _without_events(requests: Counter[str]) -> Counter[str]:
    return Counter({key: count for key, count in requests.items() if "events" not in key})


def _flux_table(comparisons: list[Comparison]) -> list[str]:
    headers = ["Flux's shape, rows", "ratio", "floor s", "ours s", "ours CPU s", "RSS MiB"]
    headers += ["Flux 2.6 on 16 cores, s"]
    rows = [
        (
            str(comparison.rows),
            f"{comparison.ratio:.2f}",
            f"{comparison.floor.seconds:.1f}",
            f"{comparison.ours.seconds:.1f}",
            f"{comparison.ours.cpu:.1f}",
            f"{comparison.ours.memory:.0f}",
            str(FLUX_SECONDS.get(comparison.rows, "–")),
        )
        for comparison in comparisons
    ]
    return _table(headers, rows)


def _table(headers: Iterable[object], rows: Iterable[Iterable[object]]) -> list[str]:
    """Return the lines of a Markdown table with aligned columns."""
    lines = [[str(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    return [texts[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *texts[1:]]


def percentile(durations: list[float], percent: int) -> float:
    """Return a percentile of sorted durations."""
    if len(durations) < 2:
        return durations[0] if durations else 0.0
    return statistics.quantiles(durations, n=100, method="inclusive")[percent - 1]
