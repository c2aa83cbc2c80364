// A hub: its source and push, its rows with their nodes, rejected rows, and the approval of held deletions.
import { useEffect, useState } from "preact/hooks";
import { urls } from "../api";
import type { HeldView, HubView, RowView } from "../api-types";
import { Actions, Approval, MoreHeld } from "../components/actions";
import { Age } from "../components/age";
import { Button, Cut, Empty, ErrorNotice, Loaded, Page, Panel, Tabs } from "../components/base";
import { Conditions } from "../components/conditions";
import { Command } from "../components/copy";
import { NodeCounts } from "../components/node-counts";
import { Pager } from "../components/pager";
import { PlanPanel } from "../components/plan";
import { Rollout } from "../components/rollout";
import { State, toneOf } from "../components/state";
import { useData } from "../data";
import { address, pathOf, setQuery, tenantPath } from "../router";
import { viewer } from "../session";

const ROWS_PER_PAGE = 25;
const HELD_PER_PAGE = 24;
const TABS = [
  { id: "rows", label: "Rows" },
  { id: "plan", label: "Plan" },
];

export function HubPage({ namespace, name }: { namespace: string; name: string }) {
  const hub = useData(urls.hub(namespace, name), (change) =>
    change.changed.some((item) => item.namespace === namespace && (item.hub === name || item.name === name)) ||
    change.deleted.some((key) => key.includes(`/${namespace}/`)),
  );
  return (
    <Page
      title={name}
      subtitle={hub.data && <Headline hub={hub.data} />}
      actions={hub.data && <Actions target={hub.data.summary} paused={hub.data.paused} />}
    >
      <Loaded from={hub}>{(data) => <HubContent hub={data} />}</Loaded>
    </Page>
  );
}

function HubContent({ hub }: { hub: HubView }) {
  const { summary } = hub;
  const tab = address.value.query.get("tab") ?? "rows";
  return (
    <>
      {!hub.held && summary.state !== "Ready" && summary.message && <p class={`notice notice-${toneOf(summary.state)}`}><strong>{summary.cause}</strong> {summary.message}</p>}
      {hub.held && <Held hub={hub} held={hub.held} />}
      <div class={tab === "rows" ? "columns" : "columns columns-wide"}>
        <div class="column-main">
          {hub.rejectedCount > 0 && <Rejected hub={hub} />}
          <Tabs label="Parts of the hub" selected={tab} onSelect={(id) => setQuery({ tab: id === "rows" ? "" : id })} items={TABS} />
          <div role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`}>
          {tab === "rows" && <Rows hub={hub} />}
          {tab === "plan" && <Panel title="Plan"><PlanPanel url={urls.hubPlan(summary.namespace, summary.name)} subject={`hub ${summary.name}`} /></Panel>}
          </div>
        </div>
        <div class="column-side">
          <Panel title="Source"><Source hub={hub} /></Panel>
          <Panel title="Forms"><Forms hub={hub} /></Panel>
          <Panel title="Columns"><Mappings hub={hub} /></Panel>
          <Panel title="Conditions"><Conditions conditions={hub.conditions} /></Panel>
        </div>
      </div>
    </>
  );
}

function Headline({ hub: { summary, rows, lastSync } }: { hub: HubView }) {
  return (
    <span class="headline">
      <State state={summary.state} />
      {summary.since && <span>for <Age at={summary.since} /></span>}
      <span>hub in {summary.namespace}</span>
      <span>{count(rows, "row")}{lastSync && <>, read <Age at={lastSync} suffix="ago" /></>}</span>
    </span>
  );
}

function Source({ hub }: { hub: HubView }) {
  return (
    <dl class="values values-inline">
      {Object.entries(hub.source).map(([name, value]) => <div key={name}><dt>{name}</dt><dd class="value">{value}</dd></div>)}
      <div><dt>push</dt><dd>{hub.push || <span class="muted">off: the rows are polled</span>}</dd></div>
    </dl>
  );
}

function Mappings({ hub }: { hub: HubView }) {
  return (
    <dl class="values values-inline">
      {hub.mappings.map(({ variable, column }) => <div key={variable}><dt><code>.{variable}</code></dt><dd>{column}</dd></div>)}
    </dl>
  );
}

function Forms({ hub }: { hub: HubView }) {
  if (!hub.forms.length) return <Empty title="No forms">No form names this hub, so its rows get no nodes.</Empty>;
  return (
    <ul class="hub-forms">
      {hub.forms.map(({ form, nodes, rollout }) => (
        <li key={form.name}>
          <p class="hub-form-name"><a class="cut" href={pathOf(form)} title={form.name}>{form.name}</a> <State state={form.state} /></p>
          <NodeCounts nodes={nodes} form={form} />
          {rollout && rollout.phase !== "Complete" && <Rollout rollout={rollout} />}
        </li>
      ))}
    </ul>
  );
}

function Held({ hub, held }: { hub: HubView; held: HeldView }) {
  const [page, setPage] = useState(0);
  const { namespace, name } = hub.summary;
  return (
    <section class="held-panel" aria-label="Held deletions">
      <h2>The deletion of {count(held.count, "node")} is held</h2>
      {held.message && <p>{held.message}</p>}
      <p>
        If the rows are missing by mistake, bring them back: they leave this list by themselves. If they are to go, approve
        exactly this set, digest <code>{held.digest}</code>.
      </p>
      <ul class="held-list" aria-label="Nodes whose deletion is held">
        {held.nodes.slice(page * HELD_PER_PAGE, (page + 1) * HELD_PER_PAGE).map((node) => (
          <li key={node.name}>
            {node.uid
              ? <a class="cut" href={tenantPath(namespace, node.uid)} title={node.name}>{node.name}</a>
              : <Cut text={node.name} />}
          </li>
        ))}
      </ul>
      <Pager page={page} size={HELD_PER_PAGE} total={held.nodes.length} what="nodes" onPage={setPage} />
      <MoreHeld hub={hub.summary} held={held} />
      {viewer()?.allowActions
        ? <Approval hub={{ kind: "Hub", namespace, name }} held={held} />
        : <p class="held-command">This server allows no actions. Approve with <Command text={`lynq approve ${name} -n ${namespace} --digest ${held.digest}`} /></p>}
    </section>
  );
}

function Rejected({ hub }: { hub: HubView }) {
  const { rejected, rejectedCount } = hub;
  return (
    <Panel title={`Rejected rows (${rejectedCount})`}>
      <p class="muted">These rows get no node until they are corrected. All other rows go on.</p>
      <table class="table rejected">
        <caption class="visually-hidden">Rejected rows and why</caption>
        <thead><tr><th scope="col">Row</th><th scope="col">Reason</th><th scope="col">Message</th></tr></thead>
        <tbody>
          {rejected.map((row, index) => (
            <tr key={`${row.uid} ${index}`}>
              <td data-label="Row" class="value">{row.uid || <em class="muted">no uid</em>}</td>
              <td data-label="Reason">{row.reason}</td>
              <td data-label="Message">{row.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rejectedCount > rejected.length && <p class="muted">The first {rejected.length} of {rejectedCount}.</p>}
    </Panel>
  );
}

function Rows({ hub }: { hub: HubView }) {
  const { namespace, name } = hub.summary;
  const [query, setText] = useState(address.value.query.get("q") ?? "");
  const [starts, setStarts] = useState<readonly string[]>([""]);
  const text = useLater(query, 250);
  useEffect(() => {
    setStarts([""]);
    setQuery({ q: text });
  }, [text]);
  const { data, error, loading } = useData(
    urls.rows(namespace, name, { q: text, after: starts.at(-1), limit: ROWS_PER_PAGE }),
    (change) => change.changed.some((item) => item.namespace === namespace && item.hub === name) || change.deleted.length > 0,
  );
  const first = (starts.length - 1) * ROWS_PER_PAGE;
  const columns = [...new Set(data?.items.flatMap((row) => Object.keys(row.values)))].filter((each) => each !== "uid");
  return (
    <Panel title="Rows" aside={data && <span class="muted">{count(data.total, "row")} with nodes{text && " match"}</span>}>
      <div class="rows-bar">
        <input class="field" type="search" aria-label="Search the rows" placeholder="Search by uid" value={query} onInput={(event) => setText(event.currentTarget.value)} />
        {loading && <span class="muted" role="status">Loading…</span>}
      </div>
      {error && <ErrorNotice error={error} />}
      {data && !data.items.length && <Empty title={text ? "No row matches" : "No rows"}>{text ? "Search for a part of a uid." : "The hub has read no active rows."}</Empty>}
      {data && data.items.length > 0 && (
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Rows as the hub read them">
          <table class="table rows">
            <caption class="visually-hidden">Rows as the hub read them, with the state of their nodes</caption>
            <thead><tr><th scope="col">uid</th><th scope="col">Nodes</th>{columns.map((each) => <th scope="col" key={each}>{each}</th>)}</tr></thead>
            <tbody>{data.items.map((row) => <RowLine key={row.uid} row={row} columns={columns} namespace={namespace} />)}</tbody>
          </table>
        </div>
      )}
      {data && (starts.length > 1 || data.next) && (
        <nav class="local-pager" aria-label="Pages of rows">
          <Button disabled={starts.length === 1} onClick={() => setStarts(starts.slice(0, -1))}>Previous</Button>
          <span>{first + 1}–{first + data.items.length} of {data.total} rows</span>
          <Button disabled={!data.next} onClick={() => setStarts([...starts, data.next])}>Next</Button>
        </nav>
      )}
    </Panel>
  );
}

function RowLine({ row, columns, namespace }: { row: RowView; columns: readonly string[]; namespace: string }) {
  return (
    <tr>
      <th scope="row"><a class="cut" href={tenantPath(namespace, row.uid)} title={row.uid}>{row.uid}</a></th>
      <td data-label="Nodes">
        <span class="row-nodes">
          {row.nodes.map((node) => <span key={node.name} title={node.cause || node.message || node.state}><State state={node.state} compact={node.state === "Ready"} /> <span class="muted">{node.form}</span></span>)}
          {!row.nodes.length && <em class="muted">none yet</em>}
        </span>
      </td>
      {columns.map((each) => <td key={each} data-label={each}><span class="cut value" title={row.values[each] ?? ""}>{row.values[each]}</span></td>)}
    </tr>
  );
}

/** The value, once it has not changed for a while. */
function useLater<T>(value: T, delay: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), delay);
    return () => clearTimeout(timer);
  }, [value, delay]);
  return later;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;
