"""No message of a failed template contains a value of its data, whatever function failed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lynq.template import TemplateError, failing_variable, redacted_message, render, render_object
from lynq.template.functions.table import FUNCTIONS

SLOW = {"derivePassword", "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert"} | {
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "bcrypt",
    "htpasswd",
}
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=6, max_size=40)
SHAPES = ["{{{{ {0} }}}}", "{{{{ range {0} }}}}{{{{ end }}}}", "{{{{ ({0}).field }}}}"]
SHAPES += ["{{{{ range $a, $b := {0} }}}}{{{{ end }}}}", '{{{{ template "x" {0} }}}}']
OTHERS = [".value", '"2006"', "1", '(list "a")', '(dict "a" 1)', ".value", "(atoi .value)"]


def failure(template: str, value: str) -> TemplateError | None:
    try:
        render(template, {"value": value})
    except TemplateError as error:
        return error
    return None


@settings(max_examples=600, deadline=None)
@given(function=st.sampled_from(sorted(FUNCTIONS.keys() - SLOW)), data=st.data())
def test_no_function_shows_a_value_in_its_error(function: str, data: st.DataObject) -> None:
    value = data.draw(VALUES | st.sampled_from(["(hunter2", "{hunter2", "%hunter2", "99hunter2"]))
    arguments = data.draw(st.lists(st.sampled_from(OTHERS), min_size=1, max_size=4))
    shape = data.draw(st.sampled_from(SHAPES))
    error = failure(shape.format(f"{function} {' '.join(arguments)}"), value)
    if error is not None:
        assert value not in redacted_message(error)
        assert value not in failing_variable(error)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ range .value }}{{ end }}", "range can't iterate over a text"),
        ('{{ mustToDate "2006" .value }}', "error calling mustToDate at <mustToDate"),
        ("{{ $x := .value }}{{ mustDateModify $x now }}", 'now> (variable "value")'),
        ("{{ .value | mustFromJson }}", 'at <mustFromJson> (variable "value")'),
        ("{{ .value.field }}", "can't evaluate field field in type interface {} at <.value.field>"),
        ("{{ lt .value 1 }}", "incompatible types for comparison"),
        ('{{ fail "write to sales" }}', "error calling fail: write to sales"),
        ("{{ .other }}", 'map has no entry for key "other"'),
    ],
)
def test_message_names_function_action_and_variable(template: str, message: str) -> None:
    error = failure(template, "hunter2")
    assert error is not None
    assert message in redacted_message(error)
    assert "hunter2" not in redacted_message(error)


def test_variable_of_a_manifest_field_is_named() -> None:
    with pytest.raises(TemplateError) as caught:
        render_object({"data": {"a": "{{ .value | mustFromJson }}"}}, {"value": "hunter2"})
    assert caught.value.field == "data.a"
    assert failing_variable(caught.value) == "value"
