"""The form's controller; docs/design/form.md has the core it stands on."""

from lynq.controllers.form.controller import FormController

__all__ = ["FormController"]
