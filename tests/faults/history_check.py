"""Checks a recorded history against its model: each deletion, and the state after a convergence."""

import base64
from collections.abc import Iterator

from faults.history_model import OBSERVED, UIDS, HistoryModel, Place
from faults.history_recorder import PAUSED, PROTECT, Deletion, Key, Recorder
from operated.environment import NODES, Object

LATE = 1.0
"""Seconds by which one watch may be later than another one."""
_OF_CLUSTER = "kube-root-ca.crt"


def name_of_tenant(key: Key) -> tuple[str, str]:
    """Return the uid and the rest of an object's name."""
    uid, _, rest = key[2].partition("-")
    return uid, rest


def check_deletions(model: HistoryModel, recorder: Recorder, *, since: float) -> list[str]:
    """Return what is wrong with the deletions after a time."""
    deletions = [deletion for deletion in recorder.deletions if deletion.at >= since]
    nodes: dict[str, list[Deletion]] = {}
    for deletion in deletions:
        if deletion.key[0] == NODES.kind:
            nodes.setdefault(deletion.key[2], []).append(deletion)
    problems = []
    for deletion in deletions:
        if deletion.uid in model.deleted_by_test:
            continue
        if deletion.key[0] == NODES.kind:
            problem = _problem_of_node(model, recorder, deletion)
        else:
            problem = _problem_of_child(model, recorder, deletion, nodes)
        if problem:
            problems.append((deletion, problem))
    return [f"{deletion.key}: deleted although {text}" for deletion, text in problems]


def _problem_of_node(model: HistoryModel, recorder: Recorder, deletion: Deletion) -> str:
    uid, form = name_of_tenant(deletion.key)
    for name in (PROTECT, PAUSED):
        periods = recorder.annotated[deletion.key[2], name]
        if any(period.covers(deletion.at, OBSERVED) for period in periods):
            return f"the node had {name}"
    if any(period.covers(deletion.at, OBSERVED) for period in model.paused[form]):
        return "its form was paused"
    if model.removals.permit("form", form, deletion.at):
        return ""
    if any(period.covers(deletion.at, OBSERVED) for period in model.paused["hub"]):
        return "the hub was paused"
    if model.removals.permit("row", uid, deletion.at):
        return ""
    return "its row and form were present, or not absent for confirmAfter"


def _problem_of_child(
    model: HistoryModel,
    recorder: Recorder,
    deletion: Deletion,
    nodes: dict[str, list[Deletion]],
) -> str:
    kind, namespace, _ = deletion.key
    uid, part = name_of_tenant(deletion.key)
    place: Place = kind, namespace, part
    if deletion.uid in model.foreign.values() or deletion.has_mark("lynq.sh/adopted"):
        return "it belongs to another manager"
    if deletion.has_mark("lynq.sh/orphaned"):
        return "it was retained"
    if any(period.covers(deletion.at, OBSERVED) for period in model.retained.get(place, ())):
        return "its deletionPolicy is Retain"
    if model.removals.permit("place", place, deletion.at):
        return ""
    owner = f"{uid}-{'extra' if part == 'extra' else 'web'}"
    periods = recorder.annotated[owner, PROTECT]
    for node in nodes.get(owner, ()):
        if node.at > deletion.at + LATE:
            continue
        is_kept = any(
            period.covers(deletion.at, OBSERVED) and period.covers(node.at, OBSERVED)
            for period in periods
        )
        return "its node was protected" if is_kept else ""
    return "its entry was in the form and its node was not deleted"


def differences_of_end(model: HistoryModel, recorder: Recorder) -> list[str]:
    """Return in what the cluster differs from the model after a convergence."""
    return [*_nodes(model, recorder), *_children(model, recorder)]


def _nodes(model: HistoryModel, recorder: Recorder) -> Iterator[str]:
    forms = ("web", "extra") if model.has_extra_form else ("web",)
    expected = {f"{uid}-{form}" for uid in active(model) for form in forms}
    nodes = {key[2]: obj for key, obj in recorder.objects.items() if key[0] == NODES.kind}
    for name in expected ^ nodes.keys():
        yield f"LynqNode {name}: {'missing' if name in expected else 'left behind'}"
    for name, node in nodes.items():
        conditions = node.get("status", {}).get("conditions", [])
        ready = [item["status"] for item in conditions if item["type"] == "Ready"]
        generation = node["metadata"]["generation"]
        if "deletionTimestamp" in node["metadata"]:
            yield f"LynqNode {name}: being deleted"
        elif ready != ["True"] or node["status"]["observedGeneration"] != generation:
            yield f"LynqNode {name}: not ready: {conditions}"


def active(model: HistoryModel) -> list[str]:
    return [uid for uid in UIDS if model.tenants[uid].is_active]


def _expected(model: HistoryModel) -> dict[Key, Object | None]:
    """Return the data of all objects that must exist; None where any will do."""
    expected: dict[Key, Object | None] = {}
    for uid in active(model):
        plan = model.tenants[uid].plan
        text = model.text.replace("{{ .plan }}", plan)
        data: dict[str, Object] = {
            "settings": {"plan": text},
            "remote": {"plan": text},
            "kept": {"plan": plan},
            "secret": {"plan": base64.b64encode(text.encode()).decode()},
        }
        if uid in model.foreign and not model.entries["settings"].renamed:
            data["settings"]["keep"] = "me"
        for name, entry in model.entries.items():
            if entry.present:
                kind, namespace, part = entry.place
                expected[kind, namespace, f"{uid}-{part}"] = data.get(name)
        if model.has_extra_form:
            expected["ConfigMap", model.namespace, f"{uid}-extra"] = {"plan": plan}
    return expected


def _children(model: HistoryModel, recorder: Recorder) -> Iterator[str]:
    expected = _expected(model)
    for key, data in expected.items():
        obj = recorder.objects.get(key)
        if obj is None:
            yield f"{key}: missing"
        elif "deletionTimestamp" in obj["metadata"]:
            yield f"{key}: being deleted"
        elif data is not None and obj.get("data") != data:
            yield f"{key}: {obj.get('data')}, expected {data}"
        elif "lynq.sh/orphaned" in obj["metadata"].get("labels", {}):
            yield f"{key}: retained, but desired"
    for key, obj in recorder.objects.items():
        if key not in expected and key[0] != NODES.kind and key[2] != _OF_CLUSTER:
            yield from _left_behind(model, key, obj)


def _left_behind(model: HistoryModel, key: Key, obj: Object) -> Iterator[str]:
    metadata = obj["metadata"]
    if metadata["uid"] in model.foreign.values():
        marks = [*metadata.get("labels", {}), *metadata.get("annotations", {})]
        if obj["data"] != {"keep": "me"} or marks or "ownerReferences" in metadata:
            yield f"{key}: not released"
    elif "lynq.sh/orphaned" in metadata.get("labels", {}):
        if not model.was_retained(name_of_tenant(key)[1]):
            yield f"{key}: retained without the policy"
    elif key not in model.stripped:
        yield f"{key}: left behind"
