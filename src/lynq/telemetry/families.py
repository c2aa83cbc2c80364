"""Families of series whose samples are made only when they are written."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from prometheus_client import Metric
from prometheus_client.samples import Sample

SampleRows: TypeAlias = Callable[[], Iterable[tuple[tuple[str, ...], float]]]
"""Gives the values of the labels and the value of every series, each time anew."""


class LazyMetricFamily(Metric):
    """A gauge, or with a name that ends in `_total` a counter."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...], rows: SampleRows) -> None:
        self.series = name
        """The name that each series has."""
        self.labels = labels
        """Sorted, as Go's client writes them."""
        self.rows = rows
        is_counter = name.endswith("_total")
        super().__init__(name.removesuffix("_total"), text, "counter" if is_counter else "gauge")

    @property
    def samples(self) -> list[Sample]:
        """The samples as prometheus_client knows them, for those who do not know `rows`."""
        return [
            Sample(self.series, dict(zip(self.labels, values, strict=True)), value)
            for values, value in self.rows()
        ]

    @samples.setter
    def samples(self, value: list[Sample]) -> None:
        """Leave it: `Metric.__init__` sets an empty list."""
