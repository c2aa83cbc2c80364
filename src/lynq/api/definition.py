"""What a kind is called and how `kubectl get` shows it: the part of a CRD besides its schema."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrinterColumn:
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
    columns: tuple[PrinterColumn, ...]

    @property
    def singular(self) -> str:
        """What `kubectl get` accepts besides the plural."""
        return self.kind.lower()


def count_column(name: str, path: str, *, wide: bool = False) -> PrinterColumn:
    """Show a number."""
    return PrinterColumn(name, path, "integer", wide)


def condition_column(name: str, of: str, show: str, *, wide: bool = False) -> PrinterColumn:
    """Show the status, reason or message of one condition."""
    return PrinterColumn(name, f".status.conditions[?(@.type=='{of}')].{show}", wide=wide)


AGE_COLUMN = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
