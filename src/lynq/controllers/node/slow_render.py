"""Renders in background threads what takes too long for the event loop.

Two kinds of renders do. Slow functions generate keys and certificates for seconds; they release the
interpreter lock. Heavy templates compute for up to the time limit of a render, and hold the lock.
Each kind has its own pool, so that neither waits for the other.

Whether a template is heavy depends on its row. A render starts on the event loop with a small
budget; if the budget is not enough, the render is repeated in the background, and the template is
remembered as heavy until a background render is quick.

The threads are daemons: a process that stops does not wait for them.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Condition, Thread
from time import sleep, thread_time
from typing import Final, NamedTuple, TypeAlias

from lynq.api import LynqNode, TResource
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import form_generation
from lynq.controllers.render_journal import RenderJournal
from lynq.core.node.render import Rendered, RenderError
from lynq.template import Deadline

LOOP_SECONDS: Final = 0.01
"""CPU seconds that the render of one resource may take on the event loop."""
NODE_LOOP_SECONDS: Final = 0.02
"""CPU seconds that the renders of one reconcile may take on the event loop."""
_HEAVY_TEMPLATES: Final = 4096
_SLOW_THREADS: Final = 2

PendingRender: TypeAlias = "Future[Rendered]"
"""The render of one object; its exception is a RenderError if it fails."""


class StillRendering(Exception):  # noqa: N818 - a state, not an error
    """A background render of a resource is not finished."""

    def __init__(self, *, is_heavy: bool) -> None:
        super().__init__()
        self.is_heavy = is_heavy


class RenderPool:
    """Threads that render one object at a time, in turns between hubs."""

    def __init__(
        self,
        requeue: Callable[[ObjectKey], None],
        *,
        name: str = "renders",
        threads: int = 1,
        rests: bool = False,
    ) -> None:
        self._requeue = requeue
        self._name = name
        self._max_threads = threads
        self._rests = rests
        self._threads: list[Thread] = []
        self._has_work = Condition()
        self._queues: OrderedDict[str, deque[tuple[PendingRender, Callable[[], Rendered]]]] = (
            OrderedDict()
        )
        self._unfinished: dict[ObjectKey, int] = {}

    def submit(self, node: ObjectKey, hub: str, render: Callable[[], Rendered]) -> PendingRender:
        """Render an object in the background; the node is requeued when all of its are done."""
        pending: PendingRender = Future()
        loop = asyncio.get_running_loop()
        self._unfinished[node] = self._unfinished.get(node, 0) + 1

        def finished(_: PendingRender) -> None:
            # The loop may be closed by then.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._finished, node)

        pending.add_done_callback(finished)
        with self._has_work:
            self._queues.setdefault(hub, deque()).append((pending, render))
            self._has_work.notify()
        if len(self._threads) < self._max_threads:
            thread = Thread(target=self._run, name=self._name, daemon=True)
            self._threads.append(thread)
            thread.start()
        return pending

    def has(self, node: ObjectKey) -> bool:
        """Return whether a render of a node has not finished."""
        return node in self._unfinished

    def close(self) -> None:
        """Cancel the renders that have not started."""
        with self._has_work:
            queues = list(self._queues.values())
            self._queues.clear()
        for queue in queues:
            for pending, _ in queue:
                pending.cancel()

    def _finished(self, node: ObjectKey) -> None:
        left = self._unfinished.pop(node, 1) - 1
        if left > 0:
            self._unfinished[node] = left
        else:
            self._requeue(node)

    def _next(self) -> tuple[PendingRender, Callable[[], Rendered]]:
        with self._has_work:
            self._has_work.wait_for(lambda: self._queues)
            hub, queue = self._queues.popitem(last=False)
            job = queue.popleft()
            if queue:
                self._queues[hub] = queue
            return job

    def _run(self) -> None:
        while True:
            pending, render = self._next()
            if not pending.set_running_or_notify_cancel():
                continue
            started = thread_time()
            try:
                pending.set_result(render())
            except Exception as error:  # noqa: BLE001 - raised by the reader of the result
                pending.set_exception(error)
            if self._rests:
                sleep(thread_time() - started)


class TemplateKey(NamedTuple):
    """The templates of one resource of a form, in one generation of the form."""

    form: ObjectKey
    generation: int | None
    resource_id: str
    with_body: bool

    @classmethod
    def of(cls, node: LynqNode, resource: TResource, *, with_body: bool) -> "TemplateKey":
        """Return the key of a node's resource: the same for all nodes of a form."""
        form = ObjectKey(node.metadata.namespace, node.spec.template_ref)
        return cls(form, form_generation(node), resource.id, with_body)


class HeavyTemplates:
    """Remembers which templates take too long for the event loop."""

    def __init__(self) -> None:
        self._keys: OrderedDict[TemplateKey, None] = OrderedDict()

    def __contains__(self, key: TemplateKey) -> bool:
        """Return whether the templates are rendered in the background."""
        return key in self._keys

    def add(self, key: TemplateKey) -> None:
        """Remember templates that exceeded the budget of the event loop."""
        self._keys[key] = None
        if len(self._keys) > _HEAVY_TEMPLATES:
            self._keys.popitem(last=False)

    def measured(self, key: TemplateKey, render: Callable[[], Rendered]) -> Callable[[], Rendered]:
        """Return the render for a background thread; a quick one is not heavy any more."""

        def measured() -> Rendered:
            started = thread_time()
            rendered = render()
            if thread_time() - started < LOOP_SECONDS:
                self._keys.pop(key, None)
            return rendered

        return measured


class RenderPools:
    """The background renders of all nodes."""

    def __init__(self, requeue: Callable[[ObjectKey], None], journal: RenderJournal) -> None:
        self._requeue = requeue
        self._await_retry: set[ObjectKey] = set()
        self.journal = journal
        self.slow = RenderPool(requeue, name="keys", threads=_SLOW_THREADS)
        # Heavy renders hold the interpreter lock. One thread that rests as long as it works leaves
        # most of the time to the event loop.
        self.heavy = RenderPool(requeue, rests=True)
        self.heavy_templates = HeavyTemplates()

    def may_retry(self, node: ObjectKey) -> bool:
        """Return whether suspects of a node may be rendered; if not, it is requeued then."""
        if self.journal.allows_retries:
            return True
        if not self._await_retry:
            self.journal.when_retries_are_allowed(self._requeue_waiting)
        self._await_retry.add(node)
        return False

    def _requeue_waiting(self) -> None:
        while self._await_retry:
            self._requeue(self._await_retry.pop())

    def is_rendering(self, node: ObjectKey) -> bool:
        """Return whether a render of a node is waiting or under way."""
        return self.slow.has(node) or self.heavy.has(node)

    def close(self) -> None:
        """Cancel the renders that have not started."""
        self.slow.close()
        self.heavy.close()


class LoopTime:
    """The time on the event loop that is left for the renders of one reconcile."""

    def __init__(self, seconds: float = NODE_LOOP_SECONDS) -> None:
        self._left = seconds

    def try_render(self, render: Callable[[Deadline], Rendered | None]) -> Rendered | None:
        """Render within the time that is left; None if that is not enough. Raises RenderError."""
        if self._left <= 0:
            return None
        deadline = Deadline(min(self._left, LOOP_SECONDS))
        started = thread_time()
        try:
            return render(deadline)
        except RenderError:
            if deadline.has_expired:
                return None
            raise
        finally:
            self._left -= thread_time() - started
