"""Flow: a template that gives up, and one that says hello."""

from lynq.template.errors import FunctionError
from lynq.template.functions.signature import function


@function("fail", "func(string) (string, error)")
def fail(message: str) -> str:
    """Fail the render with a message of the template's own."""
    raise FunctionError(message)


@function("hello", "func() string")
def hello() -> str:
    """Greet."""
    return "Hello!"
