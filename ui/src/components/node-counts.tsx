// The nodes of a form by state: a bar, and links to the filtered list.
import type { NodesByState, SummaryView } from "../api-types";
import { Bar, partsOf } from "./bar";
import { State, type AnyState } from "./state";
import { formatted, NODE_STATES } from "./totals";

export function NodeCounts({ nodes, form }: { nodes: NodesByState; form: SummaryView }) {
  const filter = encodeURIComponent(`form=${form.name} namespace=${form.namespace}`);
  return (
    <div class="node-counts">
      <Bar parts={partsOf(nodes)} />
      <ul>
        <li><a href={`/nodes?q=${filter}`}><strong>{formatted(nodes.total)}</strong> {nodes.total === 1 ? "node" : "nodes"}</a></li>
        {NODE_STATES.map(({ id, label }) => nodes[id] > 0 && (
          <li key={id}><a href={`/nodes?q=${filter}&state=${id}`}><State state={label as AnyState} /> <strong>{formatted(nodes[id])}</strong></a></li>
        ))}
      </ul>
    </div>
  );
}
