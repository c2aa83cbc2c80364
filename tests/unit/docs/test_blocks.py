"""docs.blocks: fences, commands, and what output matches."""

import pytest

from docs.blocks import Block, Check, blocks, commands, indented, matches, needs
from docs.playground import Needs
from docs.sync import synced

PAGE = """\
# A page
<!-- run with: postgresql --shard=0/2 -->

```sh
lynq version
```

<!-- not run: needs two clusters -->
```console
$ kubectl get nodes
```

1. A list:

    ```yaml title="form.yaml"
    kind: LynqForm
      spec: {}
    ```

````text
```sh
```
````

```ini
[mysqld]
```
"""


def test_blocks_have_language_title_reason_and_line() -> None:
    script, session, form, prose, other = blocks("docs/how-to/x.md", PAGE)
    assert (script.line, script.language, script.text) == (4, "sh", "lynq version\n")
    assert (session.check, session.reason) == (Check.NOT_RUN, "needs two clusters")
    assert (form.check, form.example) == (Check.EXAMPLE, "examples/x/form.yaml")
    assert form.text == "kind: LynqForm\n  spec: {}\n"
    assert (prose.check, prose.text) == (Check.PROSE, "```sh\n```\n")
    assert (other.check, other.reason) == (Check.NONE, "")
    assert script.section == "a-page"


def test_reason_belongs_to_the_next_block_only() -> None:
    text = "<!-- not run: a reason -->\n\n```sh\na\n```\n```sh\nb\n```\n"
    assert [block.reason for block in blocks("a.md", text)] == ["a reason", ""]
    text = "<!-- not run: a reason -->\nA sentence.\n```sh\na\n```\n"
    assert [block.reason for block in blocks("a.md", text)] == [""]


@pytest.mark.parametrize("text", ["```sh\ntrue\n", "```sh\ntrue\n## Next\n```yaml\na: 1\n```\n"])
def test_unclosed_block_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not closed"):
        blocks("a.md", text)


def test_indented_code_is_found_outside_of_fences_and_lists() -> None:
    text = "a\n\n    code\n\n```sh\n\n    fenced\n```\n\n- item\n\n    more of the item\n"
    assert indented(text) == [3]


def test_title_below_examples_names_the_file_of_another_page() -> None:
    assert Block("a.md", 1, "sql", "", "examples/b/rows.sql").example == "examples/b/rows.sql"


def test_page_names_its_needs() -> None:
    needed = Needs.parse(needs(PAGE))
    assert (needed.databases, needed.flags) == (("postgresql",), ("--shard=0/2",))
    assert not Needs.parse(["no-cluster"]).operator
    with pytest.raises(ValueError, match="oracle"):
        Needs.parse(["oracle"])


def test_console_block_has_commands_with_their_output() -> None:
    text = "$ echo a \\\n    b\na b\n\n$ true\n$ echo c\nc\n"
    found = commands(Block("a.md", 10, "console", text))
    assert [(command.line, command.text, command.output) for command in found] == [
        (11, "echo a \\\n    b", ("a b", "")),
        (15, "true", ()),
        (16, "echo c", ("c",)),
    ]


def test_console_block_begins_with_a_command() -> None:
    with pytest.raises(ValueError, match=r"a\.md:2"):
        commands(Block("a.md", 1, "console", "output\n"))


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("a", "a\n"),
        ("a\n\n", "a"),
        ("NAME  AGE\nacme  12s", "NAME   AGE\nacme   2m5s   \n"),
        ("ready after ...s", "ready after 0.3 s"),
        ("image: ...:2 ...", "image: registry/app:2 (running)"),
        ("a\n...", "a\nb\nc"),
        ("a\n...", "a"),
        ("...\nc", "a\nb\nc"),
        ("a\n...\nd\n...\nf", "a\nb\nd\nc\nd\ne\nf"),
        ("a\n\nb", "a\n\nb"),
        ("f(x) [1]", "f(x) [1]"),
    ],
)
def test_output_matches(expected: str, output: str) -> None:
    assert matches(expected.splitlines(), output)


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("a", "b"),
        ("a", "a\nb"),
        ("a\nb", "a"),
        ("a\n...\nc", "a\nb"),
        ("acme  5", "acme  6"),
        ("a", ""),
        ("version 5m-1", "version 6m-1"),
        ("...\na\n...\nb", "b\na"),
    ],
)
def test_output_does_not_match(expected: str, output: str) -> None:
    assert not matches(expected.splitlines(), output)


def test_sync_writes_files_into_blocks() -> None:
    text = '```yaml title="a"\nold\nold\n```\n\n- x\n\n  ```sql title="b"\n  ```\n\nend\n'
    first, second = blocks("a.md", text)
    assert synced(text, [(first, "new\n"), (second, "a\n\n  b\n")]) == (
        '```yaml title="a"\nnew\n```\n\n- x\n\n  ```sql title="b"\n  a\n\n    b\n  ```\n\nend\n'
    )
