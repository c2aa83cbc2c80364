"""Values as text: quote, squote, cat and toString."""

from lynq.template.context import Context
from lynq.template.functions.signature import Needs, function
from lynq.template.functions.string_lists import join_texts, texts_of
from lynq.template.gofmt.printing import show
from lynq.template.gofmt.quoting import quote as go_quote

_STRETCH = 4_096


@function("toString", "func(interface{}) string", needs=Needs.LIMITS)
def to_string(context: Context, value: object) -> str:
    """Give the value as `%v` prints it."""
    return show(value, context.limits)


@function("quote", "func(...interface{}) string", needs=Needs.LIMITS)
def quote(context: Context, *values: object) -> str:
    """Put the text of each value in double quotes, as Go writes a string; nil is left out."""
    texts = texts_of(context, values)
    return join_texts(context, " ", (_quoted(context, text) for text in texts))


@function("squote", "func(...interface{}) string", needs=Needs.LIMITS)
def squote(context: Context, *values: object) -> str:
    """Put the text of each value in single quotes, which are not escaped; nil is left out."""
    return join_texts(context, " ", (f"'{text}'" for text in texts_of(context, values)))


@function("cat", "func(...interface{}) string", needs=Needs.LIMITS)
def cat(context: Context, *values: object) -> str:
    """Put the texts of all values but nil side by side."""
    return join_texts(context, " ", texts_of(context, values))


def _quoted(context: Context, text: str) -> str:
    quoted = ['"']
    for start in range(0, len(text), _STRETCH):
        context.check_deadline()
        quoted.append(go_quote(text[start : start + _STRETCH])[1:-1])
    return "".join((*quoted, '"'))
