"""Package fmt: how Go prints values, with every verb, flag and odd corner."""
