// Where the documentation says what a cause means.

/** A link if the server knows the address of the documentation, else the path in the repository. */
export function Documentation({ entry }: { entry: string }) {
  if (!entry) return null;
  if (/^https:\/\//.test(entry)) {
    return (
      <a href={entry} target="_blank" rel="noreferrer">
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
