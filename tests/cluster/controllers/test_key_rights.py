"""The loader of the installation key with the rights that an API server grants or refuses."""

from lynq.api import LynqNode, Metadata, NodeSpec
from lynq.api.installation_key import InstallationKey, Keyless, MissingKey
from lynq.controllers.installation_key import CurrentKey, KeyLoader
from lynq.kube.resource import SECRETS
from operated.environment import Environment
from rights import bind_role

NAME = "key"
SIGNED = LynqNode(
    metadata=Metadata(name="a", namespace="b", annotations={"lynq.sh/signature": "0"}),
    spec=NodeSpec(uid="a", template_ref="web"),
)


def loader(env: Environment, user: str, *nodes: LynqNode) -> KeyLoader:
    async def listed() -> list[LynqNode]:
        return list(nodes)

    client = env.client.acting_as(user)
    return KeyLoader(client, env.namespace, NAME, CurrentKey(), nodes=listed)


async def test_rights_decide_what_the_loader_states(env: Environment) -> None:
    named = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [NAME], "verbs": ["get"]}
    create = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}
    reader, creator = f"reader-{env.namespace}", f"creator-{env.namespace}"
    await bind_role(env.client, reader, [named], namespace=env.namespace, user=reader)
    await bind_role(env.client, creator, [named, create], namespace=env.namespace, user=creator)

    stranger = await loader(env, "stranger").load()
    assert isinstance(stranger, MissingKey)
    assert "grant the operator get and create" in stranger.problem
    never = await loader(env, reader).load()
    assert isinstance(never, Keyless)
    assert "grant the operator create" in never.problem
    assert isinstance(await loader(env, reader, SIGNED).load(), MissingKey)

    created = await loader(env, creator).load()
    assert isinstance(created, InstallationKey)
    assert await loader(env, reader, SIGNED).load() == created
    await env.client.delete(SECRETS, NAME, env.namespace)
    short = {"metadata": {"name": NAME, "namespace": env.namespace}, "stringData": {"key": "x"}}
    await env.client.create(SECRETS, short)
    truncated = await loader(env, reader).load()
    assert isinstance(truncated, MissingKey)
    assert "must have 32 bytes" in truncated.problem
