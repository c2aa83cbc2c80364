/** Folds the changes of a plan (lynq.sh/plan/v1): equal changes of many objects become one group. */

export type Action = "Create" | "Update" | "Replace" | "Delete" | "Orphan" | "Adopt";

export interface FieldChange {
  path: string;
  before: unknown;
  after: unknown;
}

export interface Change {
  action: Action;
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  hub: string;
  form: string;
  node: string;
  held: boolean;
  restartsPods: boolean;
  fields: FieldChange[];
}

export interface Plan {
  changes: Change[];
  rejected: { uid: string; reason: string }[];
  failed: { node: string; id: string; reason: string }[];
  guard: { verdict: "Allowed" | "Held"; count: number; digest: string };
  rollouts?: { form: string; maxSkew: number; waves: string[][]; waiting: string[]; holders: string[] }[];
  totals: Record<string, number>;
  notes: string[];
}

export interface ChangeGroup {
  key: string;
  action: Action;
  kind: string;
  form: string;
  held: boolean;
  restartsPods: boolean;
  /** The fields of the first object. */
  fields: FieldChange[];
  /** The paths whose values are not the same in all objects. */
  varying: Set<string>;
  changes: Change[];
}

/** What is dangerous comes first. */
const ORDER: readonly Action[] = ["Delete", "Replace", "Update", "Create", "Adopt", "Orphan"];
/** A label or annotation of Lynq. */
const BOOKKEEPING = /^metadata\.[^[]*\[lynq\.sh\//;

/** Return the groups of the changes: of one action, kind and form, over the same fields. */
export function groupChanges(changes: readonly Change[]): ChangeGroup[] {
  const groups = new Map<string, ChangeGroup>();
  for (const change of changes) {
    const fields = change.action === "Create" || change.action === "Delete" ? [] : change.fields.filter((field) => !BOOKKEEPING.test(field.path));
    const paths = fields.map((field) => field.path);
    const key = JSON.stringify([change.action, change.kind, change.form, change.held, change.restartsPods, paths]);
    const group = groups.get(key);
    if (!group) {
      const { action, kind, form, held, restartsPods } = change;
      groups.set(key, { key, action, kind, form, held, restartsPods, fields, varying: new Set(), changes: [change] });
      continue;
    }
    group.changes.push(change);
    fields.forEach((field, index) => {
      if (!isSame(field, group.fields[index]!)) group.varying.add(field.path);
    });
  }
  return [...groups.values()].sort(
    (one, other) =>
      ORDER.indexOf(one.action) - ORDER.indexOf(other.action) ||
      Number(other.restartsPods) - Number(one.restartsPods) ||
      other.changes.length - one.changes.length ||
      one.kind.localeCompare(other.kind),
  );
}

/** Return the failures by their reason, the most frequent first. */
export function groupFailures(failed: Plan["failed"]): { id: string; reason: string; nodes: string[] }[] {
  const groups = new Map<string, { id: string; reason: string; nodes: string[] }>();
  for (const { node, id, reason } of failed) {
    const key = `${id} ${reason}`;
    const group = groups.get(key) ?? { id, reason, nodes: [] };
    group.nodes.push(node);
    groups.set(key, group);
  }
  return [...groups.values()].sort((one, other) => other.nodes.length - one.nodes.length);
}

/** A value of a field as one line of text; null if the field is absent. */
export function valueText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isSame(one: FieldChange, other: FieldChange): boolean {
  return JSON.stringify([one.before, one.after]) === JSON.stringify([other.before, other.after]);
}
