"""Go's text/template with sprig, exact, safe and fast."""
