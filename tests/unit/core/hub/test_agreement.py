"""The hub agrees with the sources about rows, and with the node about variables."""

from hypothesis import given
from hypothesis import strategies as st

from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.plan import FormCandidate, PlanInputs, plan_hub
from lynq.core.hub.row_values import RowValues, row_variables
from lynq.core.node.variables import variables_of
from lynq.sources import Query
from lynq.sources.rows import RowLayout, SourceColumn, active_rows
from unit.core.hub.fixtures import NOON, ARow, a_form, a_hub, resource

TEXT = st.text(st.characters(codec="utf-8"))


@given(TEXT, st.dictionaries(TEXT, TEXT))
def test_node_and_hub_have_equal_variables(host: str, extras: dict[str, str]) -> None:
    values = RowValues.of(ARow("acme", extras, host_or_url=host))
    node = DesiredNode(a_hub(), a_form(), values).new(NOON)
    variables = row_variables(values, hub="shop", form="web")
    assert variables.items() <= variables_of(node).items()


def test_rows_of_a_source_can_be_planned() -> None:
    query = Query(table="t", uid="u", activate="a", extras={"plan": "p"})
    layout = RowLayout.of(query, [SourceColumn(name, "text") for name in query.columns])
    page = [("acme", "1", "gold", None), ("gone", "0", "gold", None), (None, "yes", "", None)]
    form = a_form("web", resource(name_template="{{ .uid }}-{{ .plan }}"))
    plan = plan_hub(
        PlanInputs(
            hub=a_hub(), forms=[FormCandidate(form)], rows=active_rows(layout, page), nodes=[]
        ),
        NOON,
    )
    [creation] = plan.creates
    assert creation.node.metadata.annotations["lynq.sh/extra"] == '{"plan":"gold"}'
    assert creation.node.spec.config_maps[0].name_template == "acme-gold"
    assert [rejection.reason for rejection in plan.screened.rejections] == ["EmptyUid"]


def test_row_that_was_too_large_to_be_read_is_rejected_with_its_size() -> None:
    plan = plan_hub(
        PlanInputs(
            hub=a_hub(),
            forms=[FormCandidate(a_form("web"))],
            rows=[ARow("acme", {"plan": ""}, oversize=10_000_000)],
            nodes=[],
        ),
        NOON,
    )
    assert not plan.creates
    [rejection] = plan.screened.rejections
    assert rejection.reason == "ValuesTooLarge"
    assert "10000000 bytes" in rejection.message
