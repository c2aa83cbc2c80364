"""Walks a parsed template: its functions, its possible run time, and the fields it reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lynq.template import tree
from lynq.template.functions.table import FUNCTIONS
from lynq.template.parser import parse
from lynq.template.stream import ROOT_NAME


@dataclass(slots=True)
class Survey:
    """The functions, assigned variables and sizes of a template."""

    functions: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    """Variables that get a second value, by `=` or as those of a range."""
    calls: int = 0
    """Function calls in the source, each counted once."""
    actions: int = 0
    """Actions in the source, each counted once."""
    repeats: bool = False
    """Whether it has loops, or templates that may call one another."""


def analyze(template: tree.Template) -> Survey:
    """Survey the template and the templates that it defines."""
    survey = Survey()
    for body in (template.body, *template.defined.values()):
        for node in walk(body):
            _note(node, survey)
    return survey


def _note(node: tree.Node, survey: Survey) -> None:
    if isinstance(node, tree.Identifier):
        survey.functions.add(node.name)
        survey.calls += 1
    elif isinstance(node, tree.Field | tree.Chain | tree.Variable):
        # A field can be a method, which is a call too.
        survey.calls += len(node.names) > 1
    elif isinstance(node, tree.Action):
        survey.actions += 1
    elif isinstance(node, tree.Range):
        survey.repeats = True
        survey.assigned.update(variable.names[0] for variable in node.pipe.variables)
    elif isinstance(node, tree.Call):
        survey.repeats = True
    elif isinstance(node, tree.Pipe) and node.assigns:
        survey.assigned.update(variable.names[0] for variable in node.variables)


def walk(nodes: list[tree.Node]) -> Iterator[tree.Node]:
    """Yield every node, parents before children."""
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(list(_children(node))))


def _children(node: tree.Node) -> Iterator[tree.Node]:
    if isinstance(node, tree.Action):
        yield node.pipe
    elif isinstance(node, tree.Block):
        yield node.pipe
        yield from node.body
        yield from node.otherwise or ()
    elif isinstance(node, tree.Call):
        if node.pipe is not None:
            yield node.pipe
    elif isinstance(node, tree.Pipe):
        yield from node.commands
    elif isinstance(node, tree.Command):
        yield from node.args
    elif isinstance(node, tree.Chain):
        yield node.base


_BY_KEY: Final = frozenset({"index", "get"})


def referenced_variables(source: str) -> list[str]:
    """List the fields of the root that a template reads, by `.x`, `$.x` or `index . "x"`."""
    template = parse(source, FUNCTIONS.__contains__)
    return sorted(_Reader(template).read(template.body))


class _Reader:
    """Follows the root through a template and through the templates that receive it as dot."""

    def __init__(self, template: tree.Template) -> None:
        self._bodies = {**template.defined, ROOT_NAME: template.body}
        self._followed: set[str] = set()

    def read(self, body: Sequence[tree.Node], *, dot_is_root: bool = True) -> set[str]:
        fields: set[str] = set()
        for node in body:
            fields |= self._node(node, dot_is_root=dot_is_root)
        return fields

    def _node(self, node: tree.Node, *, dot_is_root: bool) -> set[str]:
        if isinstance(node, tree.Action):
            return self._pipe(node.pipe, dot_is_root=dot_is_root)
        if isinstance(node, tree.Block):
            return self._block(node, dot_is_root=dot_is_root)
        if isinstance(node, tree.Call) and node.pipe is not None:
            fields = self._pipe(node.pipe, dot_is_root=dot_is_root)
            if _is_root(node.pipe, dot_is_root=dot_is_root) and node.name not in self._followed:
                self._followed.add(node.name)
                fields |= self.read(self._bodies.get(node.name, []))
            return fields
        return set()

    def _block(self, node: tree.Block, *, dot_is_root: bool) -> set[str]:
        inside = dot_is_root
        if isinstance(node, tree.Range):
            inside = False
        elif isinstance(node, tree.With):
            inside = _is_root(node.pipe, dot_is_root=dot_is_root)
        return (
            self._pipe(node.pipe, dot_is_root=dot_is_root)
            | self.read(node.body, dot_is_root=inside)
            | self.read(node.otherwise or [], dot_is_root=dot_is_root)
        )

    def _pipe(self, pipe: tree.Pipe, *, dot_is_root: bool) -> set[str]:
        return {
            name
            for command in pipe.commands
            for name in self._command(command, dot_is_root=dot_is_root)
        }

    def _command(self, command: tree.Command, *, dot_is_root: bool) -> Iterator[str]:
        first, *arguments = command.args
        if isinstance(first, tree.Identifier) and first.name in _BY_KEY and len(arguments) > 1:
            whole, key = arguments[:2]
            if isinstance(key, tree.String) and _names_root(whole, dot_is_root=dot_is_root):
                yield key.value
        for argument in command.args:
            yield from self._operand(argument, dot_is_root=dot_is_root)

    def _operand(self, node: tree.Node, *, dot_is_root: bool) -> Iterator[str]:
        if isinstance(node, tree.Field) and dot_is_root:
            yield node.names[0]
        elif isinstance(node, tree.Variable) and node.names[0] == "$" and len(node.names) > 1:
            yield node.names[1]
        elif isinstance(node, tree.Pipe):
            yield from self._pipe(node, dot_is_root=dot_is_root)
        elif isinstance(node, tree.Chain):
            yield from self._operand(node.base, dot_is_root=dot_is_root)


def _is_root(pipe: tree.Pipe, *, dot_is_root: bool) -> bool:
    if len(pipe.commands) != 1 or len(pipe.commands[0].args) != 1:
        return False
    return _names_root(pipe.commands[0].args[0], dot_is_root=dot_is_root)


def _names_root(node: tree.Node, *, dot_is_root: bool) -> bool:
    if isinstance(node, tree.Dot):
        return dot_is_root
    return isinstance(node, tree.Variable) and list(node.names) == ["$"]
