"""Go's text/template with sprig, exact, safe and fast.

    >>> render("{{ .uid | upper }}", {"uid": "acme"})
    'ACME'

Row values are data and are never parsed. Every failure is a `TemplateError`.
"""

from lynq.template.analysis import referenced_variables
from lynq.template.engine import compile_template, render
from lynq.template.environment import Environment, RandomSource, SeededRandom, UnavailableRandom
from lynq.template.errors import ErrorKind, TemplateError
from lynq.template.functions.signature import Needs
from lynq.template.limits import Deadline, Limits
from lynq.template.manifest import called_functions, is_repeatable, is_slow, render_object
from lynq.template.redaction import failing_variable, redacted_message

__all__ = [
    "Deadline",
    "Environment",
    "ErrorKind",
    "Limits",
    "Needs",
    "RandomSource",
    "SeededRandom",
    "TemplateError",
    "UnavailableRandom",
    "called_functions",
    "compile_template",
    "failing_variable",
    "is_repeatable",
    "is_slow",
    "redacted_message",
    "referenced_variables",
    "render",
    "render_object",
]
