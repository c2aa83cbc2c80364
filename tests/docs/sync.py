"""`make docs-sync`: writes the files of examples into the blocks that show them.

`--check` writes nothing and lists the pages that differ.
"""

import re
import sys

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


def main() -> int:
    """Write or check all pages; return the exit code."""
    is_check = "--check" in sys.argv[1:]
    stale = 0
    for page in pages():
        shown = [block for block in blocks_of(page) if block.check == Check.EXAMPLE]
        files = [(block, (ROOT / block.example).read_text()) for block in shown]
        text = page.read_text()
        if (new := synced(text, files)) == text:
            continue
        if is_check:
            sys.stderr.write(f"{name_of(page)} is stale; run `make docs-sync`\n")
            stale += 1
        else:
            page.write_text(new)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
