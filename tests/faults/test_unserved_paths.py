"""A path that is not served proves no absence: nodes and forms behind it still exist."""

from dataclasses import dataclass

from lynq.api.crds import build as definitions
from lynq.kube import Request, Response, Send
from lynq.kube.crd_install import install_crd
from lynq.kube.errors import NotFound, Status
from lynq.kube.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS
from operated.environment import FORMS, Environment
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import eventually


@dataclass(slots=True)
class UnservedOnce:
    """Answers the first request of a verb and path with a plain 404."""

    verb: str
    suffix: str
    answered: int = 0

    async def __call__(self, request: Request, send: Send) -> Response:
        if request.verb == self.verb and request.path.endswith(self.suffix) and not self.answered:
            self.answered += 1
            status = Status(message="404 page not found", reason="NotFound", code=404)
            raise NotFound(status, verb=request.verb, path=request.path)
        return await send(request)


async def test_plain_404_of_a_delete_hides_no_node(env: Environment) -> None:
    unserved = UnservedOnce("delete", "/lynqnodes/acme-web")
    env.client = env.client.intercepted(unserved)
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
        env.set_rows()
        await env.force_sync()
        await eventually(lambda: unserved.answered)
        # The deletion is repeated: the node is not believed gone.
        await env.wait_for_nodes()


async def test_deleted_form_definition_deletes_no_node(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    async with running_operator(env):
        node = await wait_for_node_ready(env, "acme-web")
        crd = next(
            definition
            for definition in definitions()
            if definition["metadata"]["name"] == FORMS.name
        )
        form = await env.get(FORMS, "web")
        await env.client.delete(CUSTOM_RESOURCE_DEFINITIONS, FORMS.name)
        try:
            await env.wait_for_deletion(CUSTOM_RESOURCE_DEFINITIONS, FORMS.name)
            await env.nodes_stay("acme-web", seconds=1.5)
        finally:
            await install_crd(env.client, crd)
        # The definition is back, its forms are not.
        await env.nodes_stay("acme-web", seconds=3)
        await env.create_form(**form["spec"])
        env.set_rows(("acme", 1, "gold"))

        async def is_updated() -> bool:
            await env.force_sync()
            settings = await env.get(CONFIG_MAPS, "acme-settings")
            return bool(settings["data"]["plan"] == "gold")

        await eventually(is_updated, within=20, every=1)
        assert (await env.nodes())["acme-web"]["metadata"]["uid"] == node["metadata"]["uid"]
