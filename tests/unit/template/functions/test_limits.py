"""No function exceeds the limits of a render, whatever its arguments."""

from contextlib import suppress
from time import thread_time

import pytest

from lynq.template import ErrorKind, TemplateError, render

A_MEBIBYTE = '{{ $mib := repeat 1048576 "x" }}'
A_LIST = "{{ $long := until 100000 }}"
# Thirty nested maps, each of them twice in the next: a billion leaves in a few bytes.
A_BOMB = '{{ $m := dict "a" 1 }}{{ range until 30 }}{{ $m = dict "a" $m "b" $m }}{{ end }}'
A_LOOP = '{{ $m := dict "a" 1 }}{{ $_ := set $m "self" $m }}'


@pytest.mark.parametrize(
    "template",
    [
        '{{ repeat 1048577 "x" }}',
        '{{ repeat 9223372036854775807 "x" }}',
        '{{ repeat 524289 "é" }}',
        '{{ indent 1048576 "x" }}',
        '{{ nindent 9223372036854775807 "x" }}',
        A_MEBIBYTE + '{{ replace "x" "xx" $mib }}',
        A_MEBIBYTE + '{{ replace "" "-" $mib }}',
        A_MEBIBYTE + '{{ join "," (list $mib $mib) }}',
        A_MEBIBYTE + "{{ cat $mib $mib }}",
        A_MEBIBYTE + "{{ quote $mib }}",
        A_MEBIBYTE + "{{ squote $mib $mib }}",
        A_MEBIBYTE + "{{ toJson (list $mib) }}",
        A_MEBIBYTE + '{{ wrapWith 1 "\\n" $mib }}',
        A_MEBIBYTE + '{{ splitList "" $mib }}',
        A_MEBIBYTE + '{{ split "x" $mib }}',
        A_MEBIBYTE + '{{ splitn "x" 200000 $mib }}',
        A_MEBIBYTE + '{{ fromJson (printf "[%s]" (replace "x" "1," (trunc 500000 $mib))) }}',
        "{{ until 100001 }}",
        "{{ until -9223372036854775807 }}",
        "{{ untilStep 0 9223372036854775807 1 }}",
        "{{ seq 9223372036854775806 }}",
        "{{ seq -9223372036854775807 1 9223372036854775806 }}",
        A_LIST + "{{ append $long 1 }}",
        A_LIST + "{{ prepend $long 1 }}",
        A_LIST + "{{ concat $long $long }}",
        A_BOMB + "{{ deepCopy $m }}",
        A_BOMB + "{{ toJson $m }}",
        A_BOMB + "{{ toPrettyJson $m }}",
        A_BOMB + '{{ join "," (list $m) }}',
        A_BOMB + "{{ toString $m }}",
        A_LOOP + "{{ deepCopy $m }}",
        A_LOOP + "{{ toJson $m }}",
        A_LOOP + "{{ toRawJson $m }}",
        A_LOOP + "{{ merge (deepCopy (dict)) $m | toString }}",
        A_LOOP + '{{ $n := dict "a" 1 }}{{ $_ := set $n "self" $n }}{{ mergeOverwrite $n $m }}',
        '{{ fromJson (repeat 5000 "[") }}',
    ],
)
def test_value_over_the_limit_fails_before_it_is_built(template: str) -> None:
    with pytest.raises(TemplateError) as refused:
        render(template, {})
    assert refused.value.kind is ErrorKind.LIMIT
    # Once of three times: a garbage collection of all that other tests have left takes a second.
    assert any(_seconds_of(template) < 1 for _ in range(3))


@pytest.mark.parametrize(
    "template",
    [
        A_MEBIBYTE + "{{ snakecase $mib | len }}",
        A_MEBIBYTE + "{{ camelcase $mib | len }}",
        A_MEBIBYTE + "{{ title $mib | len }}",
        A_MEBIBYTE + '{{ snakecase (replace "xx" "x1" $mib) | len }}',
        A_MEBIBYTE + '{{ wrap 1 (replace "xx" "x " $mib) | len }}',
        '{{ swapcase (repeat 500000 "é") | len }}',
        '{{ kebabcase (repeat 500000 "é") | len }}',
        '{{ upper (repeat 500000 "ß") | len }}',
        A_LIST + "{{ uniq $long | len }}",
        A_LIST + "{{ uniq (chunk 1 $long) | len }}",
        A_LIST + "{{ has -1 $long }}",
        A_LIST + "{{ sortAlpha $long | len }}",
        A_BOMB + "{{ deepEqual $m (dict) }}",
        A_BOMB + "{{ $n := $m }}{{ deepEqual $m $n }}",
        A_LOOP + "{{ deepEqual $m $m }}",
        A_LOOP + '{{ $n := dict "a" 1 }}{{ $_ := set $n "self" $n }}{{ deepEqual $m $n }}',
        "{{ mulf " + "1e300 " * 5000 + "}}",
        "{{ mulf " + "1e-300 " * 5000 + "}}",
        '{{ add (repeat 1000000 "1") (printf "%s.0" (repeat 1000000 "1")) }}',
    ],
)
def test_slow_function_stops_at_the_deadline(template: str) -> None:
    assert any(_seconds_of(template) < 1 for _ in range(3))


def _seconds_of(template: str) -> float:
    started = thread_time()
    with suppress(TemplateError):
        render(template, {})
    return thread_time() - started
