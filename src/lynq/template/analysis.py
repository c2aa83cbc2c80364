"""Walks a parsed template: which functions it names, and whether it may run for long."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lynq.template import tree


@dataclass(slots=True)
class Survey:
    """What a template names."""

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
    """Look through the template and all that it defines."""
    found = Survey()
    for body in (template.body, *template.defined.values()):
        for node in walk(body):
            _note(node, found)
    return found


def _note(node: tree.Node, found: Survey) -> None:
    if isinstance(node, tree.Identifier):
        found.functions.add(node.name)
        found.calls += 1
    elif isinstance(node, tree.Field | tree.Chain | tree.Variable):
        # A field can be a method, which is a call too.
        found.calls += len(node.names) > 1
    elif isinstance(node, tree.Action):
        found.actions += 1
    elif isinstance(node, tree.Range):
        found.repeats = True
        found.assigned.update(variable.names[0] for variable in node.pipe.variables)
    elif isinstance(node, tree.Call):
        found.repeats = True
    elif isinstance(node, tree.Pipe) and node.assigns:
        found.assigned.update(variable.names[0] for variable in node.variables)


def walk(nodes: list[tree.Node]) -> Iterator[tree.Node]:
    """Give every node, outer ones first."""
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
