"""A render is charged for its work, not for what its process stands still for."""

import time

import pytest

from lynq.template import Environment, Limits, TemplateError, render, render_object
from lynq.template.errors import LimitError
from lynq.template.limits import Deadline

SPAN = 0.04
PAUSE = 3 * SPAN
LONG_AGO = 30.0


def work(deadline: Deadline) -> float:
    """Be busy until the time is used up; return for how long."""
    began = time.monotonic()
    while (took := time.monotonic() - began) < LONG_AGO:
        try:
            deadline.check()
        except LimitError:
            break
    return took


def test_work_ends_when_its_time_is_used_up() -> None:
    assert SPAN / 2 <= work(Deadline(SPAN)) < LONG_AGO


def test_a_pause_is_not_charged() -> None:
    deadline = Deadline(SPAN)
    time.sleep(PAUSE)
    deadline.check()
    assert work(deadline) < LONG_AGO


def test_neither_is_a_second_one() -> None:
    deadline = Deadline(SPAN)
    for _ in range(2):
        time.sleep(PAUSE)
        deadline.check()


def test_what_is_slow_on_purpose_is_left_out() -> None:
    deadline = Deadline(SPAN)
    deadline.prolong(LONG_AGO)
    assert deadline.at > time.monotonic() + LONG_AGO - SPAN


def test_it_says_what_took_how_long() -> None:
    deadline = Deadline(0.0, "printing")
    with pytest.raises(LimitError, match=r"printing took longer than 0\.0 s"):
        deadline.check()


def test_strings_of_a_manifest_share_their_time_and_survive_a_pause() -> None:
    environment = Environment(limits=Limits(seconds=SPAN)).within_one_deadline()
    time.sleep(PAUSE)
    made = render_object({"a": "{{ .uid }}", "b": "{{ upper .uid }}"}, {"uid": "x"}, environment)
    assert made == {"a": "x", "b": "X"}


def test_a_bomb_in_many_strings_has_the_time_of_one() -> None:
    turns = "{{ range until 90000 }}{{ end }}"
    with pytest.raises(TemplateError, match="rendering took longer") as refused:
        render_object({"data": {str(number): turns for number in range(1000)}}, {})
    assert refused.value.field
    assert refused.value.field.startswith("data.")


def test_fields_after_a_key_are_rendered() -> None:
    made = render_object(
        {
            "kind": "Secret",
            "stringData": {"key": '{{ genPrivateKey "dsa" }}', "name": "{{ .uid }}"},
        },
        {"uid": "acme"},
        Environment(limits=Limits(seconds=SPAN)),
    )
    texts = made["stringData"]
    assert isinstance(texts, dict)
    assert texts["name"] == "acme"


def test_the_rest_of_a_template_after_a_key_is_rendered() -> None:
    source = '{{ $key := genPrivateKey "dsa" }}{{ range until 9 }}{{ . }}{{ end }}'
    assert render(source, {}, Environment(limits=Limits(seconds=SPAN))) == "012345678"
