"""Package time of Go: moments with nanoseconds in any year, durations, zones and layouts."""
