"""Package net/url of Go: what it accepts as a URL, what it refuses, and how it writes one."""
