"""Templates ready to render: compiled once, cached with a bound; errors get their position."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf
from traceback import walk_tb
from typing import Final

from lynq.template.compiler.build import FILE_NAME, build
from lynq.template.compiler.codegen import Position
from lynq.template.environment import Context, Environment
from lynq.template.errors import (
    DataError,
    ErrorKind,
    Failure,
    FunctionError,
    LimitError,
    TemplateError,
)
from lynq.template.functions.signature import Needs
from lynq.template.functions.table import FUNCTIONS
from lynq.template.gofmt.printf import show
from lynq.template.limits import DEFAULT_LIMITS, Deadline, Limits
from lynq.template.parser import parse
from lynq.template.tree import Node
from lynq.template.values import TypedBool, TypedFloat, TypedInt, Variables, byte_len, to_output


def located(error: Exception, source: str, positions: Sequence[Position]) -> TemplateError:
    """Add the position of the innermost generated code in the traceback to an error."""
    number, inside = 0, False
    for frame, line in walk_tb(error.__traceback__):
        inside = frame.f_code.co_filename == FILE_NAME
        if inside:
            number = line
    position = positions[number - 1] if 0 < number <= len(positions) else None
    kind, message = _describe(error, position, in_generated_code=inside)
    message = to_output(message)
    if position is None:
        return TemplateError(kind, 1, 0, message, source=source)
    node = _node(error, position)
    line, column = line_and_column(source, node.position)
    return TemplateError(
        kind,
        line,
        column,
        message,
        template=position.template,
        action=str(node),
        function=position.function,
        source=source,
    )


def _node(error: Exception, position: Position) -> Node:
    """Return the node that Go reports for the error."""
    if isinstance(error, FunctionError) and position.command is not None:
        return position.command
    number = error.argument if isinstance(error, Failure) else None
    if number is not None and number < len(position.arguments):
        return position.arguments[number]
    return position.node


def line_and_column(source: str, offset: int) -> tuple[int, int]:
    """Return line and column as Go counts them: lines from 1, bytes from 0."""
    before = source[:offset]
    start = before.rfind("\n") + 1
    return before.count("\n") + 1, len(before[start:].encode("utf-8", "surrogatepass"))


def _describe(
    error: Exception, position: Position | None, *, in_generated_code: bool
) -> tuple[ErrorKind, str]:
    if isinstance(error, FunctionError) and position is not None and position.function is not None:
        return ErrorKind.EXECUTE, f"error calling {position.function}: {error.message}"
    if isinstance(error, Failure):
        return error.kind, error.message
    if isinstance(error, KeyError) and in_generated_code:
        return ErrorKind.EXECUTE, f'map has no entry for key "{error.args[0]}"'
    if isinstance(error, NameError) and in_generated_code:
        return ErrorKind.EXECUTE, "undefined variable"
    if isinstance(error, RecursionError | MemoryError):
        return ErrorKind.LIMIT, "nested too deep, or too large"
    return ErrorKind.EXECUTE, f"internal error: {type(error).__name__}"


Value = str | int | float | bool
_MUTATING: Final = frozenset(
    {"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"}
)
_SMALL_SOURCE: Final = 256
_LARGE_SOURCE: Final = 2048
_SMALL_OUTPUT: Final = 16 * 1024


class Template:
    """A compiled template."""

    __slots__ = (
        "_copies",
        "_limits",
        "_main",
        "_positions",
        "_shared",
        "_simple",
        "_small",
        "_timed",
        "_wants_root",
        "draws",
        "functions",
        "needs",
        "slow",
        "source",
        "tokens",
    )

    def __init__(self, source: str, limits: Limits = DEFAULT_LIMITS) -> None:
        try:
            parsed = parse(source, FUNCTIONS.__contains__, limits)
            compiled = build(parsed)
        except RecursionError:
            # A long pipeline becomes nested calls, whose depth Python's compiler limits.
            raise TemplateError(ErrorKind.LIMIT, 1, 0, "nested too deep to compile") from None
        except TemplateError:
            raise
        except Exception as error:  # noqa: BLE001 - TemplateError is the package's only exception
            message = f"internal error: {type(error).__name__}"
            raise TemplateError(ErrorKind.PARSE, 1, 0, message) from None
        self.source = source
        self.tokens = parsed.tokens
        self.functions = compiled.functions
        self.needs = compiled.needs
        self.draws = bool(compiled.needs & Needs.RANDOM)
        self.slow = bool(compiled.needs & Needs.SLOW)
        self._limits = limits
        self._small = min(_SMALL_OUTPUT, limits.output)
        self._main = compiled.main
        self._positions = compiled.positions
        self._wants_root = compiled.wants_root
        self._copies = not _MUTATING.isdisjoint(compiled.functions)
        self._simple = not (compiled.wants_budget or self._wants_root or self._copies)
        # All renders without budget, clock or randomness share one context.
        self._timed = bool(compiled.needs & Needs.LIMITS)
        deadline = Deadline(limits.seconds if self._timed else inf)
        self._shared = Context(limits=limits, deadline=deadline)

    def render(self, data: Mapping[str, object], environment: Environment | None = None) -> str:
        """Render the template to a string."""
        result = self._run(data, environment)
        return result if type(result) is str else show(result)

    def value(self, data: Mapping[str, object], environment: Environment | None = None) -> Value:
        """Render to a string, or to the typed value of `int`, `float` or `bool` if it is alone."""
        result = self._run(data, environment)
        if type(result) is str:
            return result
        if isinstance(result, TypedBool):
            return bool(result)
        if isinstance(result, TypedInt):
            return int(result)
        if isinstance(result, TypedFloat) and result - result == 0:
            return float(result)
        # JSON has no infinity and no NaN.
        return show(result)

    def _run(self, data: Mapping[str, object], environment: Environment | None) -> object:
        deadline = environment.deadline if environment is not None else None
        try:
            if deadline is not None:
                deadline.check()
            if self._simple and type(data) is dict and not (self._timed and deadline):
                if self._timed:
                    # Renders in two threads may extend each other's deadline; both still end.
                    self._shared.deadline.start()
                    self._shared.memory = self._limits.memory
                result = self._main(data, self._shared)
            else:
                environment = environment or self._default_environment()
                result = self._main(self._copy_data(data), environment.context())
            if type(result) is str and not (len(result) <= self._small and result.isascii()):
                return self._checked(result)
        except TemplateError:
            raise
        except Exception as error:  # noqa: BLE001 - TemplateError is the package's only exception
            raise located(error, self.source, self._positions) from None
        return result

    def _default_environment(self) -> Environment:
        """Return the default environment; only templates that use randomness get a seed."""
        if self.draws or self.needs & Needs.CLOCK:
            return Environment(limits=self._limits)
        return Environment.fixed(self._limits)

    def _copy_data(self, data: Mapping[str, object]) -> dict[str, object]:
        """Return the data as a new dict, so that `set` and `unset` stay within the render."""
        if not isinstance(data, Mapping):
            raise DataError("the data of a template must be a mapping")
        copied = _copy(data, 0) if self._copies else data
        return Variables(copied) if self._wants_root else dict(copied)

    def _checked(self, text: str) -> str:
        if len(text) * 4 > self._limits.output and byte_len(text) > self._limits.output:
            raise LimitError(f"output of more than {self._limits.output} bytes")
        return to_output(text)


def _copy(value: Mapping[str, object], depth: int) -> dict[str, object]:
    DEFAULT_LIMITS.check_depth(depth)
    return {key: _copied(item, depth + 1) for key, item in value.items()}


def _copied(value: object, depth: int) -> object:
    DEFAULT_LIMITS.check_depth(depth)
    if type(value) is dict:
        return _copy(value, depth)
    if type(value) is list:
        return [_copied(item, depth + 1) for item in value]
    return value


def render(source: str, data: Mapping[str, object], environment: Environment | None = None) -> str:
    """Render one string."""
    if environment is None:
        return (_compile_small if len(source) <= _SMALL_SOURCE else compile_template)(
            source
        ).render(data)
    return compile_template(source, environment.limits).render(data, environment)


def compile_template(source: str, limits: Limits = DEFAULT_LIMITS) -> Template:
    """Return the compiled template of a source, from the cache if possible."""
    if limits is not DEFAULT_LIMITS:
        return _compile_limited(source, limits)
    if len(source) <= _SMALL_SOURCE:
        return _compile_small(source)
    return (_compile_middle if len(source) <= _LARGE_SOURCE else _compile_large)(source)


# Several caches, so that a few huge sources neither evict all others nor use much memory.
# Limits are slow to hash, so they are part of the key only where they are not the default.


@lru_cache(maxsize=8192)
def _compile_small(source: str) -> Template:
    return Template(source)


@lru_cache(maxsize=512)
def _compile_middle(source: str) -> Template:
    return Template(source)


@lru_cache(maxsize=64)
def _compile_large(source: str) -> Template:
    return Template(source)


@lru_cache(maxsize=64)
def _compile_limited(source: str, limits: Limits) -> Template:
    return Template(source, limits)
