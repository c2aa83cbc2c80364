/** Merges the transitions of conditions and the events of a tenant into one list, the newest first. */

export interface Entry {
  at: string;
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  subject: string;
  count?: number;
}

export interface MergedEntry extends Entry {
  count: number;
  /** The time of the first of the merged entries. */
  first: string;
}

/** Return the entries by day. Equal neighbours of one subject become one entry with their number. */
export function mergeTimeline(entries: readonly Entry[]): { day: string; entries: MergedEntry[] }[] {
  const sorted = entries
    .map((entry, index) => ({ entry, index, time: Date.parse(entry.at) }))
    .sort((one, other) => other.time - one.time || one.index - other.index)
    .map(({ entry }) => entry);
  const days: { day: string; entries: MergedEntry[] }[] = [];
  for (const entry of sorted) {
    const day = entry.at.slice(0, 10);
    if (days.at(-1)?.day !== day) days.push({ day, entries: [] });
    const merged = days.at(-1)!.entries;
    const last = merged.at(-1);
    const count = entry.count ?? 1;
    if (last && isEqual(last, entry)) {
      last.count += count;
      last.first = entry.at;
    } else {
      merged.push({ ...entry, count, first: entry.at });
    }
  }
  return days;
}

function isEqual(one: Entry, other: Entry): boolean {
  return one.type === other.type && one.reason === other.reason && one.subject === other.subject && one.message === other.message;
}
