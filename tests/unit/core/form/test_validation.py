"""Errors of a form, with the exact path."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import CreationPolicy, FormSpec
from lynq.api.events import EventReason
from lynq.api.problems import summary
from lynq.core.form.templates import ValidationInterrupted
from lynq.core.form.validation import hub_not_found, validate_form
from unit.core.form.forms import BODY, error_texts, form, no_slash, problems, resource

BAD = "{{ .uid | nope }}"
WRONG = 'line 1: function "nope" not defined'


def test_valid_form_has_no_problem() -> None:
    body = {**BODY, "data": {"host": "{{ .uid }}.example.com"}}
    assert problems(form(resource("a", spec=body), resource("b", depend_ids=("a",)))) == ()


def test_form_without_resources_is_valid() -> None:
    assert problems(form()) == ()


def deep(levels: int) -> dict[str, Any]:
    value: Any = "{{ .uid }}"
    for _ in range(levels):
        value = [value]
    return {**BODY, "data": value}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            form(hub_id=""),
            "spec.hubId: required: name of the LynqHub",
            id="no hubId",
        ),
        pytest.param(
            form(resource("a"), services=(resource("a", spec={**BODY, "kind": "Service"}),)),
            'spec: duplicate id "a" in services[0], configMaps[0]: '
            "ids must be unique across all lists",
            id="one id in two lists",
        ),
        pytest.param(
            form(resource("")),
            "spec: configMaps[0] has no id: an id is required",
            id="empty id",
        ),
        pytest.param(
            form(resource("a", depend_ids=("x",))),
            'spec.configMaps[0].dependIds: "a" depends on "x", but no resource has this id',
            id="unknown dependency",
        ),
        pytest.param(
            form(resource("a", depend_ids=("b",)), resource("b", depend_ids=("a",))),
            "spec.configMaps[0].dependIds: circular dependency detected: a -> b -> a",
            id="cycle",
        ),
        pytest.param(
            form(resource("a"), resource("b", name_template=BAD)),
            f"spec.configMaps[1].nameTemplate: {WRONG}",
            id="name",
        ),
        pytest.param(
            form(resource("a", labels_template={"app.kubernetes.io/name": BAD})),
            f"spec.configMaps[0].labelsTemplate[app.kubernetes.io/name]: {WRONG}",
            id="label",
        ),
        pytest.param(
            form(resource("a", annotations_template={"note": "a\nb\n{{ .uid "})),
            "spec.configMaps[0].annotationsTemplate.note: line 3: unclosed action",
            id="annotation, with line",
        ),
        pytest.param(
            form(resource("a", target_namespace=BAD)),
            f"spec.configMaps[0].targetNamespace: {WRONG}",
            id="namespace",
        ),
        pytest.param(
            form(resource("a", spec={**BODY, "data": {"a.b": [{"c": "x"}, {"c": BAD}]}})),
            f"spec.configMaps[0].spec.data[a.b][1].c: {WRONG}",
            id="manifest",
        ),
        pytest.param(
            form(resource("a", ignore_fields=("$.data", "/data"))),
            'spec.configMaps[0].ignoreFields[1]: "/data" is not a JSONPath',
            id="ignoreFields",
        ),
        pytest.param(
            form(resource("a", spec={"kind": "ConfigMap"})),
            "spec.configMaps[0].spec.apiVersion: required, for example apps/v1",
            id="no apiVersion",
        ),
        pytest.param(
            form(resource("a", spec={"apiVersion": "v1", "kind": 7})),
            "spec.configMaps[0].spec.kind: required, for example Deployment",
            id="kind is not a string",
        ),
        pytest.param(
            form(manifests=(resource("a", spec={"apiVersion": "v1", "kind": "List"}),)),
            "spec.manifests[0].spec.kind: must not be a list: add a resource for each of its items",
            id="List",
        ),
        pytest.param(
            form(resource("a", timeout_seconds=3601)),
            "spec.configMaps[0].timeoutSeconds: must be between 1 and 3600",
            id="timeout",
        ),
        pytest.param(
            form(resource("a", spec=deep(1000))),
            "spec.configMaps[0].spec: nested deeper than 200 levels",
            id="too deep to render",
        ),
        pytest.param(
            form(resource("a", spec={**BODY, "data": {"ca": '{{ (genCA "x" 9).Cert }}'}})),
            "spec.configMaps[0].spec.data.ca: genCA gives another value in every render, so the "
            "resource would be applied again and again; set creationPolicy: Once",
            id="entropy without Once",
        ),
    ],
)
def test_error(spec: FormSpec, expected: str) -> None:
    assert error_texts(spec) == [expected]


def test_entropy_is_allowed_with_creation_policy_once() -> None:
    body = {**BODY, "data": {"ca": '{{ genPrivateKey "ecdsa" }}'}}
    assert problems(form(resource("a", spec=body, creation_policy=CreationPolicy.ONCE))) == ()


def test_text_without_action_is_not_parsed() -> None:
    body = {**BODY, "data": {"a": "}} {% nope %} {"}}
    assert problems(form(resource("a", spec=body))) == ()


def test_all_problems_are_found_at_once() -> None:
    spec = form(
        resource("a", name_template=BAD, depend_ids=("x",), ignore_fields=("/a",)),
        resource("a", spec={}),
        hub_id="",
    )
    assert len(error_texts(spec)) == 7


def test_problems_have_event_reasons() -> None:
    spec = form(resource("a"), resource("a"), resource("b", depend_ids=("x",)))
    assert [problem.event for problem in problems(spec)] == [
        EventReason.DUPLICATE_RESOURCE_IDS,
        EventReason.DEPENDENCY_VALIDATION_FAILED,
    ]
    assert hub_not_found(spec).event is EventReason.HUB_NOT_FOUND
    assert '"shop"' in hub_not_found(spec).message


def test_summary_is_bounded() -> None:
    many = form(*(resource(f"a{number}", name_template=BAD) for number in range(500)))
    message = summary(problems(many))
    assert message.endswith("; and 480 more")
    assert len(message) < 32768


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just(BAD) | st.just("{{ .uid }}"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
def test_templates_are_found_anywhere_in_manifest(value: Any) -> None:
    spec = form(resource("a", spec={**BODY, "data": value}))
    errors = [text for text in error_texts(spec) if WRONG in text]
    assert len(errors) == str(value).count("nope")


def test_number_of_templates_is_limited() -> None:
    many = {f"k{number}": f"{{{{ .uid }}}}{number}" for number in range(2001)}
    (problem,) = problems(form(resource("a", spec={**BODY, "data": many})))
    assert problem.path == "spec"
    assert "2000 different templates" in problem.message
    same = dict.fromkeys(many, "{{ .uid }}")
    assert problems(form(resource("a", spec={**BODY, "data": same}))) == ()


DERIVED = '{{ derivePassword 1 "long" "p" "u" "s" }}'


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        pytest.param({"name_template": DERIVED}, "nameTemplate", id="name"),
        pytest.param({"labels_template": {"a": DERIVED}}, "labelsTemplate.a", id="label"),
        pytest.param({"annotations_template": {"a": DERIVED}}, "annotationsTemplate.a", id="note"),
        pytest.param({"target_namespace": DERIVED}, "targetNamespace", id="namespace"),
    ],
)
@pytest.mark.parametrize("policy", list(CreationPolicy))
def test_slow_function_is_an_error_of_its_resource_in_metadata(
    parts: dict[str, Any], path: str, policy: CreationPolicy
) -> None:
    [problem] = problems(form(resource("a", creation_policy=policy, **parts)))
    assert str(problem) == (
        f"spec.configMaps[0].{path}: derivePassword is too slow here; call it in the manifest only"
    )
    assert problem.resource == "a"


def test_slow_function_is_allowed_in_a_manifest() -> None:
    assert problems(form(resource("a", spec={**BODY, "data": {"a": DERIVED}}))) == ()


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param({"spec": {**BODY, "data": {"a": '{{ env "X" }}'}}}, "a", id="env"),
        pytest.param({"name_template": '{{ expandenv "$X" }}'}, "a", id="expandenv"),
        pytest.param({"name_template": '{{ getHostByName "x" }}'}, "a", id="getHostByName"),
        pytest.param({"ignore_fields": ("/a",)}, "a", id="ignoreFields"),
        pytest.param({"spec": {**BODY, "data": {"a": '{{ bcrypt "x" }}'}}}, "a", id="bcrypt"),
        pytest.param({"name_template": BAD}, "", id="unknown function"),
        pytest.param({"name_template": "{{ .uid"}, "", id="syntax"),
    ],
)
def test_error_that_the_go_operator_accepts_is_limited_to_its_resource(
    parts: dict[str, Any], expected: str
) -> None:
    assert [problem.resource for problem in problems(form(resource("a", **parts)))] == [expected]


def test_templates_of_a_form_have_a_budget_of_tokens() -> None:
    # 1,001 tokens each, or a token that is not closed: a failing template counts, too.
    for text in ("{{ .uid }} " * 200, "{{ .uid }} " * 200 + "{{ nope"):
        data = {f"k{number}": f"{number} {text}" for number in range(70)}
        config_map = resource(spec={**BODY, "data": data})
        last = error_texts(form(config_map))[-1]
        assert last == "spec: templates have more than 64,000 tokens: split the form"
    within = {f"k{number}": "{{ .uid }} " * 200 for number in range(50)}
    assert error_texts(form(resource(spec={**BODY, "data": within}))) == []


def test_validation_ends_when_it_may_not_continue() -> None:
    calls = iter((True, True, False))
    with pytest.raises(ValidationInterrupted):
        validate_form(
            form(resource("a"), resource("b")),
            hub=None,
            check_ignore_field=no_slash,
            may_continue=lambda: next(calls),
        )
