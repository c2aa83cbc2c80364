"""The deadline of a render excludes pauses of the process."""

import time

import pytest

from lynq.template import Deadline, Environment, Limits, TemplateError, render, render_object
from lynq.template.errors import LimitError

SPAN = 0.04
PAUSE = 3 * SPAN
LONG_AGO = 30.0


def work(deadline: Deadline) -> float:
    """Work until the deadline, and return the elapsed time."""
    began = time.monotonic()
    while (took := time.monotonic() - began) < LONG_AGO:
        try:
            deadline.check()
        except LimitError:
            break
    return took


def test_check_fails_after_the_deadline() -> None:
    assert SPAN / 2 <= work(Deadline(SPAN)) < LONG_AGO


def test_pause_of_the_process_does_not_count() -> None:
    deadline = Deadline(SPAN)
    time.sleep(PAUSE)
    deadline.check()
    assert work(deadline) < LONG_AGO


def test_second_pause_of_the_process_does_not_count() -> None:
    deadline = Deadline(SPAN)
    for _ in range(2):
        time.sleep(PAUSE)
        deadline.check()


def test_deadline_is_extended_by_slow_functions() -> None:
    deadline = Deadline(SPAN)
    deadline.extend(LONG_AGO)
    assert deadline.at > time.monotonic() + LONG_AGO - SPAN


def test_error_names_the_operation_and_the_time_limit() -> None:
    deadline = Deadline(0.0, "printing")
    with pytest.raises(LimitError, match=r"printing took longer than 0\.0 s"):
        deadline.check()


def test_manifest_renders_after_a_pause_within_one_deadline() -> None:
    environment = Environment(limits=Limits(seconds=SPAN)).within_one_deadline()
    time.sleep(PAUSE)
    made = render_object({"a": "{{ .uid }}", "b": "{{ upper .uid }}"}, {"uid": "x"}, environment)
    assert made == {"a": "x", "b": "X"}


def test_strings_of_a_manifest_share_one_deadline() -> None:
    loop = "{{ range until 90000 }}{{ end }}"
    with pytest.raises(TemplateError, match="rendering took longer") as refused:
        render_object({"data": {str(number): loop for number in range(1000)}}, {})
    assert refused.value.field
    assert refused.value.field.startswith("data.")


def test_fields_after_a_generated_key_are_rendered() -> None:
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


def test_template_continues_after_a_generated_key() -> None:
    source = '{{ $key := genPrivateKey "dsa" }}{{ range until 9 }}{{ . }}{{ end }}'
    assert render(source, {}, Environment(limits=Limits(seconds=SPAN))) == "012345678"
