// The list of nodes: filtered, sorted and paged by the server. A change updates a row in its place.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { urls } from "../api";
import type { NodePage, NodesByState, SummaryView } from "../api-types";
import { Age } from "../components/age";
import { Button, Cut, Empty, Loaded, Page, Toolbar } from "../components/base";
import { Glyph, State } from "../components/state";
import { type Column, Table } from "../components/table";
import { formatted, NODE_STATES } from "../components/totals";
import { useData } from "../data";
import { address, namespace, pathOf, setQuery } from "../router";

const PAGE_SIZE = 50;
const PAUSE_AFTER_KEY = 200;
const TERM = /^(state|form|hub|uid|name|namespace|cause)!?=./;

/** Split `acme form=web` into the terms of the filter and the text. */
export function parseQuery(text: string): { where: string; q: string } {
  const words = text.split(/\s+/).filter(Boolean);
  return {
    where: words.filter((word) => TERM.test(word)).join(","),
    q: words.filter((word) => !TERM.test(word)).join(" "),
  };
}

const keyOf = (node: SummaryView): string => `${node.namespace}/${node.name}`;

const COLUMNS: readonly Column<SummaryView>[] = [
  { id: "state", title: "State", sort: "state", width: "128px", cell: (node) => <State state={node.state} /> },
  {
    id: "tenant",
    title: "Tenant",
    sort: "uid",
    cell: (node) => (
      <a href={pathOf(node)} data-item class="cut" title={node.name}>
        {node.uid || node.name}
      </a>
    ),
  },
  {
    id: "form",
    title: "Form",
    sort: "form",
    width: "14%",
    cell: (node) => (
      <a
        href={pathOf({ kind: "Form", namespace: node.namespace, name: node.form, uid: "" })}
        class="cut plain-link"
        title={node.form}
      >
        {node.form}
      </a>
    ),
  },
  { id: "namespace", title: "Namespace", width: "12%", cell: (node) => <Cut text={node.namespace} /> },
  {
    id: "ready",
    title: "Resources",
    sort: "ready",
    width: "96px",
    align: "right",
    cell: (node) => (
      <span class={node.ready < node.desired ? undefined : "muted"}>
        {node.ready}/{node.desired}
      </span>
    ),
  },
  {
    id: "cause",
    title: "Cause",
    sort: "cause",
    width: "26%",
    cell: (node) => <span class="cut" title={node.message}>{node.cause || node.message}</span>,
  },
  { id: "since", title: "Since", sort: "since", width: "80px", align: "right", cell: (node) => <Age at={node.since} /> },
];

/**
 * The page as it is shown: rows change in place. If rows come, go or move while the viewer points
 * at the list or has the focus in it, the shown rows stay until the viewer asks for the new ones.
 */
function useSteadyRows(page: NodePage | null, address: string, isBusy: () => boolean) {
  const [shown, setShown] = useState<{ address: string; items: readonly SummaryView[] }>({ address: "", items: [] });
  const [isWaiting, setWaiting] = useState(false);
  const apply = (): void => {
    if (page) setShown({ address, items: page.items });
    setWaiting(false);
  };
  useEffect(() => {
    if (!page) return;
    const same =
      shown.items.length === page.items.length &&
      shown.items.every((node, index) => keyOf(node) === keyOf(page.items[index] as SummaryView));
    if (same || shown.address !== address || !isBusy()) {
      apply();
      return;
    }
    const fresh = new Map(page.items.map((node) => [keyOf(node), node]));
    setShown({ address, items: shown.items.map((node) => fresh.get(keyOf(node)) ?? node) });
    setWaiting(true);
  }, [page]);
  return { items: shown.items, isWaiting, apply };
}

function StateChips({ counts, selected }: { counts: NodesByState; selected: string }) {
  const chip = (id: string, label: string, count: number, glyph: ComponentChildren) => (
    <button
      key={id}
      type="button"
      class="chip"
      aria-pressed={selected === id}
      onClick={() => setQuery({ state: selected === id ? "" : id, after: "", page: "" })}
    >
      {glyph}
      <span>{label}</span>
      <strong>{formatted(count)}</strong>
    </button>
  );
  return (
    <Toolbar label="States">
      {chip("", "All", counts.total, null)}
      {NODE_STATES.map(({ id, label, tone }) => chip(id, label, counts[id], <Glyph tone={tone} />))}
    </Toolbar>
  );
}

function FilterField({ value }: { value: string }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => setQuery({ q: text.trim(), after: "", page: "" }), PAUSE_AFTER_KEY);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      class="field filter-field"
      aria-label="Filter by text, or by form=, hub=, uid=, namespace=, cause="
      placeholder="acme form=web cause!=*quota*"
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}

export function NodesPage() {
  const query = address.value.query;
  const text = query.get("q") ?? "";
  const state = query.get("state") ?? "";
  const group = query.get("group") ?? "";
  const sort = query.get("sort") ?? "";
  const after = query.get("after") ?? "";
  const number = Number(query.get("page") || "1");
  const url = urls.nodes({
    namespace: namespace.value,
    ...parseQuery(text),
    state,
    group,
    sort,
    after,
    limit: PAGE_SIZE,
  });
  const nodes = useData(url);
  const list = useRef<HTMLDivElement>(null);
  const isBusy = (): boolean =>
    Boolean(list.current?.matches(":hover") || list.current?.contains(document.activeElement) || window.scrollY > 0);
  const steady = useSteadyRows(nodes.data, url.url, isBusy);
  const first = (number - 1) * PAGE_SIZE;
  return (
    <Page title="Nodes" subtitle="Every LynqNode: one row in one form.">
      <Toolbar label="Filter">
        <FilterField value={text} />
        {group && (
          <Button onClick={() => setQuery({ group: "", after: "", page: "" })} label="Show the nodes of all problems">
            One problem <span aria-hidden="true">✕</span>
          </Button>
        )}
      </Toolbar>
      <Loaded from={nodes}>
        {(data) => (
          <>
            <StateChips counts={data.counts} selected={state} />
            {data.items.length || steady.items.length ? (
              <div class="panel list" ref={list}>
                {steady.isWaiting && (
                  <p class="new-rows" role="status">
                    The list changed. <Button kind="plain" onClick={steady.apply}>Show the changes</Button>
                  </p>
                )}
                <Table
                  caption={`Nodes, ${formatted(data.total)} in all`}
                  hideCaption
                  columns={COLUMNS}
                  rows={steady.items}
                  rowKey={keyOf}
                  sort={sort || "name"}
                  onSort={(value) => setQuery({ sort: value, after: "", page: "" })}
                />
              </div>
            ) : (
              <div class="panel">
                <Empty title={text || state || group ? "No node matches" : "No nodes"}>
                  {text || state || group ? (
                    <>
                      Change the filter, or <a href="/nodes">show all nodes</a>.
                    </>
                  ) : (
                    "A node appears for every active row of a hub and each of its forms."
                  )}
                </Empty>
              </div>
            )}
            {data.total > PAGE_SIZE && (
              <nav class="pager" aria-label="Pages of the list">
                <span class="muted">
                  {formatted(first + 1)}–{formatted(Math.min(first + data.items.length, data.total))} of {formatted(data.total)}
                </span>
                <Button disabled={!after} onClick={() => setQuery({ after: "", page: "" }, { replace: false })}>
                  First page
                </Button>
                <Button
                  disabled={!data.next}
                  onClick={() => {
                    setQuery({ after: data.next, page: String(number + 1) }, { replace: false });
                    window.scrollTo(0, 0);
                  }}
                >
                  Next page
                </Button>
              </nav>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
