"""Properties of screening: names are valid and unique, counts add up, order is irrelevant."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from lynq.api.naming import NodePair, is_label_value, is_subdomain, node_name
from lynq.api.source import VALUES_LIMIT
from lynq.core.guard.row_screening import ExistingNodes, ScreenedRows, screen_rows
from unit.core.guard.rows import Row

# Few letters and many dashes make name collisions likely.
UIDS = st.none() | st.text("ab-.A_", max_size=5) | st.text(max_size=70)
FORMS = st.sets(
    st.from_regex(r"[ab](-[ab]){0,3}", fullmatch=True) | st.sampled_from(["f" * 190, "f" * 252]),
    max_size=4,
)
ROWS = st.lists(
    st.builds(
        Row,
        UIDS,
        values=st.sampled_from("xyz"),
        size=st.sampled_from([1, VALUES_LIMIT + 1]),
        is_active=st.sampled_from([True, True, False]),
    ),
    max_size=12,
)


@st.composite
def existing_nodes(draw: st.DrawFn, rows: list[Row], forms: set[str]) -> ExistingNodes:
    uids = sorted({row.uid for row in rows if row.uid})
    pairs = [NodePair(uid, form) for uid in uids for form in sorted(forms)]
    pairs = [pair for pair in pairs if is_subdomain(node_name(pair))]
    chosen = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    digests = {row.digest for row in draw(st.sets(st.sampled_from(rows)))} if rows else set()
    reflected = {row.uid: digests & {row.digest} for row in rows if row.uid}
    return ExistingNodes({node_name(pair): pair for pair in sorted(chosen)}, reflected)


@st.composite
def screening_inputs(draw: st.DrawFn) -> tuple[list[Row], set[str], ExistingNodes]:
    rows, forms = draw(ROWS), draw(FORMS)
    return rows, forms, draw(existing_nodes(rows, forms))


ScreeningInput = tuple[list[Row], set[str], ExistingNodes]


@given(screening_inputs())
def test_every_accepted_name_is_valid_and_belongs_to_one_pair(inputs: ScreeningInput) -> None:
    screened = screen_rows(*inputs)
    for name, pair in screened.nodes.items():
        assert is_subdomain(name)
        assert is_label_value(pair.uid)
        assert name == node_name(pair)
        assert screened.rows[pair.uid].size <= VALUES_LIMIT
        assert screened.rows[pair.uid].is_active
    assert len(set(screened.nodes.values())) == len(screened.nodes)


@given(screening_inputs())
def test_counts_add_up(inputs: ScreeningInput) -> None:
    screened = screen_rows(*inputs)
    assert screened.desired == len(screened.nodes) + screened.missing
    assert (screened.rejected_rows > 0) == bool(screened.rejections)
    assert screened.rejected_pairs.isdisjoint(screened.nodes.values())


@given(screening_inputs())
def test_each_row_but_one_of_a_usable_uid_is_unidentifiable(inputs: ScreeningInput) -> None:
    rows, forms, existing = inputs
    screened = screen_rows(rows, forms, existing)
    usable = {row.uid for row in rows if row.uid and is_label_value(row.uid)}
    invalid = {uid for uid in usable if not all(map(is_subdomain, _names(uid, forms)))}
    assert screened.unidentifiable == len(rows) - len(usable - invalid)


def _names(uid: str, forms: set[str]) -> list[str]:
    return [node_name(NodePair(uid, form)) for form in forms]


@given(screening_inputs(), st.randoms(use_true_random=False))
def test_order_of_rows_and_forms_is_irrelevant(inputs: ScreeningInput, random: Random) -> None:
    rows, forms, existing = inputs
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert screen_rows(shuffled, sorted(forms, reverse=True), existing) == screen_rows(
        rows, forms, existing
    )


@given(screening_inputs())
def test_every_pair_of_valid_uid_is_accepted_or_protected(inputs: ScreeningInput) -> None:
    rows, forms, existing = inputs
    screened = screen_rows(rows, forms, existing)
    valid_uids = {row.uid for row in rows if row.uid and is_label_value(row.uid)}
    covered = screened.rejected_pairs | set(screened.nodes.values())
    assert covered == {NodePair(uid, form) for uid in valid_uids for form in forms}


@given(screening_inputs())
def test_pair_of_a_uid_without_active_row_is_unclear(inputs: ScreeningInput) -> None:
    rows, forms, existing = inputs
    screened = screen_rows(rows, forms, existing)
    active = {row.uid for row in rows if row.is_active}
    assert screened.unclear_pairs <= screened.rejected_pairs
    assert {pair.uid for pair in screened.unclear_pairs}.isdisjoint(active)
    assert {pair.uid for pair in screened.rejected_pairs - screened.unclear_pairs} <= active


def applied(screened: ScreenedRows[Row], before: ExistingNodes) -> ExistingNodes:
    owners = {**before.owners, **screened.nodes}
    return ExistingNodes(owners, {uid: {row.digest} for uid, row in screened.rows.items()})


@given(screening_inputs())
def test_screening_is_stable_once_applied(inputs: ScreeningInput) -> None:
    rows, forms, existing = inputs
    first = screen_rows(rows, forms, existing)
    assert screen_rows(rows, forms, applied(first, existing)) == first
