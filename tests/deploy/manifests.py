"""Renders the chart with Helm's engine and the kustomize folders with kubectl."""

import json
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from lynq.cluster.build import KUBERNETES, Program, binary_of, controlplane_binary

Object: TypeAlias = dict[str, Any]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "chart"
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION: str = _PROJECT["project"]["version"]
IMAGE: str = _PROJECT["tool"]["lynq"]["image"]
"""The image that `make image` builds."""
NOT_SET = "IMAGE-NOT-SET"
"""The image of the manifests, which no node accepts."""

_CHARTUTIL = "helm.sh/helm/v3/pkg/chartutil"
_MAJOR, _MINOR, _ = KUBERNETES.split(".")
_HELM = Program(
    "helm",
    ROOT / "tools" / "helm",
    title="Building Helm's engine, once per machine",
    usually="2 min on two cores",
    packages=600,
    # As in Helm's own build; without them, .Capabilities.KubeVersion is 1.20.
    linker_flags=(
        f"-s -w -X {_CHARTUTIL}.k8sVersionMajor={_MAJOR} -X {_CHARTUTIL}.k8sVersionMinor={_MINOR}"
    ),
)


class InvalidValuesError(Exception):
    """Helm rejects the values; the message says why."""


def rendered(
    values: Mapping[str, Any] | None = None,
    *,
    release: str = "lynq",
    namespace: str = "lynq-system",
    path: Path = CHART,
) -> str:
    """Return the rendered chart with its notes as a comment; raises InvalidValuesError.

    Without an image in the values, it is the one that `make image` builds.
    """
    given = dict(values or {})
    given["image"] = {"repository": IMAGE} | given.get("image", {})
    result = subprocess.run(
        [binary_of(_HELM), path, release, namespace],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise InvalidValuesError(result.stderr)
    return result.stdout


def chart(
    values: Mapping[str, Any] | None = None,
    *,
    release: str = "lynq",
    namespace: str = "lynq-system",
) -> list[Object]:
    """Return the objects of the rendered chart; raises InvalidValuesError."""
    return _objects(rendered(values, release=release, namespace=namespace))


@cache
def _kustomized(folder: str | Path) -> str:
    return subprocess.run(
        [controlplane_binary(), "kubectl", "kustomize", DEPLOY / "kustomize" / folder],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def kustomized(folder: str | Path = "default") -> list[Object]:
    """Return the objects of a folder, by its name in deploy/kustomize or by its path."""
    return _objects(_kustomized(folder))


def loaded(path: str) -> list[Object]:
    """Return the objects of a file in deploy."""
    return _objects((DEPLOY / path).read_text())


def one(objects: Iterable[Object], kind: str, name: str = "") -> Object:
    """Return the only object of a kind, or the one with this name."""
    (match,) = (
        obj
        for obj in objects
        if obj["kind"] == kind and (not name or obj["metadata"]["name"] == name)
    )
    return match


def names(objects: Iterable[Object], *kinds: str) -> list[str]:
    """Return the sorted names of the objects of these kinds."""
    return sorted(obj["metadata"]["name"] for obj in objects if obj["kind"] in kinds)


def manager(objects: Iterable[Object]) -> Object:
    """Return the operator's container."""
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    container: Object = pod["containers"][0]
    return container


def image() -> str:
    """Return the image and tag of this version."""
    return f"{IMAGE}:{VERSION}"


def _objects(text: str) -> list[Object]:
    # The C loader, because the CRDs have thousands of lines.
    return [obj for obj in yaml.load_all(text, yaml.CSafeLoader) if obj]
