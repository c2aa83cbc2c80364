"""merge and mergeOverwrite, after Go's package mergo, and deepCopy.

The first map itself is changed. Without overwriting, a value is taken where there is none or an
empty one; with it, always. Two maps are merged.
"""

from lynq.template.context import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.roots import Unnamed, assign, unnamed
from lynq.template.functions.signature import Needs, function
from lynq.template.values import NilMap, Object, StringMap, is_nil

_MERGE = "func(map[string]interface{}, ...map[string]interface{}) interface{}"
_MUST_MERGE = "func(map[string]interface{}, ...map[string]interface{}) (interface{}, error)"
_Map = dict[str, object]
_ITEM_BYTES = 64
_CHECK_EVERY = 1024


@function("merge", _MERGE, needs=Needs.LIMITS)
@function("mustMerge", _MUST_MERGE, needs=Needs.LIMITS)
def merge(context: Context, target: _Map, *sources: _Map) -> _Map:
    """Fill a map from others."""
    return _Merger(context, overwrite=False).merge_all(target, sources)


@function("mergeOverwrite", _MERGE, needs=Needs.LIMITS)
@function("mustMergeOverwrite", _MUST_MERGE, needs=Needs.LIMITS)
def merge_overwrite(context: Context, target: _Map, *sources: _Map) -> _Map:
    """Overwrite a map from others."""
    return _Merger(context, overwrite=True).merge_all(target, sources)


@function("deepCopy", "func(interface{}) interface{}", needs=Needs.LIMITS)
@function("mustDeepCopy", "func(interface{}) (interface{}, error)", needs=Needs.LIMITS)
def deep_copy(context: Context, value: object) -> object:
    """Give a copy that shares no list and no map with the value."""
    if value is None:
        raise FunctionError("reflect: call of reflect.Value.Type on zero Value")
    return _Copier(context).copy(value, 0)


class _Merger:
    def __init__(self, context: Context, *, overwrite: bool) -> None:
        self.context = context
        self.overwrite = overwrite

    def merge_all(self, target: _Map, sources: tuple[_Map, ...]) -> _Map:
        target = unnamed(target)
        for source in sources:
            if isinstance(target, NilMap) and not isinstance(source, NilMap):
                target = {}
            self._merge(target, source, 0)
        return target

    def _merge(self, target: _Map, source: _Map, depth: int) -> None:
        self.context.limits.check_depth(depth)
        # A copy of the items: a map may be merged with itself.
        for number, (key, value) in enumerate(list(source.items())):
            if number % _CHECK_EVERY == 0:
                self.context.check_deadline()
            if value is None and type(source) is not StringMap:
                if self.overwrite:
                    self._put(target, source, key)
            else:
                self._merge_item(target, source, key, depth)

    def _merge_item(self, target: _Map, source: _Map, key: str, depth: int) -> None:
        value, present = source[key], target.get(key)
        if isinstance(value, dict) and isinstance(present, dict) and not is_nil(present):
            self._merge(present, value, depth + 1)
            if present:
                return
        if self.overwrite or not present:
            self._put(target, source, key)

    def _put(self, target: _Map, source: _Map, key: str) -> None:
        if isinstance(target, StringMap) and not isinstance(source, StringMap):
            raise FunctionError(
                "reflect.Value.SetMapIndex: "
                "value of type interface {} is not assignable to type string"
            )
        self.context.limits.check_items(len(target) + 1)
        assign(target, key, source[key])


class _Copier:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.copied = 0

    def copy(self, value: object, depth: int) -> object:
        if isinstance(value, Object):
            return value.copied()
        if not isinstance(value, list | dict):
            return value
        self.context.check_deadline()
        limits = self.context.limits
        limits.check_depth(depth)
        self.copied += len(value)
        limits.check_items(self.copied)
        self.context.charge((len(value) + 1) * _ITEM_BYTES)
        if isinstance(value, dict):
            items = {key: self.copy(item, depth + 1) for key, item in value.items()}
            return items if isinstance(value, Unnamed) else type(value)(items)
        return type(value)([self.copy(item, depth + 1) for item in value])
