"""Maps are iterated in the order of their keys, because renders are repeatable."""

from lynq.template import render


def test_keys_are_sorted_by_bytes() -> None:
    template = '{{ keys (dict "b" 1 "é" 2 "Z" 3 "a" 4) | join "," }}'
    assert render(template, {}) == "Z,a,b,é"


def test_keys_of_several_maps_keep_the_order_of_the_maps() -> None:
    assert render('{{ keys (dict "b" 1) (dict "c" 2 "a" 3) | join "," }}', {}) == "b,a,c"


def test_values_are_in_the_order_of_their_keys() -> None:
    assert render('{{ values (dict "b" 1 "a" 2) | join "," }}', {}) == "2,1"


def test_order_of_columns_does_not_affect_output() -> None:
    template = '{{ keys . | join "," }} {{ values . | join "," }}'
    assert render(template, {"x": "1", "b": "2"}) == render(template, {"b": "2", "x": "1"})


def test_set_in_the_root_does_not_change_the_callers_data() -> None:
    row = {"uid": "acme"}
    assert render('{{ $_ := set . "uid" "other" }}{{ .uid }}', row) == "other"
    assert row == {"uid": "acme"}
