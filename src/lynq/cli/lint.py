"""`lynq lint`: opinions about hubs and forms that are valid."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from lynq.api import LynqForm, LynqHub
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.form_files import FileObject, FormFiles, load_form_files
from lynq.cli.manifest_files import Document, around_fields
from lynq.cli.output import (
    OutputFormat,
    output_option,
    print_data,
    print_line,
    print_note,
    print_rows,
)
from lynq.cli.validate import PROBLEM_FORMATS, files_option
from lynq.core.lint.form_rules import (
    FORM_RULES,
    UNUSED_COLUMN,
    UNUSED_COLUMN_REASON,
    UNVERIFIED_SERVER,
    UNVERIFIED_SERVER_REASON,
    unused_columns,
    unverified_servers,
)
from lynq.core.lint.model import ANNOTATION_DISABLE, Finding, FormToLint
from lynq.core.lint.workload_rules import WORKLOAD_RULES

_RULES: Final = (*FORM_RULES, *WORKLOAD_RULES)
REASONS: Final = {
    **{rule.name: rule.reason for rule in _RULES},
    UNUSED_COLUMN: UNUSED_COLUMN_REASON,
    UNVERIFIED_SERVER: UNVERIFIED_SERVER_REASON,
}
"""Why each rule exists."""
_COMMENT: Final = re.compile(r"(?<=[#\s])lynq-lint:\s*+disable=([\w-]+(?:\s*,\s*[\w-]+)*)")
_NO_FIELD: Final = re.compile(r"\s*(#.*|---.*)?$")


def _print_rules(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    print_rows([[name, REASONS[name]] for name in sorted(REASONS)])
    context.exit()


@click.command()
@files_option
@click.option(
    "--disable",
    "disabled",
    multiple=True,
    metavar="RULE",
    type=click.Choice(sorted(REASONS)),
    help="Rule that is not applied. Can be repeated.",
)
@click.option(
    "--rules",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_rules,
    help="List the rules with their reasons, and exit.",
)
@output_option(PROBLEM_FORMATS)
def lint(paths: tuple[Path, ...], disabled: tuple[str, ...], output: OutputFormat) -> None:
    """Find what is valid and may still go wrong.

    Checks hubs and forms of files against rules of experience, without a cluster. The exit code is
    1 if there is a finding, and 2 if a file is invalid. A comment in the line of a field, or above
    it, disables rules for this field and all fields in it: `# lynq-lint: disable=RULE,…`. The
    annotation lynq.sh/lint-disable with a list of rules disables them for the whole object.

    \b
    Examples:
      lynq lint -f form.yaml -f hub.yaml
      lynq lint -f deploy/ --disable missing-resource-limits
      lynq lint --rules
    """
    files = load_form_files(paths)
    if files.errors:
        raise CommandError("the files are invalid:", [str(error) for error in files.errors])
    if not files.forms and not files.hubs:
        print_note("There is no LynqForm and no LynqHub among the files.")
    found = [
        (document, finding)
        for document, finding in _findings(files)
        if finding.rule not in disabled and not _is_disabled(document, finding)
    ]
    found.sort(key=lambda each: (str(each[0].path), each[0].line_of(each[1].path)))
    if output.is_table:
        _print_findings(found)
    else:
        print_data([_data(document, finding) for document, finding in found], output)
    if found:
        raise click.exceptions.Exit(ExitCode.DIFFERENT)


def _findings(files: FormFiles) -> Iterator[tuple[Document, Finding]]:
    for form in files.forms:
        linted = FormToLint(form.object.spec)
        for rule in _RULES:
            yield from ((form.document, finding) for finding in rule.findings(linted))
    for each in files.hubs:
        spec = each.object.spec
        yield from ((each.document, finding) for finding in unverified_servers(spec))
        forms = list(_forms_of(each, files.forms, files))
        # Without its forms, nothing is known about the use of columns.
        if forms:
            specs = (form.spec for form in forms)
            findings = unused_columns(spec, specs)
            yield from ((each.document, finding) for finding in findings)


def _forms_of(
    hub: FileObject[LynqHub], forms: Iterable[FileObject[LynqForm]], files: FormFiles
) -> Iterator[LynqForm]:
    return (each.object for each in forms if files.hub_of(each.object) is hub.object)


def _is_disabled(document: Document, finding: Finding) -> bool:
    metadata = document.value.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if finding.rule in _names(str(annotations.get(ANNOTATION_DISABLE, ""))):
        return True
    lines = {
        document.positions[path].line
        for path in around_fields(finding.path)
        if path in document.positions
    }
    return any(finding.rule in _disabled_at(document, line) for line in lines)


def _disabled_at(document: Document, line: int) -> set[str]:
    """Return the rules that comments disable in a line, and in the comments right above it."""
    names = _rules_in(document.lines[line - 1])
    for text in reversed(document.lines[: line - 1]):
        if not _NO_FIELD.match(text):
            break
        names |= _rules_in(text)
    return names


def _rules_in(text: str) -> set[str]:
    _, _, comment = text.partition("#")
    matches = list(_COMMENT.finditer(f"#{comment}"))
    return _names(matches[-1][1]) if matches else set()


def _names(text: str) -> set[str]:
    return {name.strip() for name in text.split(",")}


def _print_findings(found: list[tuple[Document, Finding]]) -> None:
    for document, finding in found:
        line = document.line_of(finding.path)
        where = f"{document.path}:{line}: {document.reference}: {finding.path}"
        print_line(f"{where}: {finding.message} ({finding.rule})")
    for rule in sorted({finding.rule for _, finding in found}):
        print_note(f"{rule}: {REASONS[rule]}")


def _data(document: Document, finding: Finding) -> dict[str, Any]:
    return {
        "file": str(document.path),
        "line": document.line_of(finding.path),
        "object": document.reference,
        "field": finding.path,
        "rule": finding.rule,
        "message": finding.message,
        "reason": REASONS[finding.rule],
    }
