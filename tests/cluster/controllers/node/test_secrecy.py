"""What a Secret holds is in the Secret, and nowhere else that the operator writes."""

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from cluster.controllers.node.making import (
    NODE,
    delete_node,
    edit,
    is_told,
    make_node,
    mark,
    of_kind,
    want,
)
from cluster.controllers.operating import (
    is_gone,
    node_is_ready,
    node_of,
    operating,
    resource_is,
)
from cluster.controllers.stage import NODES, Object, Stage
from lynq.kube.resource import EVENTS, SECRETS

WORD = "hunter2hunter2"
NUMBER = "8675309867"


def secret(**parts: Any) -> Object:
    return of_kind("secret", {"apiVersion": "v1", "kind": "Secret"} | parts)


async def words(stage: Stage, logs: list[Any]) -> str:
    """Return everything that people can read."""
    events = (await stage.client.list(EVENTS, stage.namespace)).items
    status = (await node_of(stage, NODE)).get("status", {})
    assert logs
    assert events
    return json.dumps([events, status]) + repr(logs)


REFUSED = {
    "no base64": secret(data={"password": "{{ .plan }}"}),
    "no text": secret(stringData={"password": int(NUMBER)}),
    "no registry": secret(
        type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": "{{ .plan }}"}
    ),
    "no key": secret(stringData={"no key {{ .plan }}": "{{ .plan }}", "a/b": "{{ .plan }}"}),
    "no template": secret(stringData={"password": "{{ .plan | fromJson | toYaml | atoi }}"}),
    "no such function value": secret(stringData={"password": "{{ index .plan 99 }}"}),
    "no such field": secret(stringdata={"password": "{{ .plan }}"}, data=["{{ .plan }}"]),
    "type": secret(type="kubernetes.io/tls", stringData={"x": "{{ .plan }}"}),
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.replace(" ", "-"))
@pytest.mark.parametrize("strategy", ["apply", "merge"])
async def test_a_refused_secret_tells_nothing_of_its_contents(
    stage: Stage, case: str, strategy: str
) -> None:
    with capture_logs() as logs:
        async with operating(stage):
            wish = REFUSED[case] | {"patchStrategy": strategy}
            await make_node(stage, secrets=[wish], plan=WORD)
            found = await resource_is(stage, NODE, "secret", "Failed")
            await is_told(stage, found["reason"], about=NODE)
        said = await words(stage, logs)
    assert WORD not in said
    assert NUMBER not in said


async def test_a_secret_lives_and_goes_without_a_word_of_its_contents(stage: Stage) -> None:
    wish = secret(stringData={"password": "{{ .plan }}"}, immutable=False)
    with capture_logs() as logs:
        async with operating(stage):
            await make_node(stage, secrets=[wish], plan=WORD)
            await node_is_ready(stage, NODE)
            # Drift, conflict, refused as immutable, adopted, removed.
            await edit(
                stage,
                "secret",
                {"stringData": {"password": WORD + "x"}, "immutable": True},
                resource=SECRETS,
            )
            await resource_is(stage, NODE, "secret", "Conflicted")
            await want(stage, secrets=[wish | {"conflictPolicy": "Force"}])
            await mark(stage, extra=json.dumps({"plan": WORD + "y"}))
            await resource_is(stage, NODE, "secret", "Failed")
            said = await words(stage, logs)
            await delete_node(stage)
            await is_gone(stage, NODES, NODE)
        said += json.dumps((await stage.client.list(EVENTS, stage.namespace)).items) + repr(logs)
    assert WORD not in said
