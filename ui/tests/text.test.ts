import assert from "node:assert/strict";
import { test } from "node:test";
import { changedPart, folded, lineDiff } from "../src/model/diff";
import { mergeTimeline, type Entry } from "../src/model/timeline";
import { tokenize } from "../src/model/yaml";

const types = (line: string) => tokenize(line)[0]!.filter((token) => token.text.trim()).map((token) => `${token.type}:${token.text.trim()}`);

test("tokens joined are the text", () => {
  const yaml = [
    "# comment", "apiVersion: apps/v1", "metadata:", '  name: "a: b # c"', "  labels: {a: b}", "spec:", "  - name: x # why", "  -", "    - 1",
    "  text: |-", "    key: not a key", "", "    {{ .uid }}", "  on: true", "  image: registry:5000/app:{{ .tag }}", "  empty:", "  quote: 'it''s'", "---", "  - - a: 1",
    "  time: 12:30:00", "\ttab: 1", "  <b>: <script>", "  ? x", "  -1", "{{- if .x }}",
  ].join("\n");
  assert.equal(tokenize(yaml).map((line) => line.map((token) => token.text).join("")).join("\n"), yaml);
});

test("keys, numbers, literals, strings and comments are told apart", () => {
  assert.deepEqual(types("replicas: 3"), ["key:replicas", "mark::", "number:3"]);
  assert.deepEqual(types("  - on: true"), ["mark:-", "key:on", "mark::", "literal:true"]);
  assert.deepEqual(types('name: "x: y"'), ["key:name", "mark::", 'string:"x: y"']);
  assert.deepEqual(types("host: a.example # why"), ["key:host", "mark::", "text:a.example", "comment:# why"]);
  assert.deepEqual(types("url: http://x/#y"), ["key:url", "mark::", "text:http://x/#y"]);
});

test("an action of a template is one token", () => {
  assert.deepEqual(types('image: "app:{{ .tag }}-{{ .arch }}"'), ["key:image", "mark::", 'string:"app:', "template:{{ .tag }}", "string:-", "template:{{ .arch }}", 'string:"']);
  assert.deepEqual(types("{{- if .x }}"), ["template:{{- if .x }}"]);
});

test("a block scalar ends at its indent", () => {
  const lines = tokenize("a:\n  b: |\n    x: 1\n\n    y\n  c: 2");
  assert.deepEqual(lines[2]!.map((token) => token.type), ["string"]);
  assert.deepEqual(lines[4]!.map((token) => token.type), ["string"]);
  assert.ok(lines[5]!.some((token) => token.type === "key" && token.text === "c"));
});

test("the tokenizer is linear in hostile text", () => {
  const start = performance.now();
  tokenize(`${"- ".repeat(20000)}\n${"a".repeat(50000)}\n${"{{".repeat(20000)}\n"${"\\".repeat(20000)}`);
  assert.ok(performance.now() - start < 500);
});

test("the changed middle of a line is marked", () => {
  assert.deepEqual(changedPart("app:2.40", "app:2.41"), { start: "app:2.4", removed: "0", added: "1", end: "" });
  assert.deepEqual(changedPart("aa", "aaa"), { start: "aa", removed: "", added: "a", end: "" });
  assert.deepEqual(changedPart("same", "same"), { start: "same", removed: "", added: "", end: "" });
});

test("a line difference gives both texts back", () => {
  const [before, after] = ["a\nb\nc\nd", "a\nc\nx\nd"];
  const parts = lineDiff(before, after);
  assert.equal(parts.filter((part) => part.type !== "added").map((part) => part.text).join("\n"), before);
  assert.equal(parts.filter((part) => part.type !== "removed").map((part) => part.text).join("\n"), after);
  assert.equal(parts.filter((part) => part.type === "same").length, 3);
});

test("long equal runs are folded to their number", () => {
  const lines = Array.from({ length: 20 }, (_, index) => `${index}`);
  const parts = folded(lineDiff(lines.join("\n"), lines.with(10, "x").join("\n")), 1);
  assert.deepEqual(parts.map((part) => (typeof part === "number" ? part : part.text)), [9, "9", "10", "x", "11", 8]);
});

const entry = (at: string, reason: string, message = ""): Entry => ({ at, type: "Normal", reason, message, subject: "acme-web" });

test("the timeline is newest first, by day", () => {
  const days = mergeTimeline([entry("2026-11-15T23:59:00Z", "A"), entry("2026-11-16T01:00:00Z", "B"), entry("2026-11-16T02:00:00Z", "C")]);
  assert.deepEqual(days.map(({ day, entries }) => [day, entries.map((each) => each.reason)]), [["2026-11-16", ["C", "B"]], ["2026-11-15", ["A"]]]);
});

test("equal neighbours of the timeline are counted", () => {
  const [day] = mergeTimeline([
    { ...entry("2026-11-16T01:00:00Z", "Applied"), count: 2 }, entry("2026-11-16T01:01:00Z", "Applied"), entry("2026-11-16T01:02:00Z", "Failed", "why"), entry("2026-11-16T01:03:00Z", "Applied"),
  ]);
  assert.deepEqual(day!.entries.map(({ reason, count, first }) => [reason, count, first.slice(11, 16)]), [["Applied", 1, "01:03"], ["Failed", 1, "01:02"], ["Applied", 3, "01:00"]]);
});
