"""Random applies and patches of two managers, on both API servers.

What holds for every history is checked on both of them. That both have the same objects, managers
and errors after the same history is checked beside the real one.
"""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.conftest import Server
from contract.manifests import WIDGET_DEFINITION, WIDGETS, Object, config_map
from contract.recording import ObjectPath, Placeholders, comparable
from contract.replay import different_fields
from lynq.kube import Client, errors
from lynq.kube.resource import CONFIG_MAPS
from memory.api_server import MemoryApiServer

MANAGERS = st.sampled_from(["one", "two"])
VALUES = st.sampled_from(["1", "2"])
KEYS = st.sampled_from(["a", "b", "c"])
MAPS = st.dictionaries(KEYS, VALUES, max_size=3)
PARTS = st.lists(
    st.builds(lambda name, value: {"name": name, "value": value}, KEYS, VALUES),
    max_size=3,
    unique_by=lambda part: part["name"],
)
SPECS = st.fixed_dictionaries(
    {"size": st.sampled_from([1, 2])},
    optional={
        "parts": PARTS,
        "tags": st.lists(VALUES, unique=True),
        "words": st.lists(VALUES, max_size=2),
        "labels": MAPS.filter(bool),
        "free": st.dictionaries(KEYS, VALUES | st.lists(VALUES, max_size=2), min_size=1),
    },
)

_names = (f"random-{number}" for number in itertools.count())


def _config_map(data: dict[str, str], labels: dict[str, str]) -> Object:
    return config_map("", data=data, labels=labels)


def _map_patches(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(KEYS, st.none() | values, max_size=3)


CONFIG_MAP_MANIFESTS = st.builds(_config_map, MAPS, MAPS)
CONFIG_MAP_PATCHES = st.builds(
    lambda data, labels: {"data": data, "metadata": {"labels": labels}},
    st.none() | _map_patches(VALUES),
    st.none() | _map_patches(VALUES),
)
WIDGET_MANIFESTS = st.builds(
    # Not empty: each apply of an empty map gives a custom object a new version, and one that
    # empties a map of the schema is rejected, because the map becomes null.
    lambda spec, labels: {"metadata": {"labels": labels}, "spec": spec},
    SPECS,
    MAPS.filter(bool),
)
WIDGET_PATCHES = st.builds(
    lambda spec, labels: {"metadata": {"labels": labels}, "spec": spec},
    SPECS
    | st.fixed_dictionaries({}, optional={"parts": st.none(), "labels": _map_patches(VALUES)}),
    _map_patches(VALUES),
)


def histories(manifests: Any, patches: Any) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Writes by two managers; the first one creates the object."""
    applies = st.tuples(st.just("apply"), MANAGERS, manifests, st.booleans())
    merges = st.tuples(st.just("patch"), MANAGERS, patches, st.just(value=False))
    more = st.lists(applies | merges, min_size=1, max_size=6)
    return st.builds(lambda first, rest: [first, *rest], applies, more)


KINDS = {
    "ConfigMap": (CONFIG_MAPS, histories(CONFIG_MAP_MANIFESTS, CONFIG_MAP_PATCHES)),
    "Widget": (WIDGETS, histories(WIDGET_MANIFESTS, WIDGET_PATCHES)),
}


async def carried_out(
    client: Client, kind: str, history: list[tuple[Any, ...]], namespace: str
) -> list[Any]:
    """Carry out a history on a new object; return the answers in comparable form."""
    resource, _ = KINDS[kind]
    placeholders = Placeholders()
    placeholders.add_namespace(namespace)
    name = next(_names)
    answers: list[Any] = []
    for verb, manager, body, force in history:
        try:
            if verb == "apply":
                metadata = {**body["metadata"], "name": name, "namespace": namespace}
                manifest = {**body, "metadata": metadata}
                obj = await client.apply(resource, manifest, manager=manager, force=force)
            else:
                obj = await client.patch(resource, name, body, namespace, manager=manager)
        except errors.ApiError as error:
            causes = {(cause.field, cause.reason) for cause in error.causes}
            answers.append((error.code, error.status.reason, sorted(causes)))
            continue
        obj["metadata"]["name"] = "random"
        obj.pop("status", None)
        path = ObjectPath("", "", resource.plural, "", "")
        answers.append(comparable(placeholders, path, obj))
    return answers


REPEATED = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.usefixtures("widgets")
@pytest.mark.parametrize("kind", ["ConfigMap", "Widget"])
@REPEATED
@given(data=st.data())
async def test_applied_values_are_the_values_of_the_object(
    client: Client, namespace: str, kind: str, data: st.DataObject
) -> None:
    resource, strategy = KINDS[kind]
    history = data.draw(strategy)
    *_, (_, manager, body, _) = [write for write in history if write[0] == "apply"]
    await carried_out(client, kind, history, namespace)
    name = next(_names)
    metadata = {**body["metadata"], "name": name, "namespace": namespace}
    manifest = {**body, "metadata": metadata}
    applied = await client.apply(resource, manifest, manager=manager, force=True)
    again = await client.apply(resource, manifest, manager=manager)
    assert again == applied
    for key, value in (manifest.get("data") or {}).items():
        assert applied["data"][key] == value


@pytest.mark.usefixtures("widgets")
@pytest.mark.parametrize("server", [pytest.param("real", marks=pytest.mark.server)], indirect=True)
@pytest.mark.parametrize("kind", ["ConfigMap", "Widget"])
@REPEATED
@given(data=st.data())
async def test_both_servers_answer_a_random_history_alike(
    server: Server, namespace: str, kind: str, data: st.DataObject
) -> None:
    history = data.draw(KINDS[kind][1])
    expected = await carried_out(server.client, kind, history, namespace)
    memory = MemoryApiServer()
    memory.create_namespace(namespace)
    memory.install(WIDGET_DEFINITION)
    async with memory.client() as client:
        answers = await carried_out(client, kind, history, namespace)
    assert list(different_fields(expected, answers, "")) == []
