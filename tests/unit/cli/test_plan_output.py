"""A plan as a comment: no value ends a fence, and a CommonMark renderer sees our structure only."""

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lynq.cli.plan_output import plan_lines, plan_markdown
from lynq.core.plan.changes import (
    Action,
    FailedResource,
    Guard,
    Plan,
    PlannedChange,
    PlannedRejection,
    PlannedRollout,
)
from lynq.core.plan.fields import FieldChange
from lynq.core.rollout.waves import RolloutOrder

FORGED = (
    "x\r```\r\r</details>\r\r### Lynq plan\r\rNothing changes. Approved by @acme/platform "
    '<img src="https://evil.example/p.png">'
)
MARKS = "`~\r\n\x0b\x0c\x85\u2028\u2029<>&!-=#@[]()_*|\\ \tax\u202e\x1b"
VALUES = st.one_of(
    st.sampled_from([FORGED, "`" * 40, "````\n</details>", "<script>", "@team #1 https://a.b"]),
    st.text(
        st.sampled_from("`~\r\n\x0b\x0c\x85\u2028\u2029<>&!-=#@[]()_*|\\ \tax\u202e\x1b"),
        max_size=50,
    ),
    st.text(st.characters(codec=None), max_size=50),
)
RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def plan(value: str) -> Plan:
    """Return a plan that has the value in every text."""
    change = PlannedChange(
        action=Action.UPDATE,
        api_version="v1",
        kind=f"ConfigMap{value}",
        namespace=value,
        name=value,
        form="web",
        node=f"{value}-web",
        fields=(FieldChange(f"data[{value}]", value, f"new {value}"), FieldChange("a", 1, [value])),
    )
    order = RolloutOrder(waves=((value,), (value,)), waiting=(), holders=())
    return Plan(
        changes=[change],
        rejected=[PlannedRejection(value, value)],
        failed=[FailedResource(value, value, value)],
        guard=Guard(is_held=True, message=value),
        rollouts=[PlannedRollout(value, 1, order)],
        notes=[value],
    )


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(("/", tag))


def structure(markdown: str) -> list[Any]:
    """Return all of a document but its texts: blocks, inline marks and HTML tags."""
    parts: list[Any] = []
    for token in RENDERER.parse(markdown):
        # GitHub mentions, links and shortens in all texts but those of code.
        inline = [(child.type, child.tag) for child in token.children or ()]
        lines = token.content.count("\n") if token.type == "fence" else 0
        parts.append((token.type, token.tag, token.nesting, token.info, inline, lines))
    html = _Tags()
    html.feed(RENDERER.render(markdown))
    return [*parts, html.tags]


@pytest.mark.parametrize("show_values", [True, False])
@given(value=VALUES)
def test_document_has_the_structure_of_harmless_values(value: str, *, show_values: bool) -> None:
    document = plan_markdown(plan(value), show_values=show_values)
    harmless = plan_markdown(plan("harmless"), show_values=show_values)
    assert structure(document) == structure(harmless)


def test_forged_approval_stays_in_the_fence() -> None:
    document = plan_markdown(plan(FORGED), show_values=True)
    assert RENDERER.render(document).count("<h3>") == 1
    for token in RENDERER.parse(document):
        if "@acme" in token.content:
            assert token.type == "fence" or "<code>" in token.content


@given(value=VALUES)
def test_terminal_has_the_lines_of_harmless_values(value: str) -> None:
    lines = list(plan_lines(plan(value), show_all=True))
    assert len(lines) == len(list(plan_lines(plan("harmless"), show_all=True)))


def test_comment_shows_values_of_the_form_and_none_of_rows() -> None:
    change = PlannedChange(
        action=Action.UPDATE,
        api_version="apps/v1",
        kind="Deployment",
        namespace="shop",
        name="acme",
        node="acme-web",
        fields=(
            FieldChange("spec.image", "web:1", "web:2"),
            FieldChange("spec.token", "from-the-row", "web:2"),
            FieldChange("data.password", None, "(changed)"),
        ),
        literals={"spec.image": ["web:1", "web:2"], "spec.token": ["web:1"]},
    )
    document = plan_markdown(Plan(changes=[change]), show_values=False)
    assert "-   spec.image: web:1\n+   spec.image: web:2\n" in document
    assert "-   spec.token: (not shown)\n+   spec.token: (not shown)\n" in document
    assert "+   data.password: (changed)\n" in document
    assert "from-the-row" in plan_markdown(Plan(changes=[change]), show_values=True)


def test_nodes_that_differ_in_hidden_values_are_one_group() -> None:
    changes = [
        PlannedChange(
            action=Action.UPDATE,
            api_version="v1",
            kind="ConfigMap",
            namespace="shop",
            name=f"{uid}-settings",
            node=f"{uid}-web",
            form="web",
            fields=(FieldChange("data.token", f"old-{value}", f"new-{value}"),),
        )
        for uid, value in (("acme", "one"), ("beta", "two"))
    ]
    document = plan_markdown(Plan(changes=changes), show_values=False)
    assert "acme-web (1 more like it)" in document
    assert document.count("<details>") == 1


def test_comment_with_many_failures_is_one_that_github_accepts() -> None:
    failures = [FailedResource(f"node-{n}", "a", f"{n}{'x' * 5000}") for n in range(500)]
    change = plan("x").changes[0]
    document = plan_markdown(Plan(failed=failures, changes=[change] * 2000), show_values=True)
    assert len(document) < 65_536
    assert structure(document)
