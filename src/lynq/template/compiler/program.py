"""What all functions generated for one template share: names, places, and what was found out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lynq.template import tree
from lynq.template.analysis import Survey
from lynq.template.functions.signature import Needs

# So few calls cannot take long: a template with more, or with loops, is metered call by call.
_FEW_CALLS = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where generated code stands for something: a node, and the function that is called there."""

    template: str
    node: tree.Node
    function: str | None = None
    command: tree.Node | None = None
    """Where Go is once a method fails, rather than the call of it."""
    arguments: tuple[tree.Node, ...] = ()
    """Where Go is once it has evaluated each argument of a method."""


@dataclass(slots=True)
class Program:
    """The code of one template while it is being written."""

    survey: Survey
    defined: Mapping[str, str]
    """The Python names of the templates that the source defines."""
    names: dict[str, object]
    """The generated code's globals."""
    places: list[Place] = field(default_factory=list)
    needs: Needs = Needs.NOTHING
    wants_root: bool = False
    """Whether the root of the data is used as a value, not only by its fields."""
    _given: dict[int, str] = field(default_factory=dict)
    wants_budget: bool = False
    """Whether a render needs a context of its own, because it spends something of it."""

    @property
    def metered(self) -> bool:
        """Whether each call is charged for what it makes."""
        return self.survey.repeats or self.survey.calls > _FEW_CALLS

    @property
    def prints_much(self) -> bool:
        """Whether each value that is printed is charged, too."""
        return self.survey.repeats or self.survey.actions > _FEW_CALLS

    @property
    def marks(self) -> bool:
        """Whether values of `int`, `float` or `bool` can occur."""
        return not self.survey.functions.isdisjoint({"int", "float", "bool"})

    def put(self, prefix: str, value: object) -> str:
        """Give a name to an object that generated code uses."""
        made = self._given.get(id(value))
        if made is None:
            made = self._given[id(value)] = f"{prefix}_{len(self.names)}"
            self.names[made] = value
        return made

    def place(self, template: str, node: tree.Node, function: str | None = None) -> int:
        """Give the line number that stands for a node and the function called there."""
        return self.put_place(Place(template, node, function))

    def put_place(self, place: Place) -> int:
        """Give the line number that stands for a place."""
        self.places.append(place)
        return len(self.places)
