"""The metrics of the operator, from the collectors that it registers."""

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.registry import Collector

from lynq.kube.metrics import RuntimeMetrics
from lynq.telemetry import OperatorMetrics
from lynq.telemetry.collectors import LazyMetricFamily
from lynq.webhooks.metrics import WebhookMetrics
from reference.markdown import code, page, sentence, table

_INTRODUCTION = (
    "The operator serves its metrics at `/metrics` in the format of Prometheus, if "
    "`--metrics-bind-address` is set. Besides these there are `process_*` of the Prometheus "
    "client: CPU, memory and open files. With `--metrics-per-node=false`, the metrics of nodes "
    "have no label `lynqnode`: they are sums per namespace, and a condition is that of the worst "
    "node. [Alerts](../troubleshooting/alerts.md) says what to do about each alert."
)


class _Registry(CollectorRegistry):
    """Keeps the collectors in the order of their registration."""

    def __init__(self) -> None:
        super().__init__()
        self.collectors: list[Collector] = []

    def register(self, collector: Collector) -> None:
        super().register(collector)
        self.collectors.append(collector)


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and content of the page."""
    parts = []
    for title, register in (
        ("Hubs, forms and nodes", OperatorMetrics),
        ("Webhooks", WebhookMetrics),
        ("API server, queues and informers", RuntimeMetrics),
    ):
        registry = _Registry()
        register(registry)
        parts += [f"## {title}", _table(registry.collectors)]
    yield "metrics.md", page("Metrics", _INTRODUCTION, *parts)


def _table(collectors: list[Collector]) -> str:
    rows = [row for collector in collectors for row in _rows(collector)]
    return table(("metric", "type", "labels", "meaning"), rows)


def _rows(collector: Any) -> Iterator[tuple[str, str, str, str]]:  # noqa: ANN401 - prometheus_client's
    for family in collector.describe():
        labels = family.labels if isinstance(family, LazyMetricFamily) else collector._labelnames  # noqa: SLF001
        name = family.name + ("_total" if family.type == "counter" else "")
        yield (
            code(name),
            family.type,
            ", ".join(code(label) for label in labels),
            sentence(family.documentation),
        )
