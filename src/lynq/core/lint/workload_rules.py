"""Rules about workloads: images, resources, probes, credentials in plain text."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from lynq.api.problems import at_key
from lynq.core.lint.model import FormRule, FormToLint, containers_of, kind_of

_CREDENTIAL: Final = re.compile(
    r"passw(or)?d|secret|token|credential|(api|access|private)[-_.]?key", re.IGNORECASE
)
_REFERENCE: Final = re.compile(r"(name|ref|path|file|url|ttl|expiry|_id)$", re.IGNORECASE)
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_REQUIRED: Final = (("requests", "cpu"), ("requests", "memory"), ("limits", "memory"))
_ROLLED_OUT: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


def _is_credential(name: str) -> bool:
    return bool(_CREDENTIAL.search(name)) and not _REFERENCE.search(name)


def _latest_images(form: FormToLint) -> Iterator[tuple[str, str]]:
    for placed in form.resources:
        for container in containers_of(placed):
            image = container.spec.get("image")
            if isinstance(image, str) and (problem := _image_problem(image)):
                message = f'the image of container "{container.name}" {problem}'
                yield f"{container.path}.image", message


def _image_problem(image: str) -> str:
    # What stands in a template is decided by the row.
    if "@" in image or image.rstrip().endswith("}}"):
        return ""
    tag = image.rpartition("/")[2].rpartition(":")[2] if ":" in image.rpartition("/")[2] else ""
    if not tag:
        return "has no tag"
    return "has the tag latest" if tag == "latest" else ""


def _missing_resources(form: FormToLint) -> Iterator[tuple[str, str]]:
    for placed in form.resources:
        for container in containers_of(placed, with_init=False):
            resources = container.spec.get("resources")
            resources = resources if isinstance(resources, Mapping) else {}
            missing = [
                f"{field} {name.removesuffix('s')}"
                for name, field in _REQUIRED
                if not _has(resources, name, field)
            ]
            if missing:
                message = f'container "{container.name}" has no {", ".join(missing)}'
                yield f"{container.path}.resources", message


def _has(resources: Mapping[str, object], name: str, field: str) -> bool:
    values = resources.get(name)
    # A template gives the whole block.
    return isinstance(values, str) or (isinstance(values, Mapping) and field in values)


def _secrets_in_config_maps(form: FormToLint) -> Iterator[tuple[str, str]]:
    for placed in form.resources:
        data = placed.resource.spec.get("data")
        if kind_of(placed) != "ConfigMap" or not isinstance(data, Mapping):
            continue
        for key, text in data.items():
            path = at_key(f"{placed.path}.spec.data", str(key))
            if _is_credential(str(key)):
                yield path, f'the key "{key}" looks like a credential'
            elif isinstance(text, str) and _PRIVATE_KEY.search(text):
                yield path, f'the key "{key}" holds a private key'


def _secrets_in_environment(form: FormToLint) -> Iterator[tuple[str, str]]:
    for placed in form.resources:
        for container in containers_of(placed):
            listed = container.spec.get("env")
            for index, variable in enumerate(listed if isinstance(listed, list) else ()):
                if not isinstance(variable, Mapping) or not variable.get("value"):
                    continue
                name = str(variable.get("name", ""))
                if _is_credential(name):
                    path = f"{container.path}.env[{index}].value"
                    yield path, f'the variable "{name}" looks like a credential'


def _missing_probes(form: FormToLint) -> Iterator[tuple[str, str]]:
    awaited = {name for placed in form.resources for name in placed.resource.depend_ids}
    for placed in form.resources:
        if placed.resource.id not in awaited or kind_of(placed) not in _ROLLED_OUT:
            continue
        containers = list(containers_of(placed, with_init=False))
        if containers and not any("readinessProbe" in each.spec for each in containers):
            message = (
                f'other resources wait for "{placed.resource.id}", which has no readinessProbe'
            )
            yield containers[0].path, message


WORKLOAD_RULES: Final = (
    FormRule(
        "latest-image",
        "Tenants that start at different times get different versions, and no row or form says so.",
        _latest_images,
    ),
    FormRule(
        "missing-resource-limits",
        "Without requests and a memory limit one tenant can take the node of all others.",
        _missing_resources,
    ),
    FormRule(
        "secret-in-config-map",
        "A ConfigMap is readable by everything that may view the namespace; use a Secret.",
        _secrets_in_config_maps,
    ),
    FormRule(
        "secret-in-environment",
        "The value is readable in the workload and its pods; use valueFrom with a Secret.",
        _secrets_in_environment,
    ),
    FormRule(
        "missing-readiness-probe",
        "Without a probe the workload is ready as soon as its containers run, and what depends on "
        "it starts too early.",
        _missing_probes,
    ),
)
