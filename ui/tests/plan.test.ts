import assert from "node:assert/strict";
import { test } from "node:test";
import { groupChanges, groupFailures, valueText, type Change } from "../src/model/plan";

const change = (name: string, part: Partial<Change> = {}): Change => ({
  action: "Update", apiVersion: "apps/v1", kind: "Deployment", namespace: "shop", name, hub: "tenants", form: "web", node: `${name}-web`, held: false, restartsPods: false,
  fields: [{ path: "spec.replicas", before: 1, after: 2 }], ...part,
});

test("equal changes are one group", () => {
  const groups = groupChanges([change("a"), change("b"), change("c", { kind: "StatefulSet" })]);
  assert.deepEqual(groups.map((group) => [group.kind, group.changes.length, group.varying.size]), [["Deployment", 2, 0], ["StatefulSet", 1, 0]]);
});

test("values that differ between the objects are named", () => {
  const [group] = groupChanges([change("a"), change("b", { fields: [{ path: "spec.replicas", before: 1, after: 9 }] })]);
  assert.deepEqual([...group!.varying], ["spec.replicas"]);
});

test("deletions come first, then what restarts pods", () => {
  const groups = groupChanges([change("a", { action: "Create" }), change("b"), change("c", { restartsPods: true }), change("d", { action: "Delete" })]);
  assert.deepEqual(groups.map((group) => group.changes[0]!.name), ["d", "c", "b", "a"]);
});

test("a held deletion is a group of its own", () => {
  const groups = groupChanges([change("a", { action: "Delete", held: true }), change("b", { action: "Delete" })]);
  assert.equal(groups.length, 2);
});

test("labels and annotations of Lynq are left out", () => {
  const field = { path: "metadata.annotations[lynq.sh/hash]", before: "a", after: "b" };
  assert.deepEqual(groupChanges([change("a", { fields: [field] })])[0]!.fields, []);
});

test("failures with one reason are one group", () => {
  const groups = groupFailures([{ node: "a", id: "web", reason: "x" }, { node: "b", id: "web", reason: "y" }, { node: "c", id: "web", reason: "y" }]);
  assert.deepEqual(groups.map((group) => group.nodes), [["b", "c"], ["a"]]);
});

test("an absent value is null, and others are text", () => {
  assert.deepEqual([valueText(null), valueText("x"), valueText(3), valueText({ a: [1] })], [null, "x", "3", '{"a":[1]}']);
});
