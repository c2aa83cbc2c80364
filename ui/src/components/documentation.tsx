// Where the documentation says what a cause means.
import { viewer } from "../session";

/** The address of a page of the documentation, `docs/how-to/x.md#y`; empty if the server knows none. */
export function documentationUrl(entry: string): string {
  const base = viewer()?.docsUrl ?? "";
  if (!/^https?:\/\//.test(base)) return "";
  return `${base}/${entry.replace(/^docs\//, "").replace(/\.md(?=#|$)/, "/")}`;
}

/** A link if the server knows the address of the documentation, else the path in the repository. */
export function Documentation({ entry }: { entry: string }) {
  if (!entry) return null;
  const url = documentationUrl(entry);
  if (url) {
    return (
      <a class="documentation" href={url} target="_blank" rel="noreferrer">
        What it means and what to do
      </a>
    );
  }
  return (
    <span class="documentation">
      What it means and what to do: <code>{entry}</code>
    </span>
  );
}
