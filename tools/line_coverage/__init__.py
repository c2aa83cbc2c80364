"""Records which lines of Lynq each file of tests executes, and compares them with changes."""
