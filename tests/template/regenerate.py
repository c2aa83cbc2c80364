"""Regenerate the golden results with the Go oracle, or render single templates; needs Go.

In the folder tests:
    python -m template.regenerate [FAMILY...]         writes golden/FAMILY.json, or all of them
    python -m template.regenerate --ask [NAME=TEXT...]    renders the lines of standard input
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

from template.cases import families, read_cases, results_file

ORACLE = Path(__file__).parent / "oracle"

dumps = partial(json.dumps, ensure_ascii=False)


def ask(questions: Iterable[str]) -> list[dict[str, str]]:
    """Send questions (JSON, one per line) to the oracle, and return its answers in order."""
    # A file, not a pipe: with a fixed clock, Go's runtime never wakes up from an empty pipe.
    with TemporaryFile("w+") as asked:
        asked.writelines(f"{question}\n" for question in questions)
        asked.seek(0)
        answered = subprocess.run(
            ["go", "run", "-tags", "faketime", "."],
            cwd=ORACLE,
            stdin=asked,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return [json.loads(line) for line in answered.stdout.splitlines()]


def regenerate(family: Path) -> None:
    """Write the results file of one case file."""
    cases = list(read_cases(family))
    twice = [name for name, count in Counter(case.name for case in cases).items() if count > 1]
    if twice:
        sys.exit(f"{family.name}: names used twice: {', '.join(twice)}")
    answers = ask(case.question() for case in cases)
    results = zip(cases, answers, strict=True)
    # One line per case, so that a changed result is one changed line in a diff.
    lines = (f"{dumps(case.name)}: {dumps(answer)}" for case, answer in results)
    results_file(family).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main(arguments: list[str]) -> None:
    """Regenerate the named families, or render the templates on standard input."""
    if arguments[:1] == ["--ask"]:
        data = dict(argument.split("=", 1) for argument in arguments[1:])
        templates = [line.rstrip("\n") for line in sys.stdin]
        for answer in ask(json.dumps({"template": text, "data": data}) for text in templates):
            sys.stdout.write(dumps(answer) + "\n")
        return
    for family in families():
        if not arguments or family.stem in arguments:
            regenerate(family)


if __name__ == "__main__":
    main(sys.argv[1:])
