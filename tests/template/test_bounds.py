"""Functions of dates, patterns, versions and URLs fail early for inputs that would take long."""

import pytest

from lynq.template import Environment, ErrorKind, SeededRandom, TemplateError, render

ENVIRONMENT = Environment(now=0, random=SeededRandom(b"bounds"))


@pytest.mark.parametrize(
    "source",
    [
        '{{ regexReplaceAll "" (repeat 1048576 "a") "xxxxxxxxx" }}',
        '{{ regexFindAll "" (repeat 1048576 "a") -1 }}',
        '{{ regexFindAll "a.*?b|a" (repeat 1000000 "a") -1 }}',
        '{{ regexMatch "(a{0,30}){0,30}b" (repeat 1000000 "a") }}',
        '{{ regexMatch (repeat 1025 "a?") "" }}',
        r'{{ regexFind (repeat 150 "[\\pL\\pN]+?") (repeat 500000 "é") }}',
        '{{ regexQuoteMeta (repeat 600000 ".") }}',
        '{{ date (repeat 5000 "1") now }}',
        '{{ mustToDate "2006" (repeat 5000 "1") }}',
        '{{ mustDateModify (repeat 5000 "1ns") now }}',
        '{{ semverCompare (repeat 5000 "1 ") "1" }}',
        '{{ semver (repeat 5000 "1") }}',
        '{{ urlParse (repeat 70000 "a") }}',
        '{{ urlJoin (dict "path" (repeat 1000000 "?")) }}',
        '{{ shuffle (repeat 1000000 "a") }}',
        '{{ range until 25 }}{{ htpasswd "a:b" "c" }}{{ end }}',
    ],
)
def test_slow_call_fails_with_a_limit_error(source: str) -> None:
    with pytest.raises(TemplateError) as refused:
        render(source, {}, ENVIRONMENT)

    assert refused.value.kind is ErrorKind.LIMIT


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{{ regexMatch "^(a+)+$" (printf "%s!" (repeat 500000 "a")) }}', "false"),
        ('{{ regexReplaceAll "a" (repeat 5000 "ab") "" | len }}', "5000"),
        ('{{ regexMatch "(é|ü){20}" (repeat 20 "é") }}', "true"),
    ],
)
def test_regular_expression_runs_in_linear_time(source: str, expected: str) -> None:
    assert render(source, {}, ENVIRONMENT) == expected
