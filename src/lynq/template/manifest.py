"""Renders every string of a manifest; whole values of `int`, `float` and `bool` become typed."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from lynq.template import engine
from lynq.template.engine import Value
from lynq.template.environment import Environment
from lynq.template.errors import ErrorKind, TemplateError
from lynq.template.functions.signature import Needs
from lynq.template.functions.table import FUNCTIONS

_TEXT_KEYS: Final = frozenset({"apiVersion", "kind"})
_TEXT_MAPS: Final = frozenset({"annotations", "labels", "matchLabels", "nodeSelector", "selector"})
_DATA_MAPS: Final = frozenset({"data", "binaryData", "stringData"})
_DATA_KINDS: Final = frozenset({"ConfigMap", "Secret"})
_NAMES: Final = frozenset({"name", "namespace", "generateName"})
_DEEPEST: Final = 200

Path = tuple["Path", str] | None
"""A field's way from the root, last key first: cheap to extend, and seldom read."""


def render_object(
    manifest: Mapping[str, object],
    data: Mapping[str, object],
    environment: Environment | None = None,
) -> dict[str, object]:
    """Render each string value of a manifest, at any depth, into a new manifest; keys are kept.

    All its strings share one deadline. Each position has its own randomness. An error
    names the field that it is in.
    """
    environment = (environment or Environment()).within_one_deadline()
    kind = str(manifest.get("kind", ""))
    return _Renderer(dict(data), environment, kind).mapping(manifest, None, 0)


def is_slow(manifest: Mapping[str, object]) -> bool:
    """Return whether a render may take seconds, because it generates keys or hashes passwords."""
    return any(template.slow for template in _templates(manifest))


def is_repeatable(manifest: Mapping[str, object]) -> bool:
    """Return whether two renders are equal, because none generates keys."""
    return not any(template.needs & Needs.ENTROPY for template in _templates(manifest))


def called_functions(value: object, needs: Needs) -> list[str]:
    """Return the functions with these needs that a manifest or a single template calls."""
    names = {name for template in _templates(value) for name in template.functions}
    return sorted(name for name in names if FUNCTIONS[name].needs & needs)


def _templates(value: object) -> Iterator[engine.Template]:
    """Yield the templates of a manifest, except those that do not compile."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, str) and "{{" in value:
            with suppress(TemplateError):
                yield engine.compile_template(value)


class _Renderer:
    """One pass over a manifest."""

    __slots__ = ("_data", "_environment", "_text_maps")

    def __init__(self, data: dict[str, object], environment: Environment, kind: str) -> None:
        self._data = data
        self._environment = environment
        self._text_maps = _TEXT_MAPS | _DATA_MAPS if kind in _DATA_KINDS else _TEXT_MAPS

    def mapping(self, value: Mapping[str, object], path: Path, depth: int) -> dict[str, object]:
        return {key: self._any(item, (path, key), depth + 1) for key, item in value.items()}

    def _any(self, value: object, path: tuple[Path, str], depth: int) -> object:
        if isinstance(value, str):
            return self._string(value, path) if "{{" in value else value
        if depth > _DEEPEST:
            raise _named(TemplateError(ErrorKind.LIMIT, 1, 0, "nested too deep"), path)
        if isinstance(value, dict):
            return self.mapping(value, path, depth)
        if isinstance(value, list):
            return [
                self._any(item, (path, str(number)), depth + 1) for number, item in enumerate(value)
            ]
        return value

    def _string(self, source: str, path: tuple[Path, str]) -> Value:
        environment = self._environment
        try:
            template = engine.compile_template(source, environment.limits)
            if template.draws:
                environment = environment.at(*_keys(path))
            if self._stays_text(path):
                return template.render(self._data, environment)
            return template.value(self._data, environment)
        except TemplateError as error:
            raise _named(error, path) from None

    def _stays_text(self, path: tuple[Path, str]) -> bool:
        around, key = path
        if key in _TEXT_KEYS:
            return True
        if around is None:
            return False
        parent = around[1]
        return parent in self._text_maps or (parent == "metadata" and key in _NAMES)


def _keys(path: Path) -> list[str]:
    keys: list[str] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return keys[::-1]


def _named(error: TemplateError, path: Path) -> TemplateError:
    error.field = ".".join(_keys(path))
    return error
