"""Completion of names from the cluster."""

import asyncio
from pathlib import Path

import pytest

from lynq.cli.completion import cobra_completions
from operated.environment import Environment
from waiting import at_most


async def test_names_of_hubs_forms_and_nodes_are_completed(
    env: Environment, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lynq.cli.completion._SECONDS", 20.0)
    env.set_rows(("acme", 1, "gold"))
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
    where = ["--kubeconfig", str(kubeconfig), "--namespace", env.namespace]

    async def complete(*words: str) -> list[str]:
        lines = await asyncio.to_thread(cobra_completions, [words[0], *where, *words[1:]])
        return lines.splitlines()

    assert await complete("sync", "") == ["hub", ":4"]
    assert await complete("reconcile", "ac") == ["acme-web", ":4"]
    assert await complete("pause", "") == ["hub/hub", "form/web", "node/acme-web", ":4"]
    assert await complete("pause", "form/") == ["form/web", ":4"]
    assert env.namespace in await complete("sync", "--namespace", env.namespace[:8])


@pytest.mark.timing
async def test_unreachable_cluster_delays_for_a_second_at_most(tmp_path: Path) -> None:
    config = tmp_path / "config"
    # 192.0.2.0/24 is reserved: no host answers there.
    config.write_text(
        "current-context: a\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://192.0.2.1'}}]\n"
        "users: [{name: a, user: {}}]\n"
    )
    words = ["sync", "--kubeconfig", str(config), ""]
    with at_most(seconds=3):
        assert await asyncio.to_thread(cobra_completions, words) == ":4\n"
