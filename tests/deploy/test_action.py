"""The GitHub Action that posts a plan: its entry point on a recorded pull-request event."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from http_server import serve_http

ACTION = Path(__file__).parents[2] / "deploy" / "action"
EVENT = {"action": "synchronize", "number": 7, "pull_request": {"number": 7}}
FORM = {
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
<summary>acme-web</summary>

```diff
+ create ConfigMap default/acme-settings
```

</details>

"""


class GitHub:
    """The comments of a pull request, as GitHub's API serves them."""

    def __init__(self, *comments: str) -> None:
        self.comments = dict(enumerate(comments, start=1))
        self.requests: list[str] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        assert request.headers["Authorization"] == "Bearer token"
        if request.method == "GET":
            first = (int(request.query["page"]) - 1) * 100
            listed = [{"id": key, "body": body} for key, body in self.comments.items()]
            return web.json_response(listed[first : first + 100])
        body = (await request.json())["body"]
        key = int(request.path.rpartition("/")[2]) if request.method == "PATCH" else 1000
        self.comments[key] = body
        return web.json_response({"id": key})


async def run(github: GitHub, folder: Path, form: dict[str, Any], event: Any = EVENT) -> int:
    (folder / "form.yaml").write_text(yaml.safe_dump(form))
    (folder / "rows.csv").write_text("uid,activate\nacme,1\n")
    (folder / "event.json").write_text(json.dumps(event))
    async with serve_http(github.handle) as url:
        environment = {
            **os.environ,
            "GITHUB_API_URL": url,
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_REPOSITORY": "shop/tenants",
            "GITHUB_TOKEN": "token",
            "LYNQ_ARGUMENTS": f"-f {folder / 'form.yaml'} --rows {folder / 'rows.csv'}",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(ACTION / "comment.py"), env=environment, stdout=-3, stderr=-3
        )
        return await process.wait()


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


def test_action_passes_its_inputs_to_the_entry_point() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    assert step["run"] == 'python3 "$GITHUB_ACTION_PATH/comment.py"'
    assert step["env"]["LYNQ_ARGUMENTS"] == "${{ inputs.arguments }}"
    assert action["inputs"].keys() == {"arguments", "version", "token"}
