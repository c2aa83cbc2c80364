"""Whatever the rows are: names are valid and unique, nothing is lost, order is irrelevant."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from lynq.api.naming import NodePair, is_label_value, is_subdomain, node_name
from lynq.core.guard.rejections import VALUES_LIMIT
from lynq.core.guard.row_screening import ExistingNodes, ScreenedRows, screen_rows
from unit.core.guard.rows import Row

# Few letters and many dashes: names that meet are what we are after.
UIDS = st.none() | st.text("ab-.A_", max_size=5) | st.text(max_size=70)
FORMS = st.sets(
    st.from_regex(r"[ab](-[ab]){0,3}", fullmatch=True) | st.sampled_from(["f" * 190, "f" * 252]),
    max_size=4,
)
ROWS = st.lists(
    st.builds(
        Row, UIDS, values=st.sampled_from("xyz"), size=st.sampled_from([1, VALUES_LIMIT + 1])
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
def situations(draw: st.DrawFn) -> tuple[list[Row], set[str], ExistingNodes]:
    rows, forms = draw(ROWS), draw(FORMS)
    return rows, forms, draw(existing_nodes(rows, forms))


Situation = tuple[list[Row], set[str], ExistingNodes]


@given(situations())
def test_every_accepted_name_is_valid_and_belongs_to_one_pair(situation: Situation) -> None:
    judgement = screen_rows(*situation)
    for name, pair in judgement.nodes.items():
        assert is_subdomain(name)
        assert is_label_value(pair.uid)
        assert name == node_name(pair)
        assert judgement.rows[pair.uid].size <= VALUES_LIMIT
    assert len(set(judgement.nodes.values())) == len(judgement.nodes)


@given(situations())
def test_nothing_is_lost(situation: Situation) -> None:
    judgement = screen_rows(*situation)
    assert judgement.desired == len(judgement.nodes) + judgement.missing
    assert (judgement.rejected_rows > 0) == bool(judgement.rejections)
    assert judgement.kept.isdisjoint(judgement.nodes.values())


@given(situations(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_forms_is_irrelevant(situation: Situation, random: Random) -> None:
    rows, forms, known = situation
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert screen_rows(shuffled, sorted(forms, reverse=True), known) == screen_rows(
        rows, forms, known
    )


@given(situations())
def test_a_good_uid_is_never_let_go_while_its_row_is_there(situation: Situation) -> None:
    rows, forms, known = situation
    judgement = screen_rows(rows, forms, known)
    there = {row.uid for row in rows if row.uid and is_label_value(row.uid)}
    answered = judgement.kept | set(judgement.nodes.values())
    assert answered == {NodePair(uid, form) for uid in there for form in forms}


def carried_out(judgement: ScreenedRows[Row], before: ExistingNodes) -> ExistingNodes:
    made = {**before.owners, **judgement.nodes}
    return ExistingNodes(made, {uid: {row.digest} for uid, row in judgement.rows.items()})


@given(situations())
def test_nothing_flaps_once_it_is_carried_out(situation: Situation) -> None:
    rows, forms, known = situation
    first = screen_rows(rows, forms, known)
    assert screen_rows(rows, forms, carried_out(first, known)) == first
