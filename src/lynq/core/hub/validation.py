"""Validate a hub without a connection to its database: find all problems at once.

Admission denies a hub with errors. The hub controller applies the same rules before it connects, so
that a missing source block or an invalid identifier never reaches a database.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from lynq.api import HubSource, HubSpec, SecretKeyRef, SourceType, Tls, TlsMode
from lynq.api.denied_hosts import DeniedHosts
from lynq.api.names import LABEL_HUB
from lynq.api.naming import LABEL_LIMIT
from lynq.api.problems import Problem, ProblemKind, at_key
from lynq.api.source import (
    LONGEST_NAME,
    DatabaseServer,
    MySQLTls,
    SQLite,
    length_problem,
    name_problem,
    table_problem,
)

_ZERO_DURATION: Final = re.compile(r"0+[smh]")
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_RESERVED: Final = {"hubId": "the name of the hub", "templateRef": "the name of the form"}
_OVERRIDABLE: Final = ("uid", "activate")


def check_host(spec: HubSpec, denied: DeniedHosts) -> tuple[Problem, ...]:
    """Return the problem of a hub whose host is denied; the addresses of a name are not known."""
    block = spec.source.block
    message = denied.problem(block.host) if isinstance(block, DatabaseServer) else ""
    return (Problem(f"spec.source.{spec.source.type}.host", message),) if message else ()


def validate_hub(spec: HubSpec) -> tuple[Problem, ...]:
    """Return all problems of a hub, with the path of each."""
    return (*_check_source(spec.source), *_check_mappings(spec), *_check_extras(spec))


def check_hub_name(name: str) -> tuple[Problem, ...]:
    """Return a warning if the nodes of the hub cannot have its name as a label."""
    if len(name) <= LABEL_LIMIT:
        return ()
    message = (
        f"has {len(name)} characters, more than the {LABEL_LIMIT} of the label {LABEL_HUB}: "
        "every LynqNode of the hub is rejected; choose a shorter name"
    )
    return (_warning("metadata.name", message),)


def _check_source(source: HubSource) -> Iterator[Problem]:
    if _ZERO_DURATION.fullmatch(source.sync_interval):
        yield _warning("spec.source.syncInterval", "too short: 1s is used instead")
    path = f"spec.source.{source.type}"
    match source.block:
        case DatabaseServer() as server:
            yield from _check_server(server, path)
            yield from _check_table(server.table, source.type)
        case SQLite() as file:
            yield from _check_file(file.path, f"{path}.path")
            yield from _check_table(file.table, source.type)
        case None:
            yield Problem(path, f"required for type {source.type}")


def _check_server(server: DatabaseServer, path: str) -> Iterator[Problem]:
    for name, value, meaning in (
        ("host", server.host, "host name or address of the database server"),
        ("username", server.username, "user name for the database"),
        ("database", server.database, "name of the database"),
    ):
        if not value.strip():
            yield Problem(f"{path}.{name}", f"required: {meaning}")
    yield from _check_ref(server.password_ref, f"{path}.passwordRef")
    if server.tls:
        yield from _check_tls(server.tls, f"{path}.tls")


def _check_tls(tls: Tls, path: str) -> Iterator[Problem]:
    if (tls.cert_ref is None) != (tls.key_ref is None):
        yield Problem(f"{path}.keyRef", "certRef and keyRef must be set together")
    is_pinned = isinstance(tls, MySQLTls) and tls.server_public_key_ref
    if is_pinned and tls.mode is not TlsMode.DISABLE:
        yield Problem(
            f"{path}.serverPublicKeyRef", "is for connections without TLS: set mode to disable"
        )
    yield from _check_ref(tls.key_ref, f"{path}.keyRef")


def _check_ref(ref: SecretKeyRef | None, path: str) -> Iterator[Problem]:
    if ref is None:
        return
    for name, value in (("name", ref.name), ("key", ref.key)):
        if not value:
            yield Problem(f"{path}.{name}", "required: name and key of the Secret")


def _check_table(table: str, engine: SourceType) -> Iterator[Problem]:
    path = f"spec.source.{engine}.table"
    if not table:
        yield Problem(path, "required: name of the table or view with the rows")
        return
    longest = LONGEST_NAME[engine]
    too_long = (length_problem(part, longest) for part in table.split("."))
    if problem := table_problem(table) or next(filter(None, too_long), None):
        yield Problem(path, problem)


def _check_file(file_path: str, field_path: str) -> Iterator[Problem]:
    if not file_path:
        yield Problem(field_path, "required: path relative to --sqlite-dir of the operator")
    elif "\0" in file_path:
        yield Problem(field_path, "must not contain a control character")
    # Whether an absolute path is below --sqlite-dir is checked by the operator.
    elif not file_path.startswith("/") and _leaves_directory(file_path):
        yield Problem(field_path, "must not lead out of --sqlite-dir")


def _leaves_directory(file_path: str) -> bool:
    depth = 0
    for segment in file_path.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(segment, 1)
        if depth < 0:
            return True
    return False


def _check_mappings(spec: HubSpec) -> Iterator[Problem]:
    mappings, engine = spec.value_mappings, spec.source.type
    path = "spec.valueMappings"
    for name, column, meaning in (
        ("uid", mappings.uid, "column that identifies the row"),
        ("activate", mappings.activate, "column that activates the row"),
    ):
        if column:
            yield from _check_column(column, f"{path}.{name}", engine)
        else:
            yield Problem(f"{path}.{name}", f"required: {meaning}")
    if mappings.host_or_url:
        yield from _check_column(mappings.host_or_url, f"{path}.hostOrUrl", engine)
        yield _warning(
            f"{path}.hostOrUrl",
            "deprecated: map the column in extraValueMappings, and use the function toHost",
        )


def _check_extras(spec: HubSpec) -> Iterator[Problem]:
    extras: Mapping[str, str] = spec.extra_value_mappings
    for variable, column in sorted(extras.items()):
        path = at_key("spec.extraValueMappings", variable)
        yield from _check_column(column, path, spec.source.type)
        if variable in _RESERVED:
            yield _warning(path, f"has no effect: .{variable} is {_RESERVED[variable]}")
        elif variable in _OVERRIDABLE:
            yield _warning(path, f"overrides the built-in variable .{variable} in templates")
        elif not _IDENTIFIER.fullmatch(variable):
            yield _warning(path, "not an identifier: templates can read it by index only")


def _check_column(column: str, path: str, engine: SourceType) -> Iterator[Problem]:
    if problem := name_problem(column) or length_problem(column, LONGEST_NAME[engine]):
        yield Problem(path, problem)


def _warning(path: str, message: str) -> Problem:
    return Problem(path, message, ProblemKind.WARNING)
