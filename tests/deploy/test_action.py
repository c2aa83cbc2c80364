"""The GitHub Action that posts a plan: its entry point on a recorded pull-request event."""

import asyncio
import json
import os
import re
import runpy
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from deploy.manifests import ROOT
from http_server import serve_http

ACTION = Path(__file__).parents[2] / "deploy" / "action"
BOT = "github-actions[bot]"
EVENT = {"action": "synchronize", "number": 7, "pull_request": {"number": 7}}
FORM: dict[str, Any] = {
    "apiVersion": "operator.lynq.sh/v1",
    "kind": "LynqForm",
    "metadata": {"name": "web"},
    "spec": {
        "hubId": "tenants",
        "configMaps": [
            {
                "id": "settings",
                "nameTemplate": "{{ .uid }}-settings",
                "spec": {"apiVersion": "v1", "kind": "ConfigMap"},
            }
        ],
    },
}
COMMENT = """\
<!-- lynq plan -->
### Lynq plan

```
  + 1 to create: 1 ConfigMap
  note: nothing was validated by an API server
```

<details>
<summary><code>acme-web</code></summary>

```diff
+ create ConfigMap default/acme-settings
```

</details>
"""


class GitHub:
    """The comments of a pull request, as GitHub's API serves them."""

    def __init__(self, *comments: str, authors: Mapping[int, str | None] | None = None) -> None:
        self.comments = dict(enumerate(comments, start=1))
        self.authors = authors or {}
        """By comment, if it is not the bot; None for a deleted account."""
        self.requests: list[str] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        assert request.headers["Authorization"] == "Bearer token"
        if request.path == "/graphql":
            assert (await request.json())["query"] == "query { viewer { login } }"
            return web.json_response({"data": {"viewer": {"login": BOT}}})
        if request.method == "GET":
            first = (int(request.query["page"]) - 1) * 100
            listed = [
                {"id": key, "body": body, "user": self._author(key)}
                for key, body in self.comments.items()
            ]
            return web.json_response(listed[first : first + 100])
        body = (await request.json())["body"]
        key = int(request.path.rpartition("/")[2]) if request.method == "PATCH" else 1000
        self.comments[key] = body
        return web.json_response({"id": key})

    def _author(self, key: int) -> dict[str, str] | None:
        login = self.authors.get(key, BOT)
        return {"login": login} if login else None


async def run(github: GitHub, folder: Path, form: dict[str, Any], event: Any = EVENT) -> int:
    """Run the entry point in the folder of a pull request; return its exit code."""
    return (await run_with_log(github, folder, form, event))[0]


async def run_with_log(
    github: GitHub, folder: Path, form: dict[str, Any], event: Any = EVENT
) -> tuple[int, str]:
    (folder / "form.yaml").write_text(yaml.safe_dump(form))
    (folder / "rows.csv").write_text("uid,activate\nacme,1\n")
    (folder / "event.json").write_text(json.dumps(event))
    async with serve_http(github.handle) as url:
        environment = {
            **os.environ,
            "GITHUB_API_URL": url,
            "GITHUB_GRAPHQL_URL": f"{url}/graphql",
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_REPOSITORY": "shop/tenants",
            "GITHUB_TOKEN": "token",
            "LYNQ_ARGUMENTS": f"-f {folder / 'form.yaml'} --rows {folder / 'rows.csv'}",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(ACTION / "comment.py"),
            env=environment,
            cwd=folder,
            stdout=PIPE,
            stderr=STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()


async def test_first_run_creates_the_comment(tmp_path: Path) -> None:
    github = GitHub("Looks good")
    assert await run(github, tmp_path, FORM) == 0
    assert github.comments[1000] == COMMENT
    assert github.requests[-1] == "POST /repos/shop/tenants/issues/7/comments"


async def test_next_run_updates_the_comment_behind_many_others(tmp_path: Path) -> None:
    github = GitHub(*("Looks good",) * 120, "<!-- lynq plan -->\nold")
    assert await run(github, tmp_path, FORM) == 0
    assert github.comments[121] == COMMENT
    assert len(github.comments) == 121


async def test_failed_plan_is_posted_and_fails_the_step(tmp_path: Path) -> None:
    github = GitHub()
    broken = {**FORM, "spec": {"hubId": "tenants", "configMaps": [{"id": "a", "nope": 1}]}}
    assert await run(github, tmp_path, broken) == 2
    assert "### Lynq plan failed" in github.comments[1000]
    assert "nope" in github.comments[1000]


@pytest.mark.parametrize("event", [{"ref": "refs/heads/main"}])
async def test_push_posts_no_comment(tmp_path: Path, event: Any) -> None:
    github = GitHub()
    assert await run(github, tmp_path, FORM, event) == 0
    assert github.requests == []


async def test_comments_of_other_authors_are_left_alone(tmp_path: Path) -> None:
    mark = "<!-- lynq plan -->\nNothing changes."
    github = GitHub(mark, mark, mark, authors={1: "stranger", 2: None})
    assert await run(github, tmp_path, FORM) == 0
    assert github.comments == {1: mark, 2: mark, 3: COMMENT}
    stranger = GitHub(mark, authors={1: "stranger"})
    assert await run(stranger, tmp_path, FORM) == 0
    assert stranger.comments == {1: mark, 1000: COMMENT}


async def test_failure_stays_in_its_fence(tmp_path: Path) -> None:
    github = GitHub()
    forged = "a\r```\r\r### Lynq plan\r\rApproved by @acme/platform\n```\n<img src=x>"
    resource = {**FORM["spec"]["configMaps"][0], "dependIds": [forged]}
    broken = {**FORM, "spec": {"hubId": "tenants", "configMaps": [resource]}}
    assert await run(github, tmp_path, broken) == 2
    tokens = MarkdownIt("commonmark", {"html": True}).parse(github.comments[1000])
    kinds = [token.type for token in tokens]
    assert kinds == ["html_block", "heading_open", "inline", "heading_close", "fence"]
    assert "@acme" in tokens[-1].content


@given(notes=st.text(st.characters(codec=None), max_size=80))
@example(notes="`" * 100_000)
@example(notes="\U000e0001" * 30_000)
def test_comment_about_a_failure_is_a_heading_and_a_fence(notes: str) -> None:
    comment = runpy.run_path(str(ACTION / "comment.py"))["failure_comment"](notes)
    tokens = MarkdownIt("commonmark", {"html": True}).parse(comment)
    kinds = [token.type for token in tokens]
    assert kinds == ["heading_open", "inline", "heading_close", "fence"]
    assert len(comment) < 65_536


async def test_log_of_the_step_has_no_command_of_a_value(tmp_path: Path) -> None:
    command = "a\n::add-mask::a\n##[add-path]/tmp"
    resource = {**FORM["spec"]["configMaps"][0], "dependIds": [command]}
    broken = {**FORM, "spec": {"hubId": "tenants", "configMaps": [resource]}}
    _, log = await run_with_log(GitHub(), tmp_path, broken)
    stop = re.search(r"^::stop-commands::([0-9a-f]{32})$", log, re.MULTILINE)
    assert stop
    assert log.index(stop[0]) < log.index("add-mask") < log.index(f"\n::{stop[1]}::\n")
    assert "::add-mask" not in [line.strip()[:10] for line in log.split("\n")]


async def test_modules_of_the_pull_request_are_not_imported(tmp_path: Path) -> None:
    for name in ("click", "yaml", "lynq"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)")
    assert await run(GitHub(), tmp_path, FORM) == 0


ACTION_FILE = yaml.safe_load((ACTION / "action.yml").read_text())


def test_action_passes_its_inputs_to_the_entry_point() -> None:
    step = ACTION_FILE["runs"]["steps"][-1]
    assert step["run"].endswith('"$GITHUB_ACTION_PATH/comment.py"')
    assert step["env"]["LYNQ_ARGUMENTS"] == "${{ inputs.arguments }}"
    assert ACTION_FILE["inputs"].keys() == {"arguments", "token"}


def test_action_runs_its_own_commit_with_locked_dependencies() -> None:
    install, plan = (step["run"] for step in ACTION_FILE["runs"]["steps"])
    assert "--require-hashes" in install
    assert "--no-deps" in install
    # A name without a hash would be anybody's package of that name.
    lock = re.search(r'--requirement "\$GITHUB_ACTION_PATH/([^"]+)"', install)
    assert lock
    assert (ACTION / lock[1]).resolve() == ROOT / "deploy" / "requirements.txt"
    assert "lynq==" not in (ACTION / lock[1]).read_text()
    source = re.search(r'PYTHONPATH="\$GITHUB_ACTION_PATH/([^"]+)"', plan)
    assert source
    assert (ACTION / source[1] / "lynq" / "cli").is_dir()
