"""Constants as arguments, converted to the parameter's type as text/template's evalArg does."""

from lynq.template import tree
from lynq.template.errors import Failure
from lynq.template.functions.signature import ANY_NAMES, Parameter
from lynq.template.values import INTEGER_KINDS, UNSIGNED_KINDS, Kind

_MASKS = {Kind.UINT8: 0xFF, Kind.UINT32: 0xFFFF_FFFF}

Literal = tree.Bool | tree.NumberLiteral | tree.String


def ideal(node: Literal) -> str | int | float | bool:
    """Return a constant's value where no parameter determines its type."""
    if isinstance(node, tree.Bool | tree.String):
        return node.value
    text = node.literal
    hexadecimal = text[:2] in ("0x", "0X") and not any(char in text for char in "pP")
    if text[0] != "'" and not hexadecimal and any(char in text for char in ".eEpP"):
        return node.number.floating
    if node.number.integer is None:
        raise Failure(f"{text} overflows int")
    return node.number.integer


def convert(node: Literal, parameter: Parameter) -> str | int | float | bool:
    """Convert a constant to the type of a parameter."""
    if parameter.name in ANY_NAMES:
        return ideal(node)
    kind = parameter.kind
    if kind is Kind.STRING and isinstance(node, tree.String):
        return node.value
    if kind is Kind.BOOL and isinstance(node, tree.Bool):
        return node.value
    if isinstance(node, tree.NumberLiteral):
        number = _number(node, kind)
        if number is not None:
            return number
    raise Failure(_conversion_error(node, parameter))


def _number(node: tree.NumberLiteral, kind: Kind) -> int | float | None:
    if kind is Kind.FLOAT64:
        return node.number.floating
    if kind in UNSIGNED_KINDS:
        unsigned = node.number.unsigned
        # reflect's SetUint silently truncates.
        return unsigned if unsigned is None else unsigned & _MASKS.get(kind, -1)
    return node.number.integer if kind in INTEGER_KINDS else None


def _conversion_error(node: Literal, parameter: Parameter) -> str:
    kind = parameter.kind
    if kind in UNSIGNED_KINDS:
        return f"expected unsigned integer; found {node}"
    if kind in INTEGER_KINDS:
        return f"expected integer; found {node}"
    expected = {Kind.STRING: "string", Kind.BOOL: "bool", Kind.FLOAT64: "float"}.get(kind)
    if expected:
        return f"expected {expected}; found {node}"
    return f"can't handle {node} for arg of type {parameter.name}"
