// One uid over all forms: the root cause first, then the resources, the row and the timeline.
import { urls } from "../api";
import type { SummaryView, TenantNode, TenantView } from "../api-types";
import { Actions } from "../components/actions";
import { Age } from "../components/age";
import { Denials, Empty, Loaded, Page, Panel } from "../components/base";
import { Cause } from "../components/cause";
import { Conditions } from "../components/conditions";
import { Resources } from "../components/graph";
import { ResourceDetails } from "../components/resource";
import { State } from "../components/state";
import { Timeline } from "../components/timeline";
import { Values } from "../components/values";
import { useData } from "../data";
import { worst } from "../model/states";
import { address, pathOf, setQuery } from "../router";

export function TenantPage({ namespace, uid }: { namespace: string; uid: string }) {
  const tenant = useData(urls.tenant(namespace, uid), (change) =>
    change.changed.some((item) => item.namespace === namespace && (item.uid === uid || item.kind !== "Node")) ||
    change.deleted.some((key) => key.startsWith(`Node/${namespace}/`)),
  );
  return (
    <Page title={uid} subtitle={tenant.data && <Headline tenant={tenant.data} />}>
      <Loaded from={tenant}>{(data) => <TenantContent tenant={data} />}</Loaded>
    </Page>
  );
}

function TenantContent({ tenant }: { tenant: TenantView }) {
  const [chosenNode = "", chosenId = ""] = split(address.value.query.get("resource") ?? "");
  const select = (node: string, id: string): void => setQuery({ resource: id && `${node}:${id}` });
  const chosen = tenant.nodes.find(({ summary }) => summary.name === chosenNode);
  const resource = chosen?.resources.find(({ id }) => id === chosenId);
  const troubled = [...tenant.nodes].sort((one, other) => Number(!one.causes.length) - Number(!other.causes.length));
  return (
    <>
      <Denials denials={tenant.denials} />
      <div class="columns">
        <div class="column-main">
          {!tenant.nodes.length && (
            <Empty title={`The row ${tenant.uid} has no node in ${tenant.namespace}`}>
              A rejected row and its reason are on the page of its hub.
            </Empty>
          )}
          {troubled.map((node) => (
            <NodePanel
              key={node.summary.name}
              node={node}
              selected={chosen === node ? chosenId : ""}
              onSelect={(id) => select(node.summary.name, id)}
            />
          ))}
        </div>
        {tenant.nodes.length > 0 && <div class="column-side">
          <Panel title="Row"><Values values={tenant.row} empty="The row has no values that you may see." /></Panel>
          <Panel title="Timeline"><Timeline entries={tenant.timeline} /></Panel>
        </div>}
      </div>
      {chosen && resource && (
        <ResourceDetails
          key={`${chosenNode}:${chosenId}`}
          resource={resource}
          node={chosen.summary}
          onClose={() => select("", "")}
          onSelect={(id) => select(chosenNode, id)}
        />
      )}
    </>
  );
}

function Headline({ tenant }: { tenant: TenantView }) {
  const summaries = tenant.nodes.map(({ summary }) => summary);
  const state = worst(summaries);
  if (!state) return null;
  const ready = summaries.reduce((sum, { ready }) => sum + ready, 0);
  const desired = summaries.reduce((sum, { desired }) => sum + desired, 0);
  const hubs = [...new Map(summaries.filter(({ hub }) => hub).map((summary) => [summary.hub, summary])).values()];
  return (
    <span class="headline">
      <State state={state.state} />
      {state.since && <span>for <Age at={state.since} /></span>}
      <span class="muted">{ready} of {desired} resources ready</span>
      <span class="muted">
        {hubs.map((summary) => <span key={summary.hub}>row of hub <a href={pathOf({ kind: "Hub", namespace: tenant.namespace, name: summary.hub, uid: "" })}>{summary.hub}</a> </span>)}
        in {tenant.namespace}
      </span>
    </span>
  );
}

interface NodeProps {
  node: TenantNode;
  selected: string;
  onSelect: (id: string) => void;
}

function NodePanel({ node, selected, onSelect }: NodeProps) {
  const { summary } = node;
  return (
    <Panel
      title={<><a href={formPath(summary)}>{summary.form || summary.name}</a> <span class="panel-note cut" title={summary.name}>{summary.name}</span></>}
      aside={<><State state={summary.state} /> <span>{summary.ready}/{summary.desired}</span><Actions target={summary} paused={node.paused} /></>}
    >
      {node.causes.map((cause, index) => <Cause key={index} cause={cause} kind="cause" onResource={onSelect} />)}
      {node.notes.map((note, index) => <Cause key={index} cause={note} kind="note" onResource={onSelect} />)}
      <Resources resources={node.resources} selected={selected} onSelect={onSelect} label={summary.name} />
      <details class="folded">
        <summary>Conditions</summary>
        <Conditions conditions={node.conditions} />
      </details>
    </Panel>
  );
}

const formPath = (summary: SummaryView): string =>
  pathOf({ kind: "Form", namespace: summary.namespace, name: summary.form, uid: "" });

function split(text: string): [string?, string?] {
  const colon = text.indexOf(":");
  return colon < 0 ? [] : [text.slice(0, colon), text.slice(colon + 1)];
}
