"""The hub controller: reads rows, plans with the hub's core, and writes LynqNodes."""
