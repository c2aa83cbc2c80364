"""Evaluates alerts and dashboard queries with promtool, without a Prometheus server."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from prometheus_client.parser import text_string_to_metric_families

from deploy.manifests import DEPLOY, Object

RULES: Final = DEPLOY / "alerts" / "rules.yaml"
DASHBOARD: Final = DEPLOY / "grafana" / "dashboard.json"

_SELECTOR: Final = re.compile(r"\b([a-z]+(?:_[a-z]+)+)\b(\{[^}]*\})?(?!\s*\()")
_LABEL_NAMES: Final = {"resource_kind", "conflict_policy"}
"""Labels that look like metric names."""


def rules() -> list[Object]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> list[str]:
    """Return all expressions of alerts and panels."""
    dashboard = json.loads(DASHBOARD.read_text())
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return [rule["expr"] for rule in rules()] + panels


def selectors(expression: str) -> Iterator[str]:
    """Yield the metric selectors of an expression."""
    for match in _SELECTOR.finditer(expression):
        if match.group(1) not in _LABEL_NAMES:
            text = match.group().replace("$namespace", ".*")
            # A result that has not occurred yet has no metric.
            yield text.replace('result="error"', 'result=~".+"')


def promtool(folder: Path, test: dict[str, Any]) -> str:
    """Run `promtool test rules` on our rules; return its error output."""
    path = folder / "test.yaml"
    path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", **test}))
    result = subprocess.run(
        ["promtool", "test", "rules", path], capture_output=True, text=True, check=False
    )
    return "" if result.returncode == 0 else result.stdout + result.stderr


def as_input(text: str) -> list[dict[str, str]]:
    """Return a scrape as promtool input series with constant values."""
    return [
        {"series": f"{sample.name}{_labels(sample.labels)}", "values": f"{sample.value}x5"}
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "NaN" not in str(sample.value)
    ]


def missing(folder: Path, text: str) -> str:
    """Return promtool's errors about queried metrics that a scrape lacks."""
    expected = sorted({selector for query in queries() for selector in selectors(query)})
    tests = [
        {
            "expr": f"count({selector}) > bool 0",
            "eval_time": "1m",
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for selector in expected
    ]
    return promtool(
        folder,
        {"tests": [{"interval": "1m", "input_series": as_input(text), "promql_expr_test": tests}]},
    )


def _labels(labels: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}={json.dumps(value)}" for name, value in labels.items()) + "}"
