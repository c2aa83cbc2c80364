"""What a kind is called and how `kubectl get` shows it: the part of a CRD besides its schema."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False
    """Shown only with `-o wide`."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The names of a kind, and its columns."""

    kind: str
    plural: str
    short_name: str
    columns: tuple[Column, ...]

    @property
    def singular(self) -> str:
        """What `kubectl get` accepts besides the plural."""
        return self.kind.lower()


def count(name: str, path: str, *, wide: bool = False) -> Column:
    """Show a number."""
    return Column(name, path, "integer", wide)


def condition(name: str, of: str, show: str, *, wide: bool = False) -> Column:
    """Show the status, reason or message of one condition."""
    return Column(name, f".status.conditions[?(@.type=='{of}')].{show}", wide=wide)


AGE = Column("Age", ".metadata.creationTimestamp", "date")
