// Builds the playground: static files that also work from file://.
//
//   node playground.mjs MODULE.wasm OUT
//
// OUT gets index.html, playground.css, theme.js (colours before the first paint), playground.js
// (the page, its worker and the scenarios inside the program) and engine.js (the module,
// compressed, in base64). `.ci/run playground` makes the module and calls this.

import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { banner } from "./licence.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const source = join(here, "src/playground");

const [modulePath, out] = process.argv.slice(2);
if (modulePath === undefined || out === undefined) {
  console.error("usage: node playground.mjs MODULE.wasm OUT");
  process.exit(2);
}

/** Options of every bundle: classic scripts, which file:// may load. */
const options = {
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  banner: { js: banner, css: banner },
  legalComments: "inline",
  logLevel: "warning",
};

/** The first sentence of the comment at the beginning of a scenario, as the command has it. */
function firstSentence(text) {
  const lines = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith("#") || line.slice(1).trim() === "") break;
    lines.push(line.slice(1).trim());
  }
  const paragraph = lines.join(" ");
  const end = /[.?](?= (?:\p{Lu}|--))/u.exec(paragraph);
  return end === null ? paragraph : paragraph.slice(0, end.index + 1);
}

async function scenarios() {
  const folder = join(root, "scenarios");
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".toml"));
  const all = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(folder, file), "utf8");
      return { name: file.slice(0, -".toml".length), about: firstSentence(text), text };
    }),
  );
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function version() {
  const manifest = await readFile(join(root, "Cargo.toml"), "utf8");
  return /^version = "(.*)"$/m.exec(manifest)[1];
}

async function workerScript() {
  const { outputFiles } = await build({
    ...options,
    entryPoints: [join(source, "worker.ts")],
    write: false,
  });
  return outputFiles[0].text;
}

/** What only the build knows, as modules. */
const made = {
  name: "made",
  setup(bundle) {
    bundle.onResolve({ filter: /^lasthop:/ }, ({ path }) => ({ path, namespace: "made" }));
    bundle.onLoad({ filter: /.*/, namespace: "made" }, async ({ path }) => ({
      loader: "js",
      contents:
        path === "lasthop:worker"
          ? `export default ${JSON.stringify(await workerScript())};`
          : `export const version = ${JSON.stringify(await version())};
             export const scenarios = ${JSON.stringify(await scenarios())};`,
    }));
  },
};

const module = gzipSync(await readFile(modulePath), { level: 9 });
await mkdir(out, { recursive: true });
await build({ ...options, entryPoints: { playground: join(source, "page.ts") }, outdir: out, plugins: [made] });
await build({ ...options, entryPoints: { theme: join(here, "src/common/theme.ts") }, outdir: out });
await writeFile(join(out, "engine.js"), `globalThis.lasthopEngine="${module.toString("base64")}";\n`);
await copyFile(join(source, "index.html"), join(out, "index.html"));
console.log(`the module has ${module.length} bytes compressed; the page is ${join(out, "index.html")}`);
