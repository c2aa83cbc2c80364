"""Go's regular expressions on RE2, which has the same author and nearly the same syntax."""
