"""Everything that can be said about a hub before its database is asked, found at once.

Admission refuses by it. The hub's controller meets the same rules when it reads: a source block
that is missing, or a name that is more than a name, never gets as far as a connection.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from lynq.api import HubSource, HubSpec, SecretKeyRef, SourceType, Tls
from lynq.api.problems import Problem, ProblemKind, at_key
from lynq.api.source import (
    LONGEST_NAME,
    DatabaseServer,
    SQLite,
    length_problem,
    name_problem,
    table_problem,
)

_NO_TIME: Final = re.compile(r"0+[smh]")
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_TAKEN: Final = {"hubId": "the hub's name", "templateRef": "the form's name"}
_OVERRIDDEN: Final = ("uid", "activate")


def validate_hub(spec: HubSpec) -> tuple[Problem, ...]:
    """Return all problems of a hub, with the path of each."""
    return (*_check_source(spec.source), *_check_mappings(spec), *_check_extras(spec))


def _check_source(source: HubSource) -> Iterator[Problem]:
    if _NO_TIME.fullmatch(source.sync_interval):
        yield _warning("spec.source.syncInterval", "1s is taken: rows are not read more often")
    path = f"spec.source.{source.type}"
    match source.block:
        case DatabaseServer() as server:
            yield from _check_server(server, path)
            yield from _check_table(server.table, source.type)
        case SQLite() as file:
            yield from _check_file(file.path, f"{path}.path")
            yield from _check_table(file.table, source.type)
        case None:
            yield Problem(path, f"missing: type {source.type} needs the block {source.type}")


def _check_server(server: DatabaseServer, path: str) -> Iterator[Problem]:
    for name, value, meaning in (
        ("host", server.host, "the host name or address of the database server"),
        ("username", server.username, "the user to log in as"),
        ("database", server.database, "the name of the database"),
    ):
        if not value.strip():
            yield Problem(f"{path}.{name}", f"missing: give {meaning}")
    yield from _check_ref(server.password_ref, f"{path}.passwordRef")
    if server.tls:
        yield from _check_tls(server.tls, f"{path}.tls")


def _check_tls(tls: Tls, path: str) -> Iterator[Problem]:
    if (tls.cert_ref is None) != (tls.key_ref is None):
        yield Problem(f"{path}.keyRef", "certRef and keyRef belong together: give both or neither")
    yield from _check_ref(tls.key_ref, f"{path}.keyRef")


def _check_ref(ref: SecretKeyRef | None, path: str) -> Iterator[Problem]:
    if ref is None:
        return
    for name, value in (("name", ref.name), ("key", ref.key)):
        if not value:
            yield Problem(f"{path}.{name}", "missing: give name and key of the Secret")


def _check_table(table: str, engine: SourceType) -> Iterator[Problem]:
    path = f"spec.source.{engine}.table"
    if not table:
        yield Problem(path, "missing: give the table or view that holds the rows")
        return
    longest = LONGEST_NAME[engine]
    too_long = (length_problem(part, longest) for part in table.split("."))
    if wrong := table_problem(table) or next(filter(None, too_long), None):
        yield Problem(path, wrong)


def _check_file(path: str, place: str) -> Iterator[Problem]:
    if not path:
        yield Problem(place, "missing: give the file, relative to the operator's --sqlite-dir")
    elif "\0" in path:
        yield Problem(place, "a path has a control character in it")
    # An absolute path may lie below --sqlite-dir; only the operator can tell.
    elif ".." in path.split("/") and not path.startswith("/"):
        yield from _check_climbing(path, place)


def _check_climbing(path: str, place: str) -> Iterator[Problem]:
    depth = 0
    for step in path.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(step, 1)
        if depth < 0:
            yield Problem(place, "the path leads out of --sqlite-dir")
            return


def _check_mappings(spec: HubSpec) -> Iterator[Problem]:
    mappings, engine = spec.value_mappings, spec.source.type
    path = "spec.valueMappings"
    for name, column, meaning in (
        ("uid", mappings.uid, "identifies the row"),
        ("activate", mappings.activate, "says whether the row is active"),
    ):
        if column:
            yield from _check_column(column, f"{path}.{name}", engine)
        else:
            yield Problem(f"{path}.{name}", f"missing: give the column that {meaning}")
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
        if variable in _TAKEN:
            yield _warning(path, f"has no effect: .{variable} is {_TAKEN[variable]}")
        elif variable in _OVERRIDDEN:
            yield _warning(path, f"takes the place of the usual .{variable} in templates")
        elif not _IDENTIFIER.fullmatch(variable):
            yield _warning(path, "templates cannot read it as a field, only by index")


def _check_column(column: str, path: str, engine: SourceType) -> Iterator[Problem]:
    if wrong := name_problem(column) or length_problem(column, LONGEST_NAME[engine]):
        yield Problem(path, wrong)


def _warning(path: str, message: str) -> Problem:
    return Problem(path, message, ProblemKind.WARNING)
