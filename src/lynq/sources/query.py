"""Which columns of which table to read; names are checked here and quoted by the dialect's rule.

Names come from whoever may write a hub, so they are checked twice: characters that end a name or
begin a comment are refused outright (`lynq.api.identifiers`, which admission asks too), and what
is left is quoted.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from lynq.api import SourceType
from lynq.api.source import LONGEST_NAME, length_problem, name_problem, table_problem
from lynq.sources.errors import InvalidSettings


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine writes names."""

    quote: str
    longest: int
    """Bytes of the longest name."""

    as_text: str = ""
    """What makes the server write a column as text."""

    def name(self, text: str, *, field: str) -> str:
        """Return a checked name in quotes."""
        if wrong := length_problem(text, self.longest):
            raise InvalidSettings(wrong, field=field)
        return f"{self.quote}{text}{self.quote}"


# SQLite takes an unknown name in double quotes for a text: every row would have the column's name
# as its value. In backticks a name is always a name.
SQLITE = Dialect("`", LONGEST_NAME[SourceType.SQLITE])
MYSQL = Dialect("`", LONGEST_NAME[SourceType.MYSQL])
POSTGRESQL = Dialect('"', LONGEST_NAME[SourceType.POSTGRESQL], "::text")


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view, optionally with its schema (in MySQL: its database)."""

    schema: str
    name: str

    @classmethod
    def named(cls, text: str) -> "Table":
        """Read `table` or `schema.table`, and check both."""
        if wrong := table_problem(text):
            raise InvalidSettings(wrong, field="table")
        parts = text.split(".")
        return cls(parts[0] if parts[1:] else "", parts[-1])

    def quoted(self, dialect: Dialect) -> str:
        """Return it as the dialect writes it."""
        parts = (self.schema, self.name) if self.schema else (self.name,)
        return ".".join(dialect.name(part, field="table") for part in parts)

    def __str__(self) -> str:
        """Say it as it was given."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The columns that a hub maps, in the table it names."""

    table: str
    uid: str
    activate: str
    host_or_url: str = ""
    extras: Mapping[str, str] = field(default_factory=dict)
    """Further columns, by the variable that templates know them as."""

    def __post_init__(self) -> None:
        """Refuse names that could be more than a name."""
        Table.named(self.table)
        for place, column in self._fields():
            check_name(column, field=place)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the order of the query: uid, activate, hostOrUrl if mapped, extras."""
        return tuple(column for _, column in self._fields())

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the extras, in the order of their columns."""
        return tuple(sorted(self.extras))

    def sql(self, dialect: Dialect, *, as_text: Container[int] = ()) -> str:
        """Return the statement; of the columns at some positions, the server writes the text.

        No WHERE, no ORDER: what is active is for us to say, and sorting would cost the server.
        """
        columns = ", ".join(
            dialect.name(column, field=place) + (dialect.as_text if position in as_text else "")
            for position, (place, column) in enumerate(self._fields())
        )
        table = Table.named(self.table).quoted(dialect)
        return f"SELECT {columns} FROM {table}"  # noqa: S608 - every part is checked and quoted

    def _fields(self) -> Iterator[tuple[str, str]]:
        """Yield each column with the field of the hub's spec that names it."""
        yield "valueMappings.uid", self.uid
        yield "valueMappings.activate", self.activate
        if self.host_or_url:
            yield "valueMappings.hostOrUrl", self.host_or_url
        for variable in self.variables:
            yield f"extraValueMappings.{variable}", self.extras[variable]


def check_name(text: str, *, field: str) -> None:
    """Refuse a name with anything in it that could end it."""
    if wrong := name_problem(text):
        raise InvalidSettings(wrong, field=field)
