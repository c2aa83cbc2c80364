// Bundles the unit tests of the model and runs them with Node's test runner.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

const source = new URL("tests/", import.meta.url).pathname;
const target = mkdtempSync(join(tmpdir(), "lynq-ui-"));
const tests = readdirSync(source).filter((name) => name.endsWith(".test.ts"));
try {
  await build({
    entryPoints: tests.map((name) => join(source, name)),
    outdir: target,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "warning",
  });
  const names = readdirSync(target).map((name) => join(target, name));
  process.exitCode = spawnSync(process.execPath, ["--test", "--test-reporter=dot", ...names], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(target, { recursive: true });
}
