"""Which pod keeps a workload from becoming ready, and why."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from lynq.api.text import one_line

_STARTING: Final = frozenset({"ContainerCreating", "PodInitializing"})
_IMAGE_REASONS: Final = frozenset(
    {"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"}
)
_CRASHED: Final = "CrashLoopBackOff"
_LONGEST: Final = 300


class PodSeverity(IntEnum):
    """How much a pod's state says about the workload; the lowest is the root cause."""

    IMAGE = 0
    CRASH = 1
    WAITING = 2
    UNSCHEDULED = 3
    STARTING = 4
    """Nothing is wrong yet."""


@dataclass(frozen=True, slots=True)
class PodProblem:
    """Why a pod is not ready."""

    severity: PodSeverity
    pod: str
    message: str
    container: str = ""
    image: str = ""
    detail: str = ""


def worst_pod(pods: Iterable[Mapping[str, Any]]) -> PodProblem | None:
    """Return the problem that says most; None if all pods are ready or gone."""
    problems = [problem for pod in pods if _counts(pod) for problem in _problems(pod)]
    return min(problems, key=lambda problem: (problem.severity, problem.pod), default=None)


def _counts(pod: Mapping[str, Any]) -> bool:
    return not pod["metadata"].get("deletionTimestamp")


def _problems(pod: Mapping[str, Any]) -> Iterator[PodProblem]:
    status = pod.get("status") or {}
    name = pod["metadata"]["name"]
    statuses = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    for container in statuses:
        if problem := _container_problem(name, container):
            yield problem
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            text = one_line(condition.get("message") or condition.get("reason") or "", _LONGEST)
            yield PodProblem(
                PodSeverity.UNSCHEDULED, name, f'pod "{name}" cannot be scheduled: {text}'
            )


def _container_problem(pod: str, status: Mapping[str, Any]) -> PodProblem | None:
    container, image = status.get("name", ""), status.get("image", "")
    state = status.get("state") or {}
    waiting, terminated = state.get("waiting"), state.get("terminated")
    if waiting is not None:
        reason = waiting.get("reason") or "Waiting"
        message = f'container "{container}" is waiting: {reason}'
        severity = _severity(reason)
        detail = _exit(status) if severity is PodSeverity.CRASH else ""
        # The message of a pull names registry and image; that of a volume can quote its content.
        if severity is PodSeverity.IMAGE:
            detail = f"image {image}"
        return PodProblem(severity, pod, message, container, image, detail)
    if terminated is not None and terminated.get("exitCode"):
        message = f'container "{container}" terminated: {_ended(terminated)}'
        return PodProblem(PodSeverity.CRASH, pod, message, container, image)
    if not status.get("ready", True) and state.get("running") is not None:
        message = f'container "{container}" runs and is not ready: see its readiness probe'
        return PodProblem(PodSeverity.STARTING, pod, message, container, image, _exit(status))
    return None


def _severity(reason: str) -> PodSeverity:
    if reason in _IMAGE_REASONS:
        return PodSeverity.IMAGE
    if reason == _CRASHED:
        return PodSeverity.CRASH
    return PodSeverity.STARTING if reason in _STARTING else PodSeverity.WAITING


def _exit(status: Mapping[str, Any]) -> str:
    """Return how the container ended the last time, and how often it was restarted."""
    last = (status.get("lastState") or {}).get("terminated")
    if not last:
        return ""
    restarts = status.get("restartCount", 0)
    times = "1 restart" if restarts == 1 else f"{restarts} restarts"
    return f"the last run ended: {_ended(last)}, {times}"


def _ended(terminated: Mapping[str, Any]) -> str:
    reason = terminated.get("reason") or "Error"
    return f"{reason}, exit code {terminated.get('exitCode', 0)}"
