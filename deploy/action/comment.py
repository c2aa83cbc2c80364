"""Runs `lynq plan -o markdown` and posts the result as one comment, which later runs update.

The standard library is enough: the step runs before anything else is installed. The exit code is
that of the plan if it failed; changes, and deletions that the guard would hold, are no failure of
the pull request.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

MARK = "<!-- lynq plan -->"
SUCCESS = {0, 1, 5}
"""Exit codes of a plan that was made: nothing changes, something changes, the guard would hold."""
PAGE_SIZE = 100


class Comments:
    """The comments of one pull request."""

    def __init__(self, api: str, repository: str, number: int, token: str) -> None:
        self._api = f"{api}/repos/{repository}"
        self._number = number
        self._token = token

    def post(self, body: str) -> None:
        """Update the comment of an earlier run, or create one."""
        text = f"{MARK}\n{body}"
        if existing := self._existing():
            self._send("PATCH", f"{self._api}/issues/comments/{existing}", {"body": text})
        else:
            self._send("POST", f"{self._api}/issues/{self._number}/comments", {"body": text})

    def _existing(self) -> int | None:
        page = 1
        while True:
            query = f"per_page={PAGE_SIZE}&page={page}"
            url = f"{self._api}/issues/{self._number}/comments?{query}"
            comments = self._send("GET", url)
            for comment in comments:
                if comment["body"].startswith(MARK):
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


def main() -> int:
    """Run the plan and post it."""
    arguments = shlex.split(os.environ["LYNQ_ARGUMENTS"])
    plan = subprocess.run(  # noqa: S603 - the arguments are those of the workflow
        [sys.executable, "-m", "lynq", "plan", *arguments, "-o", "markdown"],
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stderr.write(plan.stderr)
    print(plan.stdout)
    succeeded = plan.returncode in SUCCESS
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text())
    number = event.get("pull_request", {}).get("number")
    if number is None:
        print("Not a pull request: no comment.", file=sys.stderr)
        return 0 if succeeded else plan.returncode
    failure = f"### Lynq plan failed\n\n```\n{plan.stderr.strip()}\n```"
    comments = Comments(
        os.environ.get("GITHUB_API_URL", "https://api.github.com"),
        os.environ["GITHUB_REPOSITORY"],
        number,
        os.environ["GITHUB_TOKEN"],
    )
    comments.post(plan.stdout if succeeded else failure)
    return 0 if succeeded else plan.returncode


if __name__ == "__main__":
    sys.exit(main())
