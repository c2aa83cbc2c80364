// The number of nodes in each state, as links to the filtered list.
import type { NodesByState } from "../api-types";
import { State } from "./state";

const STATES = [
  ["failed", "Failed"],
  ["progressing", "Progressing"],
  ["ready", "Ready"],
  ["paused", "Paused"],
  ["deleting", "Deleting"],
] as const;

interface Props {
  nodes: NodesByState;
  /** The filter of the list besides the state. */
  where: Readonly<Record<string, string>>;
}

export function NodeCounts({ nodes, where }: Props) {
  return (
    <ul class="node-counts">
      <li><a href={listPath(where)}><strong>{nodes.total}</strong> nodes</a></li>
      {STATES.map(([key, state]) => nodes[key] > 0 && (
        <li key={key}><a href={listPath({ ...where, state })}><strong>{nodes[key]}</strong> <State state={state} /></a></li>
      ))}
    </ul>
  );
}

/** The list of nodes that have these values: `?where=form=web,state=Failed`. */
export function listPath(where: Readonly<Record<string, string>>): string {
  const text = Object.entries(where).filter(([, value]) => value).map(([name, value]) => `${name}=${value}`).join(",");
  return `/nodes?where=${encodeURIComponent(text)}`;
}
