"""Renders every string of a manifest; whole values of `int`, `float` and `bool` become typed."""

from collections.abc import Mapping
from time import monotonic
from typing import Final

from lynq.template import engine
from lynq.template.engine import Value
from lynq.template.environment import Environment
from lynq.template.errors import ErrorKind, TemplateError
from lynq.template.functions.signature import Needs

_TEXT_KEYS: Final = frozenset({"apiVersion", "kind"})
_TEXT_MAPS: Final = frozenset({"annotations", "labels", "matchLabels", "nodeSelector", "selector"})
_DATA_MAPS: Final = frozenset({"data", "binaryData", "stringData"})
_DATA_KINDS: Final = frozenset({"ConfigMap", "Secret"})
_NAMES: Final = frozenset({"name", "namespace", "generateName"})
_DEEPEST: Final = 200

Path = tuple[str, ...]


def render_object(
    manifest: Mapping[str, object],
    data: Mapping[str, object],
    environment: Environment | None = None,
) -> dict[str, object]:
    """Render each string value of a manifest, at any depth, into a new manifest; keys are kept.

    All its strings share one deadline. Each position has a source of chance of its own. An error
    names the field that it is in.
    """
    environment = (environment or Environment()).within_one_deadline()
    return _Renderer(dict(data), environment, str(manifest.get("kind", ""))).mapping(manifest, ())


class _Renderer:
    """One pass over a manifest."""

    def __init__(self, data: dict[str, object], environment: Environment, kind: str) -> None:
        self._data = data
        self._environment = environment
        self._keeps_data = kind in _DATA_KINDS
        self._deadline = environment.deadline or 0.0

    def mapping(self, value: Mapping[str, object], path: Path) -> dict[str, object]:
        return {key: self._any(item, (*path, key)) for key, item in value.items()}

    def _any(self, value: object, path: Path) -> object:
        if isinstance(value, str):
            return self._string(value, path) if "{{" in value else value
        if len(path) > _DEEPEST:
            raise self._named(TemplateError(ErrorKind.LIMIT, 1, 0, "nested too deep"), path)
        if isinstance(value, Mapping):
            return self.mapping(value, path)
        if isinstance(value, list | tuple):
            return [self._any(item, (*path, str(number))) for number, item in enumerate(value)]
        return value

    def _string(self, source: str, path: Path) -> Value:
        try:
            self._check_deadline()
            template = engine.compile(source, self._environment.limits)
            environment = self._environment
            if template.needs & Needs.CHANCE:
                environment = environment.at(*path)
            if self._stays_text(path):
                return template.render(self._data, environment)
            return template.value(self._data, environment)
        except TemplateError as error:
            raise self._named(error, path) from None

    def _check_deadline(self) -> None:
        if monotonic() > self._deadline:
            seconds = self._environment.limits.seconds
            message = f"rendering took longer than {seconds} s"
            raise TemplateError(ErrorKind.LIMIT, 1, 0, message)

    def _stays_text(self, path: Path) -> bool:
        key = path[-1]
        parent = path[-2] if len(path) > 1 else ""
        return (
            key in _TEXT_KEYS
            or parent in _TEXT_MAPS
            or (self._keeps_data and parent in _DATA_MAPS)
            or (parent == "metadata" and key in _NAMES)
        )

    def _named(self, error: TemplateError, path: Path) -> TemplateError:
        error.field = ".".join(path)
        return error
