// What tests of pages share: a headless Chromium, the programs, and the rules of axe-core. Where
// something is missing, `missing` says what, and the tests are skipped with that.

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const builds = ["release", "debug"].map((profile) => join(root, "target", profile));
/** The command: `LASTHOP`, or else what a build has left. */
export const lasthop = process.env.LASTHOP ?? builds.map((it) => join(it, "lasthop")).find(existsSync);
/** A server with a made-up emulation: the example `live` of `lasthop-serve`, beside the command. */
export const live = [...(lasthop ? [dirname(lasthop)] : []), ...builds].map((it) => join(it, "examples", "live")).find(existsSync);

/** Why a test cannot be made, or false. */
export function missing(...programs) {
  if (!existsSync(CHROMIUM)) return `skipped, because there is no ${CHROMIUM}: apt-get install chromium`;
  if (programs.includes("lasthop") && !lasthop) return "skipped, because there is no lasthop: cargo build, or set LASTHOP";
  if (programs.includes("live") && !live) return "skipped, because there is no example: cargo build -p lasthop-serve --example live";
  return false;
}

/** Debian's Chromium, which downloads nothing. */
export function launch() {
  const switches = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  // As root it has no sandbox of its own; it opens pages of the loopback only.
  if (process.getuid?.() === 0) switches.push("--no-sandbox");
  return chromium.launch({ executablePath: CHROMIUM, args: switches });
}

/** Starts a server that prints its address; returns the address, and what ends it. */
export async function serve(program, args) {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const address = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = line.match(/http:\S+/);
      if (found) resolve(found[0]);
    });
    child.on("exit", (status) => reject(new Error(`${program} ended with ${status}`)));
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const stop = async () => {
    child.stdin.end();
    child.kill("SIGINT");
    await ended;
  };
  return { address, child, stop };
}

/** A page that collects what goes wrong in it. */
export async function open(browser, address, { width = 1200, theme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, reducedMotion: "reduce" });
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (message) => {
    // What a server refuses is shown on the page, and is not wrong.
    if (message.type() === "error" && !message.text().includes("status of 4")) wrong.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(address).origin) && !request.url().startsWith("data:")) wrong.push(`it asks for ${request.url()}`);
  });
  page.setDefaultTimeout(8_000);
  // A page that was just built, instead of the one inside the program: ASSETS=../crates/serve/assets.
  const assets = process.env.ASSETS;
  if (assets) {
    await page.route(/viewer\.(js|css)$/, (route) => {
      const name = new URL(route.request().url()).pathname.split("/").pop();
      const type = name.endsWith("js") ? "text/javascript" : "text/css";
      return route.fulfill({ body: readFileSync(join(assets, name)), contentType: type });
    });
  }
  await page.goto(address);
  return { page, wrong, close: () => context.close() };
}

/** The rules of axe-core that a page breaks. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`));
}

/** How much wider a page is than its window. */
export function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
