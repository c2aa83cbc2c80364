"""Turns whatever was raised in generated code into a `TemplateError` with a place."""

from collections.abc import Sequence
from traceback import walk_tb

from lynq.template.compiler.build import FILE_NAME
from lynq.template.compiler.program import Place
from lynq.template.errors import ErrorKind, Failure, FunctionError, TemplateError
from lynq.template.tree import Node
from lynq.template.values import to_output


def located(error: Exception, source: str, places: Sequence[Place]) -> TemplateError:
    """Give the error its place: the deepest generated code in its traceback."""
    number, inside = 0, False
    for frame, line in walk_tb(error.__traceback__):
        inside = frame.f_code.co_filename == FILE_NAME
        if inside:
            number = line
    place = places[number - 1] if 0 < number <= len(places) else None
    kind, message = _say(error, place, in_generated_code=inside)
    message = to_output(message)
    if place is None:
        return TemplateError(kind, 1, 0, message)
    node = _node(error, place)
    line, column = position(source, node.position)
    return TemplateError(
        kind,
        line,
        column,
        message,
        template=place.template,
        action=str(node),
        function=place.function,
    )


def _node(error: Exception, place: Place) -> Node:
    """Give the node at which Go is by then."""
    if isinstance(error, FunctionError) and place.command is not None:
        return place.command
    number = error.argument if isinstance(error, Failure) else None
    if number is not None and number < len(place.arguments):
        return place.arguments[number]
    return place.node


def position(source: str, offset: int) -> tuple[int, int]:
    """Give line and column as Go counts them: lines from 1, bytes from 0."""
    before = source[:offset]
    start = before.rfind("\n") + 1
    return before.count("\n") + 1, len(before[start:].encode("utf-8", "surrogatepass"))


def _say(
    error: Exception, place: Place | None, *, in_generated_code: bool
) -> tuple[ErrorKind, str]:
    if isinstance(error, FunctionError) and place is not None and place.function is not None:
        return ErrorKind.EXECUTE, f"error calling {place.function}: {error.message}"
    if isinstance(error, Failure):
        return error.kind, error.message
    if isinstance(error, KeyError) and in_generated_code:
        return ErrorKind.EXECUTE, f'map has no entry for key "{error.args[0]}"'
    if isinstance(error, NameError) and in_generated_code:
        return ErrorKind.EXECUTE, "undefined variable"
    if isinstance(error, RecursionError | MemoryError):
        return ErrorKind.LIMIT, "nested too deep, or too large"
    return ErrorKind.EXECUTE, f"internal error: {type(error).__name__}"
