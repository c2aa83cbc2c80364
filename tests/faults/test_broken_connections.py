"""Connections to the API server that are dead without an error, or no longer trusted."""

import ssl
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from certificates import Authority
from faults.recording_proxy import recording_proxy
from lynq.kube import Client, ClientOptions, load_config
from operated.builders import has_plan, wait_for_object
from operated.environment import FORMS, Environment, config_map
from operated.failover import candidate
from operated.running_operator import running_operator, wait_for_node_ready


async def test_silent_watch_is_opened_again(
    env: Environment, kubeconfig: Path, tmp_path: Path
) -> None:
    """A load balancer may keep the connection of a watch open that the API server has lost."""
    env.set_rows(("acme", 1, "pro"))
    options = ClientOptions(watch_silence=1.0)
    async with recording_proxy(kubeconfig) as proxy:
        config = load_config(kubeconfig=proxy.kubeconfig(tmp_path))
        async with (
            Client.connect(config, options=options) as client,
            running_operator(replace(env, client=client)),
        ):
            await env.create_hub()
            await env.create_form()
            await wait_for_node_ready(env, "acme-web")
            proxy.silence_watches()
            changed = {"spec": {"configMaps": [config_map("now {{ .plan }}")]}}
            await env.patch(FORMS, "web", changed)
            await wait_for_object(env, "acme-settings", has_plan("now pro"))


async def test_standby_follows_a_rotation_of_the_certificate_authority(
    env: Environment, kubeconfig: Path, tmp_path: Path
) -> None:
    env.set_rows(("acme", 1, "pro"))
    file, tls = tmp_path / "ca.crt", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def rotate() -> None:
        authority = Authority()
        file.write_bytes(authority.certificate)
        tls.load_cert_chain(authority.sign("kubernetes", "127.0.0.1").write(tmp_path))

    rotate()
    async with recording_proxy(kubeconfig, tls) as proxy:
        config = load_config(kubeconfig=proxy.kubeconfig(tmp_path, file))
        async with AsyncExitStack() as leading, Client.connect(config) as client:
            await leading.enter_async_context(candidate(env))
            await env.create_hub()
            await env.create_form()
            await wait_for_node_ready(env, "acme-web")
            async with candidate(replace(env, client=client)) as standby:
                await standby.context.synced()
                rotate()
                proxy.disconnect()
                assert proxy.resource_writes() == []
                await leading.aclose()
                await env.patch(FORMS, "web", {"spec": {"configMaps": [config_map("new")]}})
                await wait_for_object(env, "acme-settings", has_plan("new"))
                assert proxy.resource_writes()
