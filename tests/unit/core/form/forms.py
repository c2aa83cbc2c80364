"""Builders for forms and hubs."""

from typing import Any

from lynq.api import FormSpec, HubSource, HubSpec, SourceType, TResource, ValueMappings
from lynq.api.problems import Problem, ProblemKind
from lynq.core.form.validation import validate_form

BODY: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap"}


def resource(name: str = "a", **fields: Any) -> TResource:
    return TResource(**{"id": name, "spec": BODY, "name_template": "{{ .uid }}", **fields})


def form(*config_maps: TResource, **fields: Any) -> FormSpec:
    return FormSpec(**{"hub_id": "shop", "config_maps": config_maps, **fields})


def hub(*extras: str, host_or_url: str = "") -> HubSpec:
    return HubSpec(
        source=HubSource(type=SourceType.SQLITE),
        value_mappings=ValueMappings(uid="id", activate="on", host_or_url=host_or_url),
        extra_value_mappings={name: name for name in extras},
    )


def no_slash(path: str) -> str | None:
    return f'"{path}" is not a JSONPath' if path.startswith("/") else None


def problems(spec: FormSpec, hub: HubSpec | None = None) -> tuple[Problem, ...]:
    return validate_form(spec, hub=hub, check_ignore_field=no_slash)


def error_texts(spec: FormSpec, hub: HubSpec | None = None) -> list[str]:
    return [str(problem) for problem in problems(spec, hub) if problem.kind is ProblemKind.ERROR]


def warning_texts(spec: FormSpec, hub: HubSpec | None = None) -> list[str]:
    return [str(problem) for problem in problems(spec, hub) if problem.kind is ProblemKind.WARNING]
