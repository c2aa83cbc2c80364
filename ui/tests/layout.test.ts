import assert from "node:assert/strict";
import { test } from "node:test";
import { grouped, GROUP_ABOVE, related } from "../src/model/grouping";
import { BOX_HEIGHT, layout, levelsOf, type GraphItem } from "../src/model/layout";

const item = (id: string, ...dependsOn: string[]): GraphItem => ({ id, dependsOn });
const DIAMOND = [item("config"), item("secret"), item("web", "config", "secret"), item("service", "web"), item("ingress", "service", "config")];

/** A generator of the same numbers for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

function randomGraph(seed: number, size: number): GraphItem[] {
  const next = random(seed);
  return Array.from({ length: size }, (_, index) =>
    item(`r${index}`, ...Array.from({ length: Math.floor(next() * 3) }, () => `r${Math.floor(next() * index)}`).filter(() => index > 0)),
  );
}

test("a level is the longest path of dependencies", () => {
  assert.deepEqual(Object.fromEntries(levelsOf(DIAMOND)), { config: 0, secret: 0, web: 1, service: 2, ingress: 3 });
});

test("an unknown dependency and a cycle do not break the layout", () => {
  const { boxes, edges } = layout([item("a", "gone", "b"), item("b", "a")]);
  assert.equal(boxes.length, 2);
  assert.equal(edges.length, 1);
});

test("no item gives an empty picture", () => {
  assert.deepEqual(layout([]), { boxes: [], edges: [], width: 0, height: 4, crossings: 0 });
});

test("the same items give the same picture", () => {
  const items = randomGraph(7, 40);
  assert.deepEqual(layout(items), layout(structuredClone(items)));
});

test("boxes of a level never overlap, and every edge is drawn", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const items = randomGraph(seed, 1 + (seed % 50));
    const { boxes, edges, height, width } = layout(items);
    assert.equal(boxes.length, items.length);
    assert.equal(edges.length, items.reduce((sum, each) => sum + new Set(each.dependsOn).size, 0));
    const levels = new Map(boxes.map((box) => [box.level, boxes.filter((each) => each.level === box.level)]));
    for (const column of levels.values()) {
      const tops = column.map((box) => box.y).sort((one, other) => one - other);
      tops.slice(1).forEach((top, index) => assert.ok(top - tops[index]! >= BOX_HEIGHT, `seed ${seed}: ${tops}`));
      assert.ok(tops[0]! >= 0 && tops.at(-1)! + BOX_HEIGHT <= height);
    }
    assert.ok(boxes.every((box) => box.x >= 0 && box.x < width));
  }
});

test("two crossed pairs are uncrossed", () => {
  const { crossings } = layout([item("a"), item("b"), item("x", "b"), item("y", "a")]);
  assert.equal(crossings, 0);
});

test("the sweeps never add crossings to a random graph", () => {
  const straight = layout(Array.from({ length: 20 }, (_, index) => [item(`a${index}`), item(`b${index}`, `a${19 - index}`)]).flat());
  assert.equal(straight.crossings, 0);
});

test("a chain is drawn on one line", () => {
  const { boxes } = layout([item("a"), item("b", "a"), item("c", "b")]);
  assert.equal(new Set(boxes.map((box) => box.y)).size, 1);
});

test("up to 60 resources are shown one by one", () => {
  const items = Array.from({ length: GROUP_ABOVE }, (_, index) => ({ ...item(`r${index}`), kind: "ConfigMap" }));
  assert.equal(grouped(items).length, GROUP_ABOVE);
});

test("more than 60 resources are grouped by level, kind and state", () => {
  const maps = Array.from({ length: 70 }, (_, index) => ({ ...item(`map${index}`), kind: "ConfigMap", state: index ? "Ready" : "Failed" }));
  const web = { ...item("web", "map3", "map4"), kind: "Deployment", state: "Ready" };
  const groups = grouped([...maps, web]);
  assert.deepEqual(groups.map((group) => [group.kind, group.members.length]), [["ConfigMap", 1], ["ConfigMap", 69], ["Deployment", 1]]);
  assert.deepEqual(groups[2]!.dependsOn, [groups[1]!.id]);
  assert.equal(layout(groups).edges.length, 1);
});

test("related items are those before and after, and no siblings", () => {
  assert.deepEqual([...related(DIAMOND, "web")].sort(), ["config", "ingress", "secret", "service", "web"]);
  assert.deepEqual([...related(DIAMOND, "secret")].sort(), ["ingress", "secret", "service", "web"]);
});

test("boxes without edges stand in rows below the levels", () => {
  const { boxes, height } = layout([...DIAMOND, item("policy"), item("quota"), item("role"), item("account"), item("limit")]);
  const loose = boxes.filter((box) => ["policy", "quota", "role", "account", "limit"].includes(box.id));
  const lowest = Math.max(...boxes.filter((box) => !loose.includes(box)).map((box) => box.y));
  assert.ok(loose.every((box) => box.y > lowest && box.y < height));
  assert.equal(new Set(loose.map((box) => box.y)).size, 2);
});
