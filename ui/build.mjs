// Builds the pages into src/lynq/dashboard/static. The same sources give the same bytes.
// `node build.mjs --check` compares instead of writing, and fails if a file differs.
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const target = new URL("../src/lynq/dashboard/static/", import.meta.url);
const source = new URL("src/", import.meta.url);
const LARGEST_JAVASCRIPT = 60 * 1024; // gzip, all files

const result = await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: {
    app: "src/main.tsx",
    worker: "src/worker.ts",
  },
  outdir: "out",
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: ["chrome109", "firefox115", "safari16.4"],
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});
const styles = await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: { app: "src/styles/app.css" },
  outdir: "out",
  bundle: true,
  minify: true,
  write: false,
  target: ["chrome109", "firefox115", "safari16.4"],
  charset: "utf8",
  logLevel: "warning",
});

const files = new Map();
for (const file of [...result.outputFiles, ...styles.outputFiles]) {
  files.set(file.path.split("/").pop(), Buffer.from(file.contents));
}
files.set("icon.svg", await readFile(new URL("icon.svg", source)));
// A changed file gets a new address, so that browsers may keep the old one forever.
const versioned = (text) =>
  text.replace(/"\/([\w.]+)"/g, (_, name) => {
    const content = files.get(name);
    if (!content) throw new Error(`index.html names ${name}, which is not built`);
    return `"/${name}?v=${createHash("sha256").update(content).digest("hex").slice(0, 12)}"`;
  });
files.set("index.html", Buffer.from(versioned(await readFile(new URL("index.html", source), "utf8"))));

const javascript = [...files].filter(([name]) => name.endsWith(".js"));
const size = javascript.reduce((sum, [, content]) => sum + gzipSync(content).length, 0);
if (size > LARGEST_JAVASCRIPT) {
  throw new Error(`${size} bytes of JavaScript (gzip), at most ${LARGEST_JAVASCRIPT}`);
}

if (process.argv.includes("--check")) {
  for (const [name, content] of files) {
    const committed = await readFile(new URL(name, target)).catch(() => Buffer.alloc(0));
    if (!committed.equals(content)) {
      console.error(`src/lynq/dashboard/static/${name} differs from its sources: run make ui`);
      process.exitCode = 1;
    }
  }
} else {
  await mkdir(target, { recursive: true });
  for (const [name, content] of files) await writeFile(new URL(name, target), content);
  console.log(`${(size / 1024).toFixed(1)} KB of JavaScript (gzip)`);
}
