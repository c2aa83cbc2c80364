"""`lynq validate`: all checks of admission, without a cluster."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from lynq.api.text import plural
from lynq.cli.exit_codes import ExitCode
from lynq.cli.form_files import FileProblem, FormFiles, load_form_files
from lynq.cli.output import OutputFormat, output_option, print_data, print_line, print_note

Command = TypeVar("Command", bound=Callable[..., Any])

PROBLEM_FORMATS: Final = (OutputFormat.TABLE, OutputFormat.JSON, OutputFormat.YAML)


def files_option(command: Command) -> Command:
    """Add `--filename`; the command gets the paths as `paths`."""
    option = click.option(
        "-f",
        "--filename",
        "paths",
        multiple=True,
        required=True,
        metavar="PATH",
        type=click.Path(exists=True, allow_dash=True, path_type=Path),
        help="File with hubs and forms, a directory of such files, or - for stdin. Can be "
        "repeated.",
    )
    return option(command)


@click.command()
@files_option
@output_option(PROBLEM_FORMATS)
def validate(paths: tuple[Path, ...], output: OutputFormat) -> None:
    """Check hubs and forms as admission does, without a cluster.

    Applies the schemas of the CRDs with strict field validation, and all rules of the webhooks for
    LynqHub and LynqForm. Variables of templates are checked if the hub of the form is among the
    files. Other kinds are ignored. Prints one line per problem, and exits with 2 if there is an
    error. Warnings are as those of admission.

    \b
    Examples:
      lynq validate -f form.yaml -f hub.yaml
      lynq validate -f deploy/
      kubectl get lynqforms -o yaml | lynq validate -f -
    """
    files = load_form_files(paths)
    if output.is_table:
        print_problems(files.problems)
        print_note(_summary(files))
    else:
        print_data([problem_data(problem) for problem in files.problems], output)
    for form in files.forms:
        if files.hub_of(form.object) is None:
            print_note(
                f"{form.document.reference}: variables were not checked, because no valid "
                f'LynqHub "{form.object.spec.hub_id}" is among the files.'
            )
    if files.errors:
        raise click.exceptions.Exit(ExitCode.ERROR)


def print_problems(problems: tuple[FileProblem, ...]) -> None:
    """Print one line per problem."""
    for problem in problems:
        print_line(str(problem))


def problem_data(problem: FileProblem) -> dict[str, Any]:
    """Return a problem as JSON."""
    return {
        "file": str(problem.path),
        "line": problem.line,
        "severity": "warning" if problem.is_warning else "error",
        "object": problem.reference,
        "field": problem.field,
        "message": problem.message,
    }


def _summary(files: FormFiles) -> str:
    counts = Counter("warning" if problem.is_warning else "error" for problem in files.problems)
    checked = _counted(files.checked, "object")
    if not counts:
        return f"{checked}: valid."
    errors, warnings = (_counted(counts[each], each) for each in ("error", "warning"))
    return f"{checked}: {errors}, {warnings}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {plural(noun, number)}"
