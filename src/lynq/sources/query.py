"""The query of a hub: the table and columns to read, with checked and quoted names.

Names come from a hub's spec, so they are protected twice. Characters that end a name or begin a
comment are rejected by the rules of `lynq.api.source`, which admission uses too. All other names
are quoted.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from lynq.api.source import VALUES_LIMIT, length_problem, name_problem, table_problem
from lynq.sources.errors import InvalidSettings

_IDENTIFYING: Final = (0, 1)
"""The positions of uid and activate."""

_SHOWN: Final = 256
"""Characters of uid and activate in a row that is too large: longer ones are invalid anyway."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The quoting rules of an engine."""

    quote: str
    longest: int
    """Maximum length of a name in bytes."""

    as_text: str = ""
    """Suffix that casts a column to text."""

    size: str = "length({})"
    """The expression for the bytes of a column's text; it may be lower, but not higher."""

    def name(self, text: str, *, field: str) -> str:
        """Return the quoted name; raise InvalidSettings if it is too long."""
        if problem := length_problem(text, self.longest):
            raise InvalidSettings(problem, field=field)
        return f"{self.quote}{text}{self.quote}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view, optionally with its schema (in MySQL: its database)."""

    schema: str
    name: str

    @classmethod
    def named(cls, text: str) -> "Table":
        """Parse and check `table` or `schema.table`."""
        if problem := table_problem(text):
            raise InvalidSettings(problem, field="table")
        parts = text.split(".")
        return cls(parts[0] if parts[1:] else "", parts[-1])

    def quoted(self, dialect: Dialect) -> str:
        """Return the quoted name."""
        parts = (self.schema, self.name) if self.schema else (self.name,)
        return ".".join(dialect.name(part, field="table") for part in parts)

    def __str__(self) -> str:
        """Return the name as in the hub's spec."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The table of a hub and its mapped columns."""

    table: str
    uid: str
    activate: str
    host_or_url: str = ""
    extras: Mapping[str, str] = field(default_factory=dict)
    """Extra columns, by the name of their template variable."""

    def __post_init__(self) -> None:
        """Reject names that could contain more than a name."""
        Table.named(self.table)
        for spec_field, column in self._fields():
            check_name(column, field=spec_field)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the order of the query: uid, activate, hostOrUrl if mapped, extras."""
        return tuple(column for _, column in self._fields())

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the extra variables, in the order of their columns."""
        return tuple(sorted(self.extras))

    def sql(
        self,
        dialect: Dialect,
        *,
        as_text: Container[int] = (),
        bounded: Container[int] = (),
        condition: str = "",
    ) -> str:
        """Return the SELECT statement; columns at the positions `as_text` are cast to text.

        There is no ORDER BY, and no WHERE unless rows are selected by their uid: Lynq decides which
        rows are active, and sorting would load the server. `condition` follows the uid column; it
        holds parameters, and no values of rows.

        Columns at the positions `bounded` may hold texts of any size. If they have more than
        VALUES_LIMIT bytes together, the row cannot be used, and the server keeps them: only the
        beginning of uid and activate is sent. One more column has the size that such a row has at
        least, and is NULL for all others; it is missing if no column is bounded.
        """
        columns = [
            name + (dialect.as_text if position in as_text else "")
            for position, name in enumerate(self._names(dialect))
        ]
        table = Table.named(self.table).quoted(dialect)
        expressions = _bounded(columns, bounded, dialect)
        statement = f"SELECT {', '.join(expressions)} FROM {table}"  # noqa: S608 - every part is checked and quoted
        if not condition:
            return statement
        uid = dialect.name(self.uid, field="valueMappings.uid")
        return f"{statement} WHERE {uid} {condition}"

    def large_rows_sql(self, dialect: Dialect) -> str:
        """Return the statement that selects whether a row has more than VALUES_LIMIT bytes."""
        table = Table.named(self.table).quoted(dialect)
        size = _size(self._names(dialect), dialect)
        return f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {size} > {VALUES_LIMIT})"  # noqa: S608 - as above

    def _names(self, dialect: Dialect) -> list[str]:
        return [dialect.name(column, field=spec_field) for spec_field, column in self._fields()]

    def _fields(self) -> Iterator[tuple[str, str]]:
        """Yield each column after the field of the hub's spec that names it."""
        yield "valueMappings.uid", self.uid
        yield "valueMappings.activate", self.activate
        if self.host_or_url:
            yield "valueMappings.hostOrUrl", self.host_or_url
        for variable in self.variables:
            yield f"extraValueMappings.{variable}", self.extras[variable]


def _bounded(columns: list[str], bounded: Container[int], dialect: Dialect) -> list[str]:
    """Return the expressions of the columns, and the size of a row if it may be too large."""
    positions = [position for position in range(len(columns)) if position in bounded]
    if not positions:
        return columns
    size = _size([columns[at] for at in positions], dialect)
    too_large = f"CASE WHEN {size} > {VALUES_LIMIT} THEN"
    expressions = columns.copy()
    for at in positions:
        beginning = f"substr({columns[at]}, 1, {_SHOWN})" if at in _IDENTIFYING else "NULL"
        expressions[at] = f"{too_large} {beginning} ELSE {columns[at]} END"
    return [*expressions, f"{too_large} {size} END"]


def _size(columns: Iterable[str], dialect: Dialect) -> str:
    """Return the expression for the bytes of the columns together."""
    return " + ".join(f"COALESCE({dialect.size.format(column)}, 0)" for column in columns)


def check_name(text: str, *, field: str) -> None:
    """Raise InvalidSettings for a name with characters that could end it."""
    if problem := name_problem(text):
        raise InvalidSettings(problem, field=field)
