// A bar of parts: how many nodes are in which state.
import type { NodesByState } from "../api-types";
import type { Tone } from "./state";

export interface BarPart {
  readonly tone: Tone | "held";
  readonly count: number;
  readonly label: string;
}

export const partsOf = (nodes: NodesByState): readonly BarPart[] => [
  { tone: "ready", count: nodes.ready, label: "ready" },
  { tone: "progress", count: nodes.progressing, label: "progressing" },
  { tone: "failed", count: nodes.failed, label: "failed" },
  { tone: "paused", count: nodes.paused, label: "paused" },
  { tone: "deleting", count: nodes.deleting, label: "deleting" },
];

/** A part that is not empty is at least this wide, so that one failure among 5,000 is seen. */
const NARROWEST = 2;

export function Bar({ parts, label }: { parts: readonly BarPart[]; label?: string }) {
  const shown = parts.filter((part) => part.count > 0);
  const total = shown.reduce((sum, part) => sum + part.count, 0);
  const text = label ?? (shown.map((part) => `${part.count} ${part.label}`).join(", ") || "none");
  const widths = shown.map((part) => Math.max(NARROWEST, (part.count / total) * 100));
  const sum = widths.reduce((left, right) => left + right, 0);
  let x = 0;
  return (
    <svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      <rect class="bar-empty" width="100" height="6" />
      {shown.map((part, index) => {
        const width = ((widths[index] ?? 0) / sum) * 100;
        const rect = <rect key={part.tone} class={`fill-${part.tone}`} x={x} width={width} height="6" />;
        x += width;
        return rect;
      })}
    </svg>
  );
}
