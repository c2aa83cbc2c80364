"""The options of every command, and the flags of `lynq run`."""

import re
from collections.abc import Iterator
from functools import reduce
from inspect import cleandoc

import click

from lynq.cli.root import SECTIONS, lynq
from lynq.cli.run import run
from lynq.cli.runflags import FLAG_GROUPS
from reference.markdown import block, code, page, table


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and content of each page."""
    yield "cli-options.md", _commands()
    yield "flags.md", _flags()


def _commands() -> str:
    root = click.Context(lynq, info_name="lynq")
    parts = []
    for section, commands in SECTIONS.items():
        parts.append(f"## {section}")
        for name in commands:
            command = lynq.get_command(root, name)
            if command is not None:
                parts += _command(command, click.Context(command, root, name))
    introduction = (
        "Usage and options of every command. [Command line](cli.md) has examples and the exit "
        "codes; the flags of `lynq run` are [on their own page](flags.md). `kubectl lynq` is the "
        "same program."
    )
    return page("Options of all commands", introduction, *parts)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"### {context.command_path}"
    yield block(" ".join(command.get_usage(context).removeprefix("Usage: ").split()))
    yield _help(command)
    if context.command_path == "lynq run":
        yield "Its flags are [on their own page](flags.md)."
    elif options := list(_options(command.params, context)):
        yield table(("option", "meaning"), options)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (subcommand := command.get_command(context, name)) and not subcommand.hidden:
                yield from _command(subcommand, click.Context(subcommand, context, name))


def _help(command: click.Command) -> str:
    """Return the help; click shows a paragraph after a backspace as it is."""
    text = cleandoc(command.help or "").partition("\f")[0].strip()
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(
        block(paragraph.removeprefix("\b\n")) if paragraph[0] == "\b" else _escaped(paragraph)
        for paragraph in paragraphs
    )


def _escaped(text: str) -> str:
    return re.sub(r"(?<![`\w])(--[a-z][\w-]*(?:=\S*\w)?)", r"`\1`", text).replace("<", "&lt;")


def _options(
    parameters: list[click.Parameter], context: click.Context
) -> Iterator[tuple[str, str]]:
    for parameter in parameters:
        record = parameter.get_help_record(context)
        # Arguments are part of the usage.
        if record is not None and record[1]:
            names, meaning = record
            yield (
                code(" ".join(names.replace(" RANGE", "").split())),
                _escaped(" ".join(meaning.split())),
            )


def _flags() -> str:
    parts = []
    others = {parameter.name: parameter for parameter in run.params}
    for title, flags in FLAG_GROUPS.items():
        command = click.command("run")(
            reduce(lambda run, flag: flag(run), reversed(flags), _no_run)
        )
        parts += [f"## {title}", _flag_table([others.pop(flag.name) for flag in command.params])]
    parts += ["## Connection", _flag_table(list(others.values()))]
    introduction = (
        "The flags of `lynq run`, which is also the image's entry point `/manager`. They have one "
        "dash or two, and the form `--flag=value` or `--flag value`. The flags of the Go operator "
        "have its names and defaults."
    )
    return page("Flags of the operator", introduction, *parts)


def _flag_table(flags: list[click.Parameter]) -> str:
    return table(("flag", "meaning"), _options(flags, click.Context(run, info_name="run")))


def _no_run() -> None:
    pass
