// All nodes in one strip: the number, the bar, and the number of each state as a link to the list.
import type { NodesByState } from "../api-types";
import { Bar, partsOf } from "./bar";
import { Glyph, type Tone } from "./state";

export const NODE_STATES: readonly { id: keyof NodesByState; label: string; tone: Tone }[] = [
  { id: "failed", label: "Failed", tone: "failed" },
  { id: "progressing", label: "Progressing", tone: "progress" },
  { id: "ready", label: "Ready", tone: "ready" },
  { id: "paused", label: "Paused", tone: "paused" },
  { id: "deleting", label: "Deleting", tone: "deleting" },
];

export const formatted = (count: number): string => count.toLocaleString("en");

export function Totals({ nodes }: { nodes: NodesByState }) {
  return (
    <section class="totals panel" aria-label="Nodes by state">
      <a class="total" href="/nodes">
        <strong>{formatted(nodes.total)}</strong> {nodes.total === 1 ? "node" : "nodes"}
      </a>
      <Bar parts={partsOf(nodes)} />
      <ul>
        {NODE_STATES.map(({ id, label, tone }) => (
          <li key={id} class={nodes[id] ? undefined : "zero"}>
            <a href={`/nodes?state=${id}`}>
              <Glyph tone={tone} />
              <span>{label}</span>
              <strong>{formatted(nodes[id])}</strong>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
