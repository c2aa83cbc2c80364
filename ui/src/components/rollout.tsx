// The rollout of a form as a bar: ready, updated, and what waits.
import type { RolloutView } from "../api-types";

export function Rollout({ rollout }: { rollout: RolloutView }) {
  const { total, updated, ready, phase, maxSkew, message } = rollout;
  return (
    <div class={`form-rollout ${phase.toLowerCase()}`}>
      <p class="rollout-head">
        <strong>Rollout: {phase}</strong>
        <span class="muted">{updated} of {total} updated, {ready} ready{maxSkew > 0 && `, at most ${maxSkew} at a time`}</span>
      </p>
      <svg class="rollout-bar" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label={`${ready} of ${total} nodes ready, ${updated} updated`}>
        <rect class="rollout-updated" width={total ? (100 * updated) / total : 0} height="4" />
        <rect class="rollout-ready" width={total ? (100 * Math.min(ready, updated)) / total : 0} height="4" />
      </svg>
      {message && <p class="muted">{message}</p>}
    </div>
  );
}
