"""`make docs-sync`: writes the files of examples into the blocks that show them."""

import re
from pathlib import Path

from docs.blocks import ROOT, Block, Check, blocks_of, name_of, pages


def synced(text: str, shown: list[tuple[Block, str]]) -> str:
    """Return a page whose blocks have the given texts; the last block comes first."""
    lines = text.splitlines(keepends=True)
    for block, content in sorted(shown, key=lambda item: -item[0].line):
        opening = lines[block.line - 1]
        indent = re.match(" *", opening)
        margin = indent[0] if indent else ""
        body = [f"{margin}{line}" if line.strip() else line for line in content.splitlines(True)]  # noqa: FBT003
        lines[block.line : block.line + block.text.count("\n")] = body
    return "".join(lines)


def main() -> None:
    """Sync all pages, and print those that change."""
    for page in pages():
        shown = [block for block in blocks_of(page) if block.check == Check.EXAMPLE]
        files = [(block, (ROOT / block.example).read_text()) for block in shown]
        text = page.read_text()
        if (new := synced(text, files)) != text:
            Path(page).write_text(new)
            print(name_of(page))  # noqa: T201


if __name__ == "__main__":
    main()
