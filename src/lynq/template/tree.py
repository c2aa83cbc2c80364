"""The nodes of a parsed template. As text they read as Go shows them in errors."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lynq.template.gofmt.quoting import quote
from lynq.template.literals import Number

# ruff: noqa: D105 - each `__str__` is the node's String method in Go


@dataclass(slots=True, eq=False)
class Node:
    """A node of the tree, with its offset in the source."""

    position: int


@dataclass(slots=True, eq=False)
class Text(Node):
    """Text outside of actions."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True, eq=False)
class Dot(Node):
    """The cursor, dot."""

    def __str__(self) -> str:
        return "."


@dataclass(slots=True, eq=False)
class Nil(Node):
    """The untyped nil."""

    def __str__(self) -> str:
        return "nil"


@dataclass(slots=True, eq=False)
class Bool(Node):
    """`true` or `false`."""

    value: bool

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(slots=True, eq=False)
class NumberLiteral(Node):
    """A number or character constant."""

    literal: str
    number: Number

    def __str__(self) -> str:
        return self.literal


@dataclass(slots=True, eq=False)
class String(Node):
    """A string constant."""

    literal: str
    value: str

    def __str__(self) -> str:
        return self.literal


@dataclass(slots=True, eq=False)
class Identifier(Node):
    """The name of a function."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True, eq=False)
class Field(Node):
    """`.a.b`: fields of the cursor."""

    names: Sequence[str]

    def __str__(self) -> str:
        return "".join(f".{name}" for name in self.names)


@dataclass(slots=True, eq=False)
class Variable(Node):
    """`$x.a`: a variable, and fields of it."""

    names: Sequence[str]

    def __str__(self) -> str:
        return ".".join(self.names)


@dataclass(slots=True, eq=False)
class Chain(Node):
    """`(pipeline).a` or `function.a`: fields of a value."""

    base: Node
    names: Sequence[str]

    def __str__(self) -> str:
        base = f"({self.base})" if isinstance(self.base, Pipe) else str(self.base)
        return base + "".join(f".{name}" for name in self.names)


@dataclass(slots=True, eq=False)
class Command(Node):
    """A function or value, and its arguments."""

    args: list[Node] = field(default_factory=list)

    def __str__(self) -> str:
        return " ".join(f"({arg})" if isinstance(arg, Pipe) else str(arg) for arg in self.args)


@dataclass(slots=True, eq=False)
class Pipe(Node):
    """Commands, each of which receives the previous result, and variables for the last one."""

    variables: list[Variable] = field(default_factory=list)
    assigns: bool = False
    commands: list[Command] = field(default_factory=list)

    def __str__(self) -> str:
        commands = " | ".join(map(str, self.commands))
        if not self.variables:
            return commands
        names = ", ".join(map(str, self.variables))
        return f"{names} {'=' if self.assigns else ':='} {commands}"


@dataclass(slots=True, eq=False)
class Action(Node):
    """`{{pipeline}}`."""

    pipe: Pipe

    def __str__(self) -> str:
        return f"{{{{{self.pipe}}}}}"


@dataclass(slots=True, eq=False)
class Block(Node):
    """The common fields of `if`, `with` and `range`."""

    pipe: Pipe
    body: list[Node]
    otherwise: list[Node] | None

    def __str__(self) -> str:
        return f"{{{{{type(self).__name__.lower()} {self.pipe}}}}}"


@dataclass(slots=True, eq=False)
class If(Block):
    """`{{if pipeline}} body {{else}} otherwise {{end}}`."""


@dataclass(slots=True, eq=False)
class With(Block):
    """`{{with pipeline}} body {{else}} otherwise {{end}}`."""


@dataclass(slots=True, eq=False)
class Range(Block):
    """`{{range pipeline}} body {{else}} otherwise {{end}}`."""


@dataclass(slots=True, eq=False)
class Call(Node):
    """`{{template "name" pipeline}}`."""

    name: str
    pipe: Pipe | None

    def __str__(self) -> str:
        pipe = "" if self.pipe is None else f" {self.pipe}"
        return f"{{{{template {quote(self.name)}{pipe}}}}}"


@dataclass(slots=True, eq=False)
class Break(Node):
    """`{{break}}`."""


@dataclass(slots=True, eq=False)
class Continue(Node):
    """`{{continue}}`."""


@dataclass(slots=True, eq=False)
class End(Node):
    """`{{end}}`; never part of a parsed tree."""

    def __str__(self) -> str:
        return "{{end}}"


@dataclass(slots=True, eq=False)
class Else(Node):
    """`{{else}}`; never part of a parsed tree."""

    def __str__(self) -> str:
        return "{{else}}"


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed source: the root's nodes, and those of the templates it defines."""

    source: str
    body: list[Node]
    defined: dict[str, list[Node]]
    tokens: int
