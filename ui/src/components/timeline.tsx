// Conditions and events of a tenant in one list, the newest first.
import { useMemo, useState } from "preact/hooks";
import type { TimelineEntry } from "../api-types";
import { mergeTimeline } from "../model/timeline";
import { Age } from "./age";
import { Button } from "./base";

const SHOWN = 40;

export function Timeline({ entries }: { entries: readonly TimelineEntry[] }) {
  const [onlyWarnings, setOnlyWarnings] = useState(false);
  const [shown, setShown] = useState(SHOWN);
  const warnings = entries.filter((entry) => entry.type === "Warning").length;
  const days = useMemo(
    () => mergeTimeline(entries.filter((entry) => !onlyWarnings || entry.type === "Warning")),
    [entries, onlyWarnings],
  );
  if (!entries.length) return <p class="muted">No events. Kubernetes keeps them for one hour.</p>;
  const total = days.reduce((sum, { entries: ofDay }) => sum + ofDay.length, 0);
  let left = shown;
  return (
    <div class="timeline">
      {warnings > 0 && (
        <label class="timeline-filter">
          <input type="checkbox" checked={onlyWarnings} onChange={() => setOnlyWarnings(!onlyWarnings)} /> Only the {warnings} warnings
        </label>
      )}
      {days.map(({ day, entries: ofDay }) => {
        const visible = ofDay.slice(0, Math.max(0, left));
        left -= visible.length;
        return visible.length > 0 && (
          <section key={day} aria-label={day}>
            {days.length > 1 && <h3 class="timeline-day">{day}</h3>}
            <ol>
              {visible.map((entry) => (
                <li key={`${entry.first} ${entry.subject} ${entry.reason}`} class={`timeline-${entry.type.toLowerCase()}`}>
                  <span class="timeline-head">
                    <strong>{entry.reason}</strong>
                    {entry.count > 1 && <span class="timeline-count">{entry.count}×</span>}
                    <Age at={entry.at} />
                  </span>
                  <span class="timeline-subject cut" title={entry.subject}>{entry.subject}</span>
                  {entry.message && <span class="timeline-message">{entry.message}</span>}
                </li>
              ))}
            </ol>
          </section>
        );
      })}
      {total > shown && <Button onClick={() => setShown(shown + SHOWN)}>Show {Math.min(SHOWN, total - shown)} older</Button>}
    </div>
  );
}
