"""What a change would do: the changes of objects, their fields, totals and the guard's verdict."""
