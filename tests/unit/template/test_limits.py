"""No template exceeds its limits on time and memory, and the error names the limit."""

import time
import tracemalloc

import pytest

from lynq.template import Environment, Limits, TemplateError, render

# Each limit is far below the bomb's use; the margin is for a busy machine under tracemalloc.
SECONDS = 3.0
BYTES = 64 * 1024 * 1024

LAUGHS = (
    "{{ $a := list 1 1 1 1 1 1 1 1 1 1 }}" + "{{ $a = list $a $a $a $a $a $a $a $a $a $a }}" * 9
)
SELF = '{{ $d := dict }}{{ $_ := set $d "self" $d }}'

BOMBS = {
    "repeat": '{{ repeat 1000000000 "x" }}',
    "repeat of repeat": '{{ repeat 1000000 "x" | repeat 1000000 }}',
    "until": "{{ until 1000000000 }}",
    "untilStep": "{{ untilStep 0 1000000000 1 }}",
    "seq": "{{ seq 1000000000 }}",
    "indent": '{{ indent 1000000000 "x" }}',
    "nindent": '{{ nindent 1000000000 "x" }}',
    "width": '{{ printf "%999999d%999999d" 1 2 }}',
    "precision": '{{ printf "%.999999f%.999999f" 1.0 2.0 }}',
    "loops": "{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}",
    "loop over a number": "{{ range 1000000000000 }}{{ end }}",
    "recursion": '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
    "recursion that branches": '{{ define "a" }}{{ template "a" }}{{ template "a" }}{{ end }}'
    '{{ template "a" }}',
    "recursion of the root": '{{ template "template" . }}',
    "printing itself": SELF + "{{ $d }}",
    "toJson of itself": SELF + "{{ toJson $d }}",
    "deepCopy of itself": SELF + "{{ deepCopy $d }}",
    "printing a billion items": LAUGHS + "{{ $a }}",
    "toJson of a billion items": LAUGHS + "{{ toJson $a }}",
    "deepCopy of a billion items": LAUGHS + "{{ deepCopy $a }}",
    "doubling a text": '{{ $a := "x" }}{{ range until 100 }}{{ $a = print $a $a }}{{ end }}',
    "doubling a list": "{{ $a := until 9 }}{{ range until 100 }}{{ $a = concat $a $a }}{{ end }}",
    "replace": '{{ $a := repeat 1000000 "x" }}{{ replace "x" $a $a }}',
    "replace of nothing": '{{ $a := repeat 1000000 "x" }}{{ replace "" $a $a }}',
    "join": '{{ join (repeat 1000000 "x") (until 1000) }}',
    "regexReplaceAll": '{{ regexReplaceAll "" (repeat 100000 "a") (repeat 1000 "b") }}',
    "keeping texts": "{{ $l := list }}{{ range until 400 }}"
    '{{ $l = append $l (repeat 1000000 "x") }}{{ end }}',
    "keeping copies": '{{ $b := repeat 1000000 "x" }}{{ $l := list }}{{ range until 400 }}'
    "{{ $l = append $l (upper $b) }}{{ end }}",
    "many slow calls": '{{ $b := repeat 1000000 "x" }}' + "{{ sha512sum $b }}" * 3000,
    "output": "{{ .long }}" * 3000,
    "output in a loop": "{{ range until 5000 }}{{ $.long }}{{ end }}",
    "parentheses": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "blocks": "{{ if .long }}" * 3000 + "{{ end }}" * 3000,
    "else if": "{{ if 0 }}" + "{{ else if 0 }}" * 3000 + "{{ end }}",
    "actions": "{{ 1 }}" * 30_000,
    "source": "x" * 300_000,
    "depth": "{{ $l := list }}{{ range until 10000 }}{{ $l = list $l }}{{ end }}{{ $l }}",
    "random text": "{{ randAlphaNum 1000000000 }}",
    "pipeline": "{{ 1 " + "| print " * 3000 + "}}",
    "arguments": "{{ print " + "1 " * 100_000 + "}}",
    "actions with much in them": '{{ .long | upper | default "a" | quote }}' * 3000,
    "printing a list often": "{{ $l := list (repeat 900000 .long) }}" + "{{ $l }}" * 3000,
    "keeping short lists": "{{ $d := dict }}{{ range until 99999 }}"
    "{{ $_ := set $d (toString .) (until 2000) }}{{ end }}",
    "keeping short texts": "{{ range until 300 }}{{ $d := dict }}{{ range until 300 }}"
    '{{ $_ := set $d (toString .) (repeat 2000 "x") }}{{ end }}{{ end }}',
    "keeping lists of long texts": "{{ $d := dict }}{{ range until 300 }}"
    '{{ $_ := set $d (toString .) (splitList "," (repeat 1000000 "x")) }}{{ end }}',
    "keeping JSON": '{{ $j := printf "[[%s1]]" (repeat 9000 "{},") }}{{ $d := dict }}'
    "{{ range until 9999 }}{{ $_ := set $d (toString .) (fromJson $j) }}{{ end }}",
    "keeping deep copies": '{{ $j := fromJson (printf "[[%s1]]" (repeat 9000 "{},")) }}'
    "{{ $d := dict }}"
    "{{ range until 9999 }}{{ $_ := set $d (toString .) (deepCopy $j) }}{{ end }}",
    "JSON of control characters": '{{ repeat 1000000 "\\x00" | toJson }}',
    "quoting control characters": '{{ repeat 1000000 "\\x00" | printf "%#q" }}',
    "format of many verbs": '{{ printf (repeat 500000 "%1") }}',
    "HTML of HTML": '{{ repeat 70000 "&"' + " | html" * 90 + " }}",
    "JavaScript of control characters": '{{ repeat 1000000 "\\x00" | js }}',
    "slow functions": '{{ htpasswd "a" "b" }}' * 30,
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_bomb_fails_with_its_limit_error(bomb: str) -> None:
    tracemalloc.start()
    started = time.process_time()
    try:
        with pytest.raises(TemplateError) as refused:
            render(bomb, {"long": "x" * 1000})
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert refused.value.kind == "limit"
    assert time.process_time() - started < SECONDS
    assert used < BYTES


def test_long_number_is_parsed_in_linear_time() -> None:
    started = time.process_time()

    with pytest.raises(TemplateError, match=r"integer overflow|illegal number syntax"):
        render("{{ 0x" + "f" * 200_000 + " }}", {})
    assert time.process_time() - started < SECONDS


def test_regular_expression_is_matched_in_linear_time() -> None:
    started = time.process_time()

    assert render('{{ regexMatch "^(a+)+$" .x }}', {"x": "a" * 100_000 + "b"}) == "false"
    assert time.process_time() - started < SECONDS


def test_render_ends_within_a_quarter_of_a_second() -> None:
    endless = "{{ range until 1000 }}" * 3 + "{{ end }}" * 3
    started = time.perf_counter()

    with pytest.raises(TemplateError, match=r"longer than 0\.2 s"):
        render(endless, {}, _patient())
    assert 0.19 < time.perf_counter() - started < SECONDS


def _patient() -> Environment:
    return Environment(limits=Limits(iterations=1_000_000_000, memory=1_000_000_000_000))


def test_limits_are_configurable() -> None:
    small = Environment(limits=Limits(output=10, text=20, items=3))

    assert render("{{ until 3 }}", {}, small) == "[0 1 2]"
    with pytest.raises(TemplateError, match="4 items"):
        render("{{ until 4 }}", {}, small)
    with pytest.raises(TemplateError, match="21 bytes"):
        render('{{ repeat 21 "x" | len }}', {}, small)
    with pytest.raises(TemplateError, match="output of more than 10 bytes"):
        render("{{ .x }}", {"x": "x" * 11}, small)


@pytest.mark.parametrize("depth", [10, 25, 60])
def test_loops_nest_deeper_than_in_python(depth: int) -> None:
    source = (
        "{{ $n := 0 }}" + "{{ range until 1 }}{{ $n = add $n 1 }}" * depth + "{{ end }}" * depth
    )

    assert render(source + "{{ $n }}", {}) == str(depth)
