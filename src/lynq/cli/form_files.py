"""Hubs and forms from files, with the problems that admission would report.

The webhooks and the CRDs decide: fields get the defaults of the mutating webhooks, fit the schema
of the CRD with strict field validation, and pass the validation of hubs and forms. What needs a
cluster is left out: whether a hub exists, and whether its host is denied.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.crds import CustomKind, definition
from lynq.api.names import API_VERSION, GROUP
from lynq.api.naming import is_subdomain
from lynq.api.problems import Problem, ProblemKind
from lynq.api.schema_validation import schema_problems
from lynq.cli.manifest_files import (
    Document,
    ManifestFileError,
    documents_of,
    manifest_files,
)
from lynq.core.form.validation import validate_form
from lynq.core.hub.validation import check_hub_name, validate_hub
from lynq.core.node.ignore_fields.parse import path_problem
from lynq.webhooks.defaulting import Defaults, form_defaults, hub_defaults

K = TypeVar("K", LynqHub, LynqForm)

_KINDS: Final[Mapping[str, CustomKind]] = {
    kind.definition.kind: kind for kind in (LynqHub, LynqForm, LynqNode)
}
_DEFAULTS: Final[Mapping[str, Defaults]] = {"LynqHub": hub_defaults, "LynqForm": form_defaults}
_TEMPLATE_LINE: Final = re.compile(r"line (\d+): ")


@dataclass(frozen=True, slots=True)
class FileObject(Generic[K]):
    """A hub or form, and the document that it was read from."""

    document: Document
    object: K


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A problem at a line of a file."""

    path: Path
    line: int
    reference: str
    """The object as `Kind/name`; empty if the file cannot be read."""
    field: str
    message: str
    is_warning: bool = False

    @classmethod
    def of(cls, document: Document, problem: Problem) -> "FileProblem":
        """Return the problem of an object with its line."""
        template_line = _TEMPLATE_LINE.match(problem.message)
        line = document.line_of(problem.path, int(template_line[1]) if template_line else 0)
        is_warning = problem.kind is ProblemKind.WARNING
        reference = document.reference
        return cls(document.path, line, reference, problem.path, problem.message, is_warning)

    def __str__(self) -> str:
        """Return one line, as compilers write them."""
        where = f"{self.path}:{self.line}" if self.line else str(self.path)
        parts = (where, "warning" if self.is_warning else "", self.reference, self.field)
        return ": ".join([*filter(None, parts), self.message])


@dataclass(frozen=True, slots=True)
class FormFiles:
    """The hubs and forms of files, and their problems."""

    hubs: tuple[FileObject[LynqHub], ...]
    forms: tuple[FileObject[LynqForm], ...]
    """Only objects that fit their schema."""
    problems: tuple[FileProblem, ...]
    checked: int
    """Number of objects of Lynq's kinds."""
    others: tuple[Document, ...]
    """The objects of other kinds."""

    @property
    def errors(self) -> tuple[FileProblem, ...]:
        """The problems that admission denies."""
        return tuple(problem for problem in self.problems if not problem.is_warning)

    def hub_of(self, form: LynqForm) -> LynqHub | None:
        """Return the hub of a form, if it is in the files."""
        namespace, name = form.metadata.namespace, form.spec.hub_id
        for hub in (each.object for each in self.hubs):
            # A namespace that a file leaves out is the one of the command that applies it.
            same = not namespace or not hub.metadata.namespace
            if hub.metadata.name == name and (same or namespace == hub.metadata.namespace):
                return hub
        return None


def load_form_files(paths: Iterable[Path]) -> FormFiles:
    """Read and validate the objects of files and directories; raises CommandError for a path."""
    documents: list[Document] = []
    problems: list[FileProblem] = []
    for path in manifest_files(paths):
        try:
            documents += documents_of(path)
        except ManifestFileError as error:
            problems.append(FileProblem(path, error.line, "", "", error.problem))
    ours = [document for document in documents if _group(document) == GROUP]
    for document in ours:
        problems += (FileProblem.of(document, problem) for problem in _object_problems(document))
    broken = {(problem.path, problem.reference) for problem in problems}
    fitting = [each for each in ours if (each.path, each.reference) not in broken]
    files = FormFiles(
        tuple(_decoded(fitting, LynqHub)),
        tuple(_decoded(fitting, LynqForm)),
        tuple(problems),
        len(ours),
        tuple(document for document in documents if _group(document) != GROUP),
    )
    return _validated(files)


def _group(document: Document) -> str:
    version = document.value.get("apiVersion")
    return version.partition("/")[0] if isinstance(version, str) else ""


def _object_problems(document: Document) -> Iterator[Problem]:
    """Yield why the API server would not accept the object, apart from its webhooks."""
    kind = _KINDS.get(document.kind)
    if kind is None:
        yield Problem("kind", f"must be one of {', '.join(_KINDS)}")
        return
    if document.value.get("apiVersion") != API_VERSION:
        yield Problem("apiVersion", f"must be {API_VERSION}")
    if not is_subdomain(document.name):
        yield Problem("metadata.name", "required: lowercase letters, digits, - and .")
    schema = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    properties = schema["properties"] | {
        "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    }
    for problem in schema_problems(_defaulted(document), schema | {"properties": properties}, ""):
        yield Problem(problem.path.removeprefix("."), problem.message)


def _defaulted(document: Document) -> dict[str, Any]:
    value = deepcopy(document.value)
    defaults = _DEFAULTS.get(document.kind)
    if defaults is None or not isinstance(value.get("spec"), dict):
        return value
    for operation in defaults(value["spec"]):
        *parents, key = operation["path"].strip("/").split("/")
        target: Any = value
        for parent in parents:
            target = target[int(parent) if isinstance(target, list) else parent]
        target[key] = operation["value"]
    return value


def _decoded(documents: Iterable[Document], kind: type[K]) -> Iterator[FileObject[K]]:
    for document in documents:
        if document.kind == kind.definition.kind:
            # JSON, because the manifests of a form may be nested as deep as the API allows.
            text = msgspec.json.encode(_defaulted(document))
            yield FileObject(document, msgspec.json.decode(text, type=kind))


def _validated(files: FormFiles) -> FormFiles:
    problems = [*files.problems]
    for hub in files.hubs:
        found = (*validate_hub(hub.object.spec), *check_hub_name(hub.object.metadata.name))
        problems += (FileProblem.of(hub.document, problem) for problem in found)
    for form in files.forms:
        found = form_problems(files, form.object)
        problems += (FileProblem.of(form.document, problem) for problem in found)
    problems.sort(key=lambda problem: (str(problem.path), problem.line))
    return replace(files, problems=tuple(problems))


def form_problems(files: FormFiles, form: LynqForm) -> tuple[Problem, ...]:
    """Return the problems of a form that admission reports; its hub may be in the files."""
    hub = files.hub_of(form)
    return validate_form(form.spec, hub=hub.spec if hub else None, check_ignore_field=path_problem)
