// The module in Node: its documents are those of the command, byte for byte but for `wall_s`; so
// are its messages. Runs are cancelled, and a trap is told of.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { build } from "esbuild";
import { folder, lasthop, root, skip } from "./built.mjs";

const execute = promisify(execFile);

/** The class that the worker uses, on the module that the page loads. */
async function engine() {
  const { outputFiles } = await build({
    entryPoints: [join(root, "web/src/playground/engine.ts")],
    bundle: true,
    format: "esm",
    write: false,
  });
  const script = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`;
  const { Engine } = await import(script);
  const text = await readFile(join(folder, "engine.js"), "utf8");
  const packed = Buffer.from(/"([^"]*)"/.exec(text)[1], "base64");
  assert.ok(packed.length < 1_200_000, `the module has ${packed.length} bytes compressed`);
  return Engine.load(gunzipSync(packed));
}

function run(engine, request, seconds = 0.7) {
  engine.start(request);
  for (;;) {
    const text = engine.advance(seconds);
    if (text !== null) return JSON.parse(text);
  }
}

async function request(name, sets = []) {
  const text = await readFile(join(root, "scenarios", `${name}.toml`), "utf8");
  return { file: `${name}.toml`, text, sets, run: 0 };
}

const withoutWall = (text) => text.replace(/"wall_s": [0-9.e-]+/, '"wall_s": 0');

/** Scenarios of every kind, some with changes. */
const cases = [
  ["hello"],
  ["hello", "seed=7", "node.laptop.queue.packets=50", 'node.laptop.position=["60m", "0m"]'],
  ["upload"],
  ["upload", "node.laptop.queue.kind=fq-codel", "wire.server-ap.delay=50ms"],
  ["contention", "node.sta.count=20"],
  ["demo"],
  ["doze"],
  ["edca"],
  ["fading"],
  ["hidden", "node_defaults.rts_threshold=0"],
  ["jumbo"],
  ["link"],
  ["scan"],
  ["video", "duration=10s"],
  ["retryout/upload"],
  ["franc", "duration=5s"],
  ["apq"],
  ["places/home"],
  ["places/train", "duration=20s", "seed=3"],
  ["places/cafe", "duration=10s", "node.guest.count=5"],
];

test("documents are those of the command", { skip }, async (context) => {
  const module = await engine();
  for (const [name, ...sets] of cases) {
    await context.test([name, ...sets].join(" "), async () => {
      const asked = ["simulate", name, "--json", ...sets.flatMap((set) => ["--set", set])];
      const { stdout } = await execute(lasthop, asked, { maxBuffer: 1 << 26, cwd: tmpdir() });
      // `--json` is a set of one run: its document is indented twice as deep.
      const set = JSON.parse(stdout);
      const expected = { ...set.runs[0], wall_s: 0 };
      const answer = run(module, await request(name, sets));
      assert.deepEqual(JSON.parse(answer.document), expected);
      // Byte for byte, against the file of a run.
      const out = await mkdtemp(join(tmpdir(), "lasthop-playground-"));
      try {
        const kept = ["simulate", name, "--out", out, ...sets.flatMap((it) => ["--set", it])];
        await execute(lasthop, kept, { maxBuffer: 1 << 26, cwd: tmpdir() });
        const file = await readFile(join(out, "run.json"), "utf8");
        assert.ok(withoutWall(answer.document) === withoutWall(file), "run.json differs");
      } finally {
        await rm(out, { recursive: true });
      }
    });
  }
});

test("what is wrong is what the command says", { skip }, async () => {
  const module = await engine();
  const good = await request("upload");
  const out = await mkdtemp(join(tmpdir(), "lasthop-playground-"));
  const wrong = [
    [good.text.replace('role = "station"', 'role = "statoin"')],
    [good.text.replace("[[flow]]", "[[flow]")],
    [`${good.text}\nnonsense = 3\n`],
    [good.text, "node.laptop.queue.kind=fq_codel"],
    [good.text, "node.laptpo.streams=1"],
    [good.text.replace('to = "server"', 'to = "severr"')],
  ];
  try {
    for (const [text, ...sets] of wrong) {
      await writeFile(join(out, "my.toml"), text);
      const asked = ["simulate", "my.toml", ...sets.flatMap((set) => ["--set", set])];
      const said = await execute(lasthop, asked, { cwd: out }).then(
        () => assert.fail("it is wrong"),
        (error) => error.stderr,
      );
      const told = assert.throws(() => module.start({ file: "my.toml", text, sets, run: 0 }), (error) => {
        for (const line of error.message.split("\n")) {
          // The command prints the same and shows the place; it wraps lines.
          const plain = (it) => it.replaceAll(/[^\p{L}\p{N}]+/gu, " ").trim();
          const message = line.slice(line.lastIndexOf(": ") + 2);
          assert.ok(plain(said).includes(plain(message)), `${line}\n${said}`);
        }
        return true;
      });
      assert.equal(told, undefined);
    }
  } finally {
    await rm(out, { recursive: true });
  }
  assert.throws(() => module.start({ file: "x", text: "", sets: [], run: 0, more: 1 }), /the request is not valid/);
});

test("a newer run ends an older one, and a cancelled one is gone", { skip }, async () => {
  const module = await engine();
  const slow = await request("scan/fig6");
  const quick = await request("hello");
  const alone = run(module, quick);
  module.start(slow);
  assert.equal(module.advance(0.5), null);
  assert.ok(module.done() > 0 && module.done() < 1);
  assert.deepEqual(run(module, quick), alone);
  module.start(slow);
  module.advance(0.5);
  module.cancel();
  assert.equal(module.done(), 0);
  assert.throws(() => module.advance(0.5), /no run has begun/);
  // Looking for knobs leaves a run as it is.
  module.start(quick);
  module.advance(1);
  assert.ok(JSON.parse(module.knobs(slow)).knobs.length > 5);
  let text = null;
  while (text === null) text = module.advance(1);
  assert.deepEqual(JSON.parse(text), alone);
});

test("a trap is told of, and what comes after it runs", { skip }, async () => {
  const module = await engine();
  const quick = await request("hello");
  const alone = run(module, quick);
  // More memory than there can be: a panic inside the module.
  const inner = module.exports;
  module.exports = { ...inner, lasthop_start: () => inner.lasthop_input(2 ** 32 - 1) };
  assert.throws(() => module.start(quick), /a bug in lasthop: panicked at .*capacity overflow/s);
  assert.deepEqual(run(module, quick), alone);
});

test("every knob of every scenario is taken", { skip }, async () => {
  const module = await engine();
  const { stdout } = await execute(lasthop, ["scenario", "list"]);
  const names = stdout.split("\n").map((line) => line.split(" ")[0]).filter((name) => name !== "");
  assert.ok(names.length > 40);
  for (const name of names) {
    const asked = await request(name);
    const { knobs } = JSON.parse(module.knobs(asked));
    assert.ok(knobs.length > 0, name);
    for (const { path, value, control } of knobs) {
      const words = control.kind === "choice" ? control.options.map(([word]) => word) : [control.min, control.max];
      let taken = 0;
      for (const word of words) {
        const set = `${path}=${value.replace("$x", word).replace("$y", "0").replaceAll("$", word)}`;
        try {
          module.start({ ...asked, sets: [set] });
          taken += 1;
        } catch (error) {
          assert.match(error.message, /--set |: /, `${name}: ${set}`);
        }
      }
      assert.ok(taken > 0, `${name} takes no value of ${path}`);
    }
  }
});
