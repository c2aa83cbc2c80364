"""The form's controller; docs/design/form.md has the core it stands on."""
