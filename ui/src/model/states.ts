// The order of states: what needs attention comes first.
import type { State, SummaryView } from "../api-types";

const ORDER: readonly State[] = ["Failed", "Invalid", "Conflicted", "Degraded", "Held", "Deleting", "Progressing", "Paused", "Ready"];

/** Return the summary with the worst state; of equal ones the one that has it longest. */
export function worst(summaries: readonly SummaryView[]): SummaryView | undefined {
  return [...summaries].sort(
    (one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state) || (one.since ?? "").localeCompare(other.since ?? ""),
  )[0];
}
