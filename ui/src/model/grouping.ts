/** Groups the resources of a graph that would be too large to read. */

import { levelsOf, type GraphItem } from "./layout";

/** Number of boxes up to which a graph shows every resource. */
export const GROUP_ABOVE = 60;

export interface Groupable extends GraphItem {
  kind: string;
  state?: string | null;
}

export interface Group<T> extends GraphItem {
  kind: string;
  members: T[];
}

/**
 * Return one group per resource, or one per level, kind and state if there are more than `GROUP_ABOVE` resources.
 *
 * A group depends on the groups of its members' dependencies in lower levels, so that no cycle arises.
 */
export function grouped<T extends Groupable>(items: readonly T[], above = GROUP_ABOVE): Group<T>[] {
  if (items.length <= above) {
    return items.map((item) => ({ id: item.id, dependsOn: item.dependsOn, kind: item.kind, members: [item] }));
  }
  const levels = levelsOf(items);
  const groups = new Map<string, T[]>();
  const groupOf = new Map<string, string>();
  for (const item of items) {
    const key = `${levels.get(item.id)} ${item.kind} ${item.state ?? ""}`;
    groups.set(key, [...(groups.get(key) ?? []), item]);
    groupOf.set(item.id, key);
  }
  return [...groups].map(([key, members]) => ({
    id: key,
    kind: members[0]!.kind,
    members,
    dependsOn: [...new Set(members.flatMap((member) => member.dependsOn.map((id) => groupOf.get(id) ?? "")))]
      .filter((dependency) => dependency && dependency !== key)
      .sort(),
  }));
}

/** Return the ids that an item depends on or that depend on it, directly or not. */
export function related(items: readonly GraphItem[], id: string): Set<string> {
  const below = new Map(items.map((item) => [item.id, item.dependsOn]));
  const above = new Map<string, string[]>();
  for (const item of items) for (const each of item.dependsOn) above.set(each, [...(above.get(each) ?? []), item.id]);
  const found = new Set([id]);
  for (const edges of [below, above] as Map<string, readonly string[]>[]) {
    const queue = [id];
    while (queue.length) {
      for (const next of edges.get(queue.pop()!) ?? []) {
        if (found.has(next)) continue;
        found.add(next);
        queue.push(next);
      }
    }
  }
  return found;
}
