// The state of an object: colour, shape and word, so that no reader depends on colour alone.
import type { ResourceStateName, State as StateName } from "../api-types";

export type AnyState = StateName | ResourceStateName;

export type Tone = "ready" | "progress" | "failed" | "warn" | "paused" | "deleting";

const TONES: Readonly<Record<AnyState, Tone>> = {
  Ready: "ready",
  Progressing: "progress",
  Waiting: "progress",
  Failed: "failed",
  Invalid: "failed",
  Conflicted: "warn",
  Degraded: "warn",
  Held: "warn",
  Paused: "paused",
  Skipped: "paused",
  Deleting: "deleting",
};

export const toneOf = (state: AnyState): Tone => TONES[state] ?? "paused";

/** The shape of a tone in a box of 12 × 12. */
export function ToneShape({ tone }: { tone: Tone }) {
  switch (tone) {
    case "ready":
      return <circle cx="6" cy="6" r="4.5" />;
    case "progress":
      return (
        <>
          <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.5" />
          <path d="M6 2a4 4 0 0 1 0 8z" />
        </>
      );
    case "failed":
      return <path d="M6 1.2 11.2 10.6H.8z" />;
    case "warn":
      return <path d="M6 .8 11.2 6 6 11.2.8 6z" />;
    case "paused":
      return <path d="M2.5 1.8h2.4v8.4H2.5zM7.1 1.8h2.4v8.4H7.1z" />;
    case "deleting":
      return <path d="M2.5 2.5l7 7m0-7-7 7" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" />;
  }
}

export function Glyph({ tone }: { tone: Tone }) {
  return (
    <svg class={`glyph tone-${tone}`} viewBox="0 0 12 12" width="12" height="12" fill="currentColor" aria-hidden="true">
      <ToneShape tone={tone} />
    </svg>
  );
}

/** A state as a shape and a word; `compact` shows the shape and keeps the word for screen readers. */
export function State({ state, compact }: { state: AnyState; compact?: boolean }) {
  const tone = toneOf(state);
  return (
    <span class={`state tone-${tone}`} title={compact ? state : undefined}>
      <Glyph tone={tone} />
      <span class={compact ? "visually-hidden" : undefined}>{state}</span>
    </span>
  );
}
