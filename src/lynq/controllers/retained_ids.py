"""The retained resource ids of every form, as of the last generation that the watch has shown.

Every generation is recorded by the event handler at once. The form controller persists the ids in
the status of the form, from which a new process restores them.
"""

from lynq.api import LynqForm
from lynq.api.metadata import ObjectKey
from lynq.core.form.retained import retained_ids


class RetainedIds:
    """The resource ids of forms whose last deletionPolicy is Retain."""

    def __init__(self) -> None:
        self._ids: dict[ObjectKey, frozenset[str]] = {}

    def of(self, form: ObjectKey) -> frozenset[str]:
        """Return the retained ids of a form, also of one that was just deleted."""
        return self._ids.get(form, frozenset())

    def set(self, form: ObjectKey, ids: frozenset[str]) -> None:
        """Replace the retained ids of a form."""
        if ids:
            self._ids[form] = ids
        else:
            self._ids.pop(form, None)

    def update(self, key: ObjectKey, _: LynqForm | None, new: LynqForm | None) -> None:
        """Record the generation of a form that the watch has shown."""
        # The nodes of a deleted form are finalized later, so its ids stay.
        if new is not None:
            known = self.of(key).union(new.status.retained_ids)
            self.set(key, retained_ids(known, new.spec))
