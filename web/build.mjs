// Builds what browsers get of lasthop from the sources in `src`, with esbuild.
//
//   node build.mjs          writes it where Rust includes it from
//   node build.mjs --check  says whether what is there is what the sources give; exit status 1 if not
//
// What is built is committed, so that `cargo build` needs no Node.

import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import { banner } from "./licence.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);

/** Each bundle: where it begins, and where it goes. */
const bundles = [{ entry: "src/viewer/main.ts", out: "crates/serve/assets/viewer.js" }];
/** What goes there as it is. */
const copies = [{ from: "src/viewer/index.html", out: "crates/serve/assets/viewer.html" }];

const check = process.argv.includes("--check");
let differs = false;
for (const { entry, out } of bundles) {
  const path = join(root, out);
  const result = await build({
    entryPoints: [join(here, entry)],
    outfile: path,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "inline",
    banner: { js: banner, css: banner },
    logLevel: "warning",
    write: false,
  });
  for (const file of result.outputFiles) await put(file.path, file.contents);
}
for (const { from, out } of copies) await put(join(root, out), await readFile(join(here, from)));

/** Writes a file, or compares it with what is there. */
async function put(path, contents) {
  const name = relative(root, path);
  if (!check) {
    await writeFile(path, contents);
    console.log(`${name}: ${contents.length} bytes`);
    return;
  }
  const there = await readFile(path).catch(() => null);
  if (there === null || !there.equals(Buffer.from(contents))) {
    console.error(`${name} is not what its sources give: run npm run build in web/`);
    differs = true;
  }
}
process.exit(differs ? 1 : 0);
