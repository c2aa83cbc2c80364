// The search dialog: the server's best matches while typing; arrow keys choose.
import { useEffect, useState } from "preact/hooks";
import { urls } from "../api";
import type { SearchHit } from "../api-types";
import { Dialog } from "../components/dialog";
import { State } from "../components/state";
import { useData } from "../data";
import { closeDialog } from "../dialogs";
import { navigate, pathOf } from "../router";

const PAUSE_AFTER_KEY = 120;

export function SearchDialog() {
  const [text, setText] = useState("");
  const [query, setQuery] = useState("");
  const [selected, setSelected] = useState(0);
  useEffect(() => {
    const timer = setTimeout(() => setQuery(text.trim()), PAUSE_AFTER_KEY);
    return () => clearTimeout(timer);
  }, [text]);
  const results = useData(query ? urls.search(query) : null, () => false);
  const items = query ? (results.data?.items ?? []) : [];
  useEffect(() => setSelected(0), [query]);
  const open = (index: number): void => {
    const item = items[index];
    if (!item) return;
    closeDialog();
    navigate(target(item));
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && items.length) {
      event.preventDefault();
      const next = (selected + step + items.length) % items.length;
      setSelected(next);
      document.getElementById(`result-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(selected);
    }
  };
  return (
    <Dialog label="Search" class="search" onClose={closeDialog}>
      <input
        type="text"
        class="search-input"
        role="combobox"
        aria-label="Search tenants, objects, forms and hubs"
        aria-expanded={items.length > 0}
        aria-controls="results"
        aria-activedescendant={items.length ? `result-${selected}` : undefined}
        placeholder="Tenant, object, form or hub"
        autocomplete="off"
        autofocus
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <ul id="results" class="results" role="listbox" aria-label="Results">
        {items.map((item, index) => (
          <li
            key={`${item.kind}/${item.namespace}/${item.name}/${item.summary.name}/${item.resourceId}`}
            id={`result-${index}`}
            role="option"
            aria-selected={index === selected}
            onClick={() => open(index)}
            onMouseMove={() => setSelected(index)}
          >
            <State state={item.summary.state} compact />
            <span class="cut result-name" title={item.name}>{title(item)}</span>
            <span class="cut muted result-place">{place(item)}</span>
            <span class="cut tag" title={item.kind}>{item.kind === "Node" ? "Tenant" : item.kind}</span>
          </li>
        ))}
      </ul>
      <p class="search-hint muted" role="status">
        {results.error
          ? results.error.message
          : query && !results.loading && !items.length
            ? `Nothing matches “${query}”. Search by a uid, by the name of an object, form or hub, or by a namespace.`
            : query
              ? `${items.length} ${items.length === 1 ? "match" : "matches"}, the best first`
              : "Type a part of a name. ↑ ↓ choose, Enter opens."}
      </p>
    </Dialog>
  );
}

const isWhole = ({ kind }: SearchHit): boolean => kind === "Hub" || kind === "Form" || kind === "Node";

const title = ({ kind, name, summary }: SearchHit): string => (kind === "Node" ? summary.uid || name : name);

/** Where a hit is: what it belongs to, and its namespace. */
function place(hit: SearchHit): string {
  const { summary, namespace } = hit;
  if (hit.kind === "Row") return `rejected by ${summary.name} · ${namespace}`;
  const owner = hit.kind === "Node" ? [summary.form] : isWhole(hit) ? [] : [summary.uid, summary.form];
  return [...owner, namespace].filter(Boolean).join(" · ");
}

/** The page of a hit; an object opens in the page of its tenant. */
function target(hit: SearchHit): string {
  const page = pathOf(hit.summary);
  if (isWhole(hit) || !hit.resourceId) return page;
  return `${page}?resource=${encodeURIComponent(`${hit.summary.name}:${hit.resourceId}`)}`;
}
