"""Manifests from YAML and JSON files, with the line of every field.

YAML is read as kubectl reads it: timestamps and sexagesimal numbers are texts, and keys are texts.
Only a repeated key is an error here; kubectl drops the first value without a word. A file may have
several documents; a `List` stands for its items.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from lynq.api.problems import at_key
from lynq.cli.exit_codes import CommandError

STDIN: Final = Path("-")
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_SEPARATOR: Final = re.compile(r"[.\[]")
_TEXT_TAG: Final = "tag:yaml.org,2002:timestamp"
_INTEGER: Final = re.compile(r"[-+]?(0b[01_]+|0[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_FLOAT: Final = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?$|[-+]?[0-9]+[eE][-+]?[0-9]+$"
    r"|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
)


class ManifestFileError(CommandError):
    """A file cannot be read as manifests."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        self.line = line
        """The line, counted from 1; 0 if the problem has none."""
        self.problem = problem
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a field is in its file."""

    line: int
    """The line of the key, or of the item of a list."""
    text_line: int
    """The line on which the text of a value begins."""
    text: str = ""
    """The value, if it is a text."""


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file."""

    path: Path
    value: dict[str, Any]
    positions: Mapping[str, Position] = field(repr=False)
    """By the path of the field, as problems write it; the document itself is ""."""
    lines: Sequence[str] = field(repr=False)
    """The lines of the whole file."""

    @property
    def kind(self) -> str:
        """The kind of the object; empty if it is no text."""
        kind = self.value.get("kind")
        return kind if isinstance(kind, str) else ""

    @property
    def name(self) -> str:
        """The name in metadata; empty if it is no text."""
        metadata = self.value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return name if isinstance(name, str) else ""

    @property
    def reference(self) -> str:
        """The object as `Kind/name`."""
        return f"{self.kind or 'object'}/{self.name or '(without name)'}"

    def position(self, path: str) -> Position:
        """Return the position of a field, or of the nearest field around it."""
        for around in around_fields(path):
            if around in self.positions:
                return self.positions[around]
        return self.positions[""]

    def field_like(self, path: str) -> str:
        """Return the path of a field that is written with dots only; the same path if unknown."""
        plain = _plain(path)
        return next((place for place in self.positions if _plain(place) == plain), path)

    def line_of(self, path: str, text_line: int = 0) -> int:
        """Return the line of a field, or the line of the file that a line of its text is on."""
        position = self.position(path)
        return position.text_line + text_line - 1 if text_line else position.line


def _plain(path: str) -> str:
    return path.replace("[", ".").replace("]", "")


def around_fields(path: str) -> Iterator[str]:
    """Yield the path of a field, then of each field around it, and "" at last."""
    while path:
        yield path
        starts = [match.start() for match in _SEPARATOR.finditer(path)]
        path = path[: starts[-1]] if starts else ""
    yield ""


def read_documents(paths: Iterable[Path]) -> list[Document]:
    """Return the objects of files, and of the files below directories; raises CommandError."""
    return [document for path in manifest_files(paths) for document in documents_of(path)]


def manifest_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files, and the YAML and JSON files below directories; raises CommandError."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            try:
                below = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES)
            except OSError as error:
                raise ManifestFileError(path, 0, f"cannot be read: {error.strerror}") from None
            if not below:
                raise ManifestFileError(path, 0, f"no file below it ends with {_SUFFIXES}")
            files += below
        else:
            files.append(path)
    return files


def documents_of(path: Path) -> list[Document]:
    """Return the objects of one file, or of stdin for `-`; raises ManifestFileError."""
    try:
        if path == STDIN:
            return parse_documents(path, sys.stdin.read())
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ManifestFileError(path, 0, "the file is not UTF-8 text") from None
    except OSError as error:
        raise ManifestFileError(path, 0, error.strerror or "the file cannot be read") from None
    return parse_documents(path, text)


def parse_documents(path: Path, text: str) -> list[Document]:
    """Return the objects of the text of a file; raises ManifestFileError."""
    lines = text.splitlines()
    documents: list[Document] = []
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None or _is_null(node):
                continue
            documents += _objects(path, node, lines, loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(filter(None, (error.context, error.problem)))
        raise ManifestFileError(
            path, mark.line + 1 if mark else 0, f"invalid YAML: {problem}"
        ) from None
    except yaml.YAMLError as error:
        raise ManifestFileError(path, 0, f"invalid YAML: {error}") from None
    except RecursionError:
        raise ManifestFileError(path, 0, "the YAML is nested too deeply") from None
    finally:
        loader.dispose()
    return documents


class _Loader(yaml.SafeLoader):
    """Resolves plain scalars as kubectl does."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's interface
        first: [
            (tag, {"int": _INTEGER, "float": _FLOAT}.get(tag.rpartition(":")[2], pattern))
            for tag, pattern in resolvers
            if tag != _TEXT_TAG
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _objects(
    path: Path, node: yaml.Node, lines: Sequence[str], loader: _Loader
) -> Iterator[Document]:
    reader = _Reader(path, loader)
    value = reader.read(node, "")
    line = node.start_mark.line + 1
    if not isinstance(value, dict):
        raise ManifestFileError(path, line, "a document is not an object")
    if value.get("kind") != "List" or not isinstance(value.get("items"), list):
        reader.positions[""] = Position(line, line)
        yield Document(path, value, reader.positions, lines)
        return
    for index, item in enumerate(value["items"]):
        prefix = f"items[{index}]"
        if not isinstance(item, dict):
            line = reader.positions[prefix].line
            raise ManifestFileError(path, line, "an item of the List is not an object")
        positions = {
            place.removeprefix(prefix).removeprefix("."): position
            for place, position in reader.positions.items()
            if place.startswith(prefix)
        }
        yield Document(path, item, positions, lines)


@dataclass(slots=True)
class _Reader:
    """Converts the nodes of one document to JSON values, and notes their positions."""

    path: Path
    loader: _Loader
    positions: dict[str, Position] = field(default_factory=dict)

    def read(self, node: yaml.Node, place: str) -> Any:  # noqa: ANN401 - any JSON value
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, f"{place}[{index}]") for index, item in enumerate(node.value)]
        return self.loader.construct_object(node, deep=True)

    def _item(self, node: yaml.Node, place: str) -> Any:  # noqa: ANN401
        self.positions[place] = _position(node, node)
        return self.read(node, place)

    def _mapping(self, node: yaml.MappingNode, place: str) -> dict[str, Any]:
        self._check_keys(node)
        self.loader.flatten_mapping(node)
        value: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            child = at_key(place, key) if place else key
            self.positions[child] = _position(key_node, value_node)
            value[key] = self.read(value_node, child)
        return value

    def _key(self, node: yaml.Node) -> str:
        key = self.loader.construct_object(node)
        # As in JSON, which kubectl sends.
        return str(key).lower() if isinstance(key, bool) else str(key)

    def _check_keys(self, node: yaml.MappingNode) -> None:
        keys: set[str] = set()
        for key_node, _ in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ManifestFileError(self.path, line, "a key is not a text")
            if key_node.value in keys and key_node.value != "<<":
                problem = f'the key "{key_node.value}" occurs twice in one object'
                raise ManifestFileError(self.path, line, problem)
            keys.add(key_node.value)


def _position(start: yaml.Node, value: yaml.Node) -> Position:
    text_line = value.start_mark.line + 1
    # The text of a block begins below its `|`.
    is_block = isinstance(value, yaml.ScalarNode) and value.style in ("|", ">")
    text = value.value if isinstance(value, yaml.ScalarNode) else ""
    return Position(start.start_mark.line + 1, text_line + 1 if is_block else text_line, text)
