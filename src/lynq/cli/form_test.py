"""`lynq test`: renders forms for the rows of cases, and compares the manifests with expected ones.

A case is a YAML file that names a form, its hub and rows. The expected manifests of `web.yaml` are
in `expected/web.yaml`. They contain errors and rejected rows as comments, so that a case can also
expect those. Time is fixed; random values, keys and certificates are masked.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.form_files import load_form_files
from lynq.cli.form_preview import (
    FormPreview,
    RowsOf,
    given_rows,
    node_yaml,
    preview_forms,
    rows_in_file,
)
from lynq.cli.manifest_files import ManifestFileError, documents_of
from lynq.cli.output import print_line, print_note, styled
from lynq.core.preview.golden import CaseResult, CaseState, junit_xml, manifest_diff

EXPECTED: Final = "expected"
"""The folder with the expected manifests."""
_NOW: Final = datetime(2024, 1, 1, tzinfo=UTC)
_COLORS: Final = {
    CaseState.PASSED: "green",
    CaseState.UPDATED: "yellow",
    CaseState.FAILED: "red",
    CaseState.BROKEN: "red",
}
_WIDTH: Final = max(len(state.value) for state in CaseState)


class _CaseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a case."""

    form: str | list[str]
    rows: str | list[dict[str, str | int | float | bool | None]]
    hub: str | None = None
    now: str | None = None


@dataclass(frozen=True, slots=True)
class _Case:
    """A case with its paths resolved."""

    files: list[Path]
    rows: RowsOf
    now: datetime


@click.command("test")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--update", is_flag=True, help="Write the expected manifests.")
@click.option(
    "--junit",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write the results to, in the format of JUnit.",
)
def test(directory: Path, update: bool, junit: Path | None) -> None:
    """Compare the manifests of forms with expected ones.

    Each YAML file of the directory is a case: a form, its hub if variables come from columns, and
    rows, given by their variables or as a CSV file. The manifests are compared with the file of the
    same name in the folder expected, which --update writes; review it like code. The exit code is
    1 if a case fails.

    \b
    Example of a case, tests/web.yaml:
      form: ../web.yaml        # or a list
      hub: ../hub.yaml         # optional
      rows:                    # or the path of a CSV file or JSON lines
        - {uid: acme, plan: pro}
        - {uid: beta, plan: free}
      now: 2024-01-01T00:00:00Z  # optional: the time that templates see

    \b
    Examples:
      lynq test tests/
      lynq test tests/ --update
      lynq test tests/ --junit results.xml
    """
    paths = sorted(path for path in directory.iterdir() if path.suffix in {".yaml", ".yml"})
    if not paths:
        raise CommandError(f"{directory} has no case: add a YAML file with form and rows.")
    results = []
    for path in paths:
        started = time.monotonic()
        result = _run(path, directory / EXPECTED / f"{path.stem}.yaml", update=update)
        results.append(replace(result, seconds=time.monotonic() - started))
        _print_result(results[-1])
    for result in _without_case(directory, paths):
        results.append(result)
        _print_result(result)
    if junit:
        junit.write_text(junit_xml(directory.name or "lynq", results), "utf-8")
    _print_summary(directory, results)
    if any(result.has_failed for result in results):
        raise click.exceptions.Exit(ExitCode.DIFFERENT)


def _run(path: Path, expected: Path, *, update: bool) -> CaseResult:
    try:
        case = _load(path)
        previews = preview_forms(
            load_form_files(case.files), case.rows, case.now, masks_generated=True
        )
    except CommandError as error:
        return CaseResult(path.stem, CaseState.BROKEN, "; ".join((error.message, *error.details)))
    rendered = "".join(map(_golden_text, previews))
    old = expected.read_text("utf-8") if expected.is_file() else None
    if rendered == old:
        return CaseResult(path.stem, CaseState.PASSED)
    if update:
        expected.parent.mkdir(exist_ok=True)
        expected.write_text(rendered, "utf-8")
        return CaseResult(path.stem, CaseState.UPDATED)
    if old is None:
        message = f"there is no {EXPECTED}/{expected.name}: write it with --update"
        return CaseResult(path.stem, CaseState.FAILED, message)
    diff = manifest_diff(old, rendered, f"{EXPECTED}/{expected.name}")
    return CaseResult(path.stem, CaseState.FAILED, "the manifests differ", diff)


def _load(path: Path) -> _Case:
    documents = documents_of(path)
    if len(documents) != 1:
        raise ManifestFileError(path, 0, "a case is one document")
    try:
        case = msgspec.convert(documents[0].value, _CaseFile)
    except msgspec.ValidationError as error:
        raise ManifestFileError(path, 0, f"not a case: {error}") from None
    forms = [case.form] if isinstance(case.form, str) else case.form
    files = [path.parent / name for name in (*forms, *([case.hub] if case.hub else []))]
    for file in files:
        if not file.exists():
            raise ManifestFileError(path, 0, f"there is no file {file}")
    if isinstance(case.rows, str):
        rows = rows_in_file(path.parent / case.rows)
    else:
        rows = given_rows(
            [{name: _text(value) for name, value in row.items()} for row in case.rows]
        )
    return _Case(files, rows, _time(path, case.now))


def _time(path: Path, text: str | None) -> datetime:
    if text is None:
        return _NOW
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise ManifestFileError(path, 0, "now is not a time like 2024-01-01T00:00:00Z") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _text(value: Any) -> str:  # noqa: ANN401 - a scalar of YAML
    """Return a value as a row has it: a database gives texts."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _golden_text(each: FormPreview) -> str:
    parts = []
    for node in each.preview.nodes:
        parts.append(node_yaml(node))
        parts += (
            f"---\n# {node.name}: {error.resource or 'node'}: error in {error.field}: "
            f"{error.message}\n"
            for error in node.errors
        )
    parts += (f"---\n# row rejected: {each.message}\n" for each in each.preview.rejections)
    return "".join(parts)


def _without_case(directory: Path, paths: list[Path]) -> Iterator[CaseResult]:
    names = {path.stem for path in paths}
    for path in sorted((directory / EXPECTED).glob("*.yaml")):
        if path.stem not in names:
            message = "no case has this name: delete the file, or add the case"
            yield CaseResult(f"{EXPECTED}/{path.name}", CaseState.BROKEN, message)


def _print_result(result: CaseResult) -> None:
    state = styled(result.state.value.ljust(_WIDTH), _COLORS[result.state])
    print_line(state, f"  {result.name}{': ' if result.message else ''}{result.message}")
    for line in result.diff.split("\n") if result.diff else ():
        color = {"-": "red", "+": "green"}.get(line[:1])
        print_line("  ", styled(line, color) if color else line)


def _print_summary(directory: Path, results: list[CaseResult]) -> None:
    failed = sum(result.has_failed for result in results)
    cases = f"{len(results)} case" if len(results) == 1 else f"{len(results)} cases"
    print_note(f"{cases}, {failed} failed." if failed else f"{cases}, all passed.")
    if any(result.state is CaseState.FAILED for result in results):
        print_note(f"If the changes are intended: lynq test {directory} --update")
