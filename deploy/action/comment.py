"""Runs `lynq plan -o markdown` and posts the result as one comment, which later runs update.

Text of rows and of the cluster passes here on its way to a comment and to the log of the step: the
plan has escaped it, a failure is put into a fence, and the runner gets no command from it. The exit
code is that of the plan if it failed; changes, and deletions that the guard would hold, are no
failure of the pull request.
"""

import json
import os
import secrets
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from lynq.api.text import fenced, shown_lines

MARK = "<!-- lynq plan -->"
SUCCESS = {0, 1, 5}
"""Exit codes of a plan that was made: nothing changes, something changes, the guard would hold."""
PAGE_SIZE = 100
MAX_FAILURE = 20_000
"""Characters of a failure that are shown. Of backticks, the fences around them have twice as many,
and GitHub allows 65,536."""


class Comments:
    """The comments of one pull request."""

    def __init__(self, api: str, graphql: str, repository: str, number: int, token: str) -> None:
        self._api = f"{api}/repos/{repository}"
        self._graphql = graphql
        self._number = number
        self._token = token

    def post(self, body: str) -> None:
        """Update the comment of an earlier run, or create one.

        Everybody may write a comment with the mark. Only one of the token's own author is updated:
        another author could edit it again after the run.
        """
        text = f"{MARK}\n{body}"
        if existing := self._existing():
            self._send("PATCH", f"{self._api}/issues/comments/{existing}", {"body": text})
        else:
            self._send("POST", f"{self._api}/issues/{self._number}/comments", {"body": text})

    def _author(self) -> str:
        """Return the login of the token: a user, or an app such as `github-actions[bot]`."""
        # `GET /user` is not allowed for the token of a workflow.
        answer = self._send("POST", self._graphql, {"query": "query { viewer { login } }"})
        return str(answer["data"]["viewer"]["login"])

    def _existing(self) -> int | None:
        author = self._author()
        page = 1
        while True:
            query = f"per_page={PAGE_SIZE}&page={page}"
            url = f"{self._api}/issues/{self._number}/comments?{query}"
            comments = self._send("GET", url)
            for comment in comments:
                # The author of a deleted account is null.
                login = (comment["user"] or {}).get("login")
                if login == author and (comment["body"] or "").startswith(MARK):
                    return int(comment["id"])
            if len(comments) < PAGE_SIZE:
                return None
            page += 1

    def _send(self, method: str, url: str, body: dict[str, str] | None = None) -> Any:  # noqa: ANN401
        request = Request(  # noqa: S310 - the address of the API is set by the runner
            url,
            method=method,
            data=json.dumps(body).encode() if body else None,
            headers={
                "Authorization": f"Bearer {self._token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
            },
        )
        with urlopen(request, timeout=30) as response:  # noqa: S310 - as above
            return json.load(response)


def run_plan(arguments: list[str]) -> tuple[int, str, str]:
    """Run the plan; return its exit code, the comment and the notes."""
    plan = subprocess.run(  # noqa: S603 - the arguments are those of the workflow
        # -P: the folder of the step is the pull request, which must not provide modules.
        [sys.executable, "-P", "-m", "lynq", "plan", *arguments, "-o", "markdown"],
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        check=False,
    )
    # Bytes, because a text would end lines at carriage returns.
    return (
        plan.returncode,
        plan.stdout.decode(errors="replace"),
        plan.stderr.decode(errors="replace"),
    )


def log(text: str) -> None:
    """Print a text in which the runner sees no workflow commands."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}\n{text}\n::{token}::", flush=True)


def failure_comment(notes: str) -> str:
    """Return the comment about a plan that could not be made."""
    lines = shown_lines(notes.strip())[:MAX_FAILURE].split("\n")
    return "\n".join(["### Lynq plan failed", "", *fenced(lines)])


def main() -> int:
    """Run the plan and post it."""
    code, comment, notes = run_plan(shlex.split(os.environ["LYNQ_ARGUMENTS"]))
    log(f"{notes}{comment}")
    succeeded = code in SUCCESS
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text())
    number = event.get("pull_request", {}).get("number")
    if number is None:
        print("Not a pull request: no comment.", file=sys.stderr)
        return 0 if succeeded else code
    comments = Comments(
        os.environ.get("GITHUB_API_URL", "https://api.github.com"),
        os.environ.get("GITHUB_GRAPHQL_URL", "https://api.github.com/graphql"),
        os.environ["GITHUB_REPOSITORY"],
        number,
        os.environ["GITHUB_TOKEN"],
    )
    comments.post(comment if succeeded else failure_comment(notes))
    return 0 if succeeded else code


if __name__ == "__main__":
    sys.exit(main())
