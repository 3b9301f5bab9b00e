// The page of `lasthop serve` in a browser: every control, both themes, wide and narrow, against
// the rules of axe-core; and a running emulation, made up by the example `live`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { lasthop, launch, live, missing, open, overflow, serve, violations } from "./browser.mjs";

const SIZES = [
  { width: 1200, theme: "light" },
  { width: 1200, theme: "dark" },
  { width: 390, theme: "light" },
  { width: 390, theme: "dark" },
];

describe("runs", { skip: missing("lasthop") }, () => {
  let browser;
  let server;
  let folder;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "lasthop-viewer-"));
    const simulate = (name, ...args) =>
      execFileSync(lasthop, ["simulate", ...args, "--out", join(folder, name)], { stdio: ["ignore", "ignore", "inherit"] });
    simulate("before", "upload", "--set", "duration=4s");
    simulate("behind", "upload", "--set", "duration=4s", "--set", "node.laptop.queue.kind=fq-codel");
    simulate("broken", "hello", "--set", "duration=1s");
    simulate("scan", "scan", "--set", "duration=5s");
    simulate("links", "wifi7/two-links", "--set", "duration=2s");
    simulate("several", "upload", "--set", "duration=4s", "--runs", "2");
    truncateSync(join(folder, "broken", "events.parquet"), 500);
    server = await serve(lasthop, ["serve", folder]);
    browser = await launch();
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
    if (folder) rmSync(folder, { recursive: true });
  });

  /** A page with these runs, when all of it is there. */
  async function at(runs, size) {
    const it = await open(browser, `${server.address}#runs=${runs}`, size);
    await it.page.locator(".over-time figure").first().waitFor();
    return it;
  }

  /** The span that the timeline shows and has data for, in ns. */
  async function span(page) {
    const text = await page.locator(".air canvas[data-ready]").getAttribute("data-ready");
    return text.split("-").map(Number);
  }

  for (const size of SIZES) {
    test(`is in order at ${size.width} pixels, ${size.theme}`, async () => {
      const { page, wrong, close } = await at(size.width < 600 ? "0" : "0,1", size);
      assert.equal(await page.locator("html").getAttribute("data-theme"), size.theme);
      await page.locator(".air canvas[data-ready]").waitFor();
      // A table of each kind: all of them would take axe-core minutes.
      for (const part of [".over-time", ".air"]) await page.locator(`${part} summary`).first().click();
      assert.deepEqual(await violations(page), []);
      assert.ok((await overflow(page)) <= 0, "nothing is wider than the window");
      assert.deepEqual(wrong, []);
      await close();
    });
  }

  test("runs are chosen, and shown side by side with the same axes", async () => {
    const { page, wrong, close } = await at("0");
    const plots = page.locator(".over-time .row").first().locator("figure");
    assert.equal(await plots.count(), 1);
    assert.match(await page.locator(".findings").innerText(), /A queue that is too long/);
    await page.getByRole("checkbox", { name: "behind" }).check();
    await page.waitForFunction(() => document.querySelectorAll(".over-time .row:first-child figure").length === 2);
    assert.match(page.url(), /#runs=1,0|#runs=0,1/);
    assert.equal(await page.locator("#title").innerText(), "2 runs");
    await page.getByRole("button", { name: "only this: before" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".over-time .row:first-child figure").length === 1);
    await page.getByRole("checkbox", { name: "before" }).uncheck();
    await page.getByText("Choose one run").waitFor();
    assert.match(await page.locator("#runs").innerText(), /events\.parquet: expected a whole Parquet file/);
    await page.getByRole("checkbox", { name: "broken" }).check();
    await page.getByText("This run has no events.parquet").waitFor();
    assert.deepEqual(wrong, []);
    await close();
  });

  test("a finding has its remedy, and the numbers of its trial or why there is none", async () => {
    const { page, wrong, close } = await at("0");
    const finding = (nth) => page.locator(".findings ol").nth(nth).locator("> li").first();
    const tried = JSON.parse(readFileSync(join(folder, "before", "run.json"), "utf8")).findings[0];
    const text = await finding(0).innerText();
    assert.ok(text.includes(`Tried, and it helps: --set ${tried.remedy[0]}`), text);
    assert.equal(await finding(0).locator(".trial li").count(), tried.trial.quantities.length);
    const { quantity, unit, before, after } = tried.trial.quantities[0];
    const value = (it) => it.toFixed(it < 99.95 ? 1 : 0);
    assert.ok(text.includes(`${quantity} ${value(before)} → ${value(after)} ${unit}`), text);
    assert.ok(text.includes(`On real devices: ${tried.device}.`), text);
    await page.getByRole("checkbox", { name: "several/run-1" }).check();
    await page.locator(".findings.several").waitFor();
    const other = await finding(1).innerText();
    assert.ok(other.includes(`Worth a try: --set ${tried.remedy[0]}`), other);
    assert.match(other, /Not tried, because serve tries none/);
    assert.equal(await finding(1).locator(".trial").count(), 0);
    assert.deepEqual(wrong, []);
    await close();
  });

  test("links that packets took have a table, and lanes", async () => {
    const list = await (await fetch(`${server.address}runs`)).json();
    const { id } = list.runs.find((run) => run.name === "links");
    const run = JSON.parse(readFileSync(join(folder, "links", "run.json"), "utf8"));
    const { page, wrong, close } = await at(String(id), { width: 390, theme: "dark" });
    const rows = page.locator(".links-taken tbody tr");
    const expected = Object.entries(run.flows).flatMap(([flow, it]) => Object.entries(it.links).map(([link, { packets }]) => [flow, link, String(packets)]));
    assert.equal(expected.length, 4);
    const seen = await rows.evaluateAll((all) => all.map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent)));
    assert.deepEqual(seen.map(([flow, link, packets]) => [flow, link, packets.replaceAll(" ", "")]), expected);
    await page.locator(".air canvas[data-ready]").waitFor();
    await page.locator(".air summary").first().click();
    const lanes = await page.locator(".air tbody th").allInnerTexts();
    assert.ok(["ap@5GHz", "ap@6GHz", "laptop@5GHz", "laptop@6GHz"].every((lane) => lanes.includes(lane)), lanes.join());
    assert.ok((await overflow(page)) <= 0, "nothing is wider than the window");
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(wrong, []);
    await close();
  });

  test("a report opens beside the page, and runs no script", async () => {
    const { page, close } = await at("1");
    const [report] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("link", { name: /^Report/ }).click()]);
    await report.waitForLoadState();
    assert.match(await report.title(), /upload/);
    const head = await page.request.get(report.url());
    assert.match(head.headers()["content-security-policy"], /sandbox/);
    await close();
  });

  test("plots have values under the cursor, lines that are hidden, tables, and a zoom", async () => {
    const { page, wrong, close } = await at("1");
    await page.locator(".air canvas[data-ready]").waitFor();
    const figure = page.locator(".over-time figure").first();
    await figure.locator(".plot").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    // The cursor moves with the next picture of the browser.
    await page.waitForFunction(() => {
      const values = document.querySelector(".over-time figure").querySelectorAll("output");
      return [...values].some((value) => value.textContent !== "");
    });
    const line = figure.locator(".legend button").first();
    await line.click();
    assert.equal(await line.getAttribute("aria-pressed"), "false");
    await line.click();
    await figure.locator("summary").click();
    // A table is made when the browser says that it was opened, which is later than the click.
    await figure.locator("tbody tr").nth(10).waitFor();
    const all = await span(page);
    const box = await figure.locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40, { steps: 4 });
    await page.mouse.up();
    const [from, to] = await span(page);
    assert.ok(to - from < (all[1] - all[0]) * 0.4, "the timeline follows");
    await figure.locator(".plot").focus();
    await page.keyboard.press("Escape");
    assert.deepEqual(await span(page), all);
    const jump = page.getByRole("button", { name: "The air" });
    await jump.click();
    assert.ok(await page.locator(".air-section h2").isVisible());
    assert.deepEqual(wrong, []);
    await close();
  });

  test("the timeline zooms and moves by buttons, keys, wheel and mouse", async () => {
    const { page, wrong, close } = await at("1");
    const canvas = page.locator(".air canvas");
    await page.locator(".air canvas[data-ready]").waitFor();
    await canvas.scrollIntoViewIfNeeded();
    const all = await span(page);
    const length = async () => {
      const [from, to] = await span(page);
      return to - from;
    };
    const button = (name) => page.getByRole("button", { name, exact: true });
    await button("Zoom in").click();
    assert.equal(await length(), (all[1] - all[0]) / 2);
    const [before] = await span(page);
    await button("Later").click();
    assert.ok((await span(page))[0] > before);
    await button("Earlier").click();
    await button("Zoom out").click();
    await button("All: the whole run").click();
    assert.deepEqual(await span(page), all);
    await canvas.focus();
    for (const key of ["+", "+", "ArrowRight", "ArrowLeft", "-"]) await page.keyboard.press(key);
    assert.equal(await length(), (all[1] - all[0]) / 2);
    await page.keyboard.press("Home");
    assert.deepEqual(await span(page), all);
    await canvas.hover({ position: { x: 300, y: 60 } });
    await page.mouse.wheel(0, -240);
    const zoomed = await span(page);
    assert.ok(zoomed[1] - zoomed[0] < all[1] - all[0]);
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + 300, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + 200, box.y + 60, { steps: 3 });
    await page.mouse.up();
    assert.ok((await span(page))[0] > zoomed[0]);
    await canvas.dblclick({ position: { x: 300, y: 20 } });
    assert.ok((await length()) < zoomed[1] - zoomed[0]);
    assert.deepEqual(wrong, []);
    await close();
  });

  test("frames and packets are chosen, and a packet's way is told", async () => {
    const { page, wrong, close } = await at("1");
    const canvas = page.locator(".air canvas");
    await page.locator(".air canvas[data-ready]").waitFor();
    await canvas.focus();
    for (let times = 0; times < 6; times += 1) await page.keyboard.press("+");
    await span(page);
    await page.keyboard.press(".");
    await page.locator(".details h3", { hasText: "PPDU of" }).waitFor();
    const first = await page.locator(".details h3").first().innerText();
    await page.getByRole("button", { name: "Next frame" }).click();
    assert.notEqual(await page.locator(".details h3").first().innerText(), first);
    await page.getByRole("button", { name: "Frame before" }).click();
    assert.equal(await page.locator(".details h3").first().innerText(), first);
    // Some frame near here carried packets that came out of the hop.
    const packets = page.locator(".tags button");
    for (let times = 0; times < 40 && (await packets.count()) === 0; times += 1) {
      await canvas.focus();
      await page.keyboard.press(".");
    }
    await packets.first().click();
    await page.locator(".way li.delivered").first().waitFor();
    assert.match(await page.locator(".way li.ppdu").last().innerText(), /got it across/);
    assert.match(await page.locator(".way .parts").getAttribute("aria-label"), /Its delay: .* ms; .*wire/);
    assert.deepEqual(await violations(page), []);
    // A click where packets are: at the foot of a lane.
    const box = await canvas.boundingBox();
    for (let x = 20; x < box.width && !(await page.locator(".details h3", { hasText: /^Packet/ }).count()); x += 9) {
      await canvas.click({ position: { x, y: 22 + 15 + 24 + 5 + 6 } });
    }
    await page.locator(".details h3", { hasText: /^Packet/ }).waitFor();
    await page.getByLabel("Packet number").fill("999999999");
    await page.getByRole("button", { name: "Show its way" }).click();
    await page.getByText("this run has no packet 999999999").waitFor();
    await page.getByLabel("Packet number").fill("0");
    await page.getByRole("button", { name: "Show its way" }).click();
    await page.getByText("The way of packet 0").waitFor();
    assert.deepEqual(wrong, []);
    await close();
  });

  test("the run of the timeline is chosen among several, and the theme by a button", async () => {
    const { page, wrong, close } = await at("0,1,3");
    await page.locator(".air canvas[data-ready]").waitFor();
    const label = () => page.locator(".air canvas").getAttribute("aria-label");
    const lanes = await label();
    await page.locator("#air-run").selectOption("3");
    await page.waitForFunction((before) => document.querySelector(".air canvas[data-ready]")?.getAttribute("aria-label") !== before, lanes);
    const theme = () => page.locator("html").getAttribute("data-theme");
    const button = page.getByRole("button", { name: /^Theme/ });
    const seen = [];
    for (let times = 0; times < 3; times += 1) {
      await button.click();
      seen.push(`${await button.innerText()} ${await theme()}`);
    }
    assert.deepEqual(seen, ["Theme: light light", "Theme: dark dark", "Theme: automatic light"]);
    assert.deepEqual(wrong, []);
    await close();
  });
});

describe("a running emulation", { skip: missing("live") }, () => {
  let browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());

  for (const size of [SIZES[0], SIZES[3]]) {
    test(`is in order at ${size.width} pixels, ${size.theme}`, async () => {
      const server = await serve(live, []);
      const { page, wrong, close } = await open(browser, server.address, size);
      await page.locator("figure").nth(3).waitFor();
      await page.waitForTimeout(600);
      assert.deepEqual(await violations(page), []);
      assert.ok((await overflow(page)) <= 0, "nothing is wider than the window");
      assert.deepEqual(wrong, []);
      await close();
      await server.stop();
    });
  }

  test("knobs change it, what is refused is said at the knob, the end and a lost server are seen", async () => {
    const server = await serve(live, []);
    const { page, wrong, close } = await open(browser, server.address);
    await page.locator("#status", { hasText: /^live$/ }).waitFor();
    const delay = page.getByLabel("delay of the wire server-ap");
    await delay.fill("100");
    await page.locator(".changes", { hasText: "wire.server-ap.delay=100ms" }).waitFor();
    await delay.fill("190");
    const knob = page.locator(".knob.number");
    await knob.getByText("expected a delay of at most 150ms").waitFor();
    assert.equal(await delay.getAttribute("aria-invalid"), "true");
    await delay.focus();
    for (let times = 0; times < 60; times += 1) await page.keyboard.press("ArrowLeft");
    await page.locator(".changes", { hasText: "wire.server-ap.delay=130ms" }).waitFor();
    await page.waitForFunction(() => document.querySelector(".knob.number [role=alert]").textContent === "");
    await page.getByLabel("queue of laptop").selectOption("fq-codel");
    await page.locator(".changes", { hasText: "node.laptop.queue.kind=fq-codel" }).waitFor();
    await page.getByRole("switch", { name: "laptop saves power" }).check();
    await page.locator(".changes", { hasText: "node.laptop.sleeps=true" }).waitFor();
    await page.locator("#cause-flow").waitFor();
    // Another browser sees the same knobs and changes.
    const other = await open(browser, server.address);
    await other.page.locator(".changes li").nth(3).waitFor();
    assert.equal(await other.page.getByLabel("delay of the wire server-ap").inputValue(), "130");
    await other.close();
    server.child.stdin.write("end\n");
    await page.locator("#status", { hasText: "ended" }).waitFor();
    assert.ok(await delay.isDisabled());
    assert.deepEqual(wrong, []);
    await close();
    const lost = await open(browser, server.address);
    await lost.page.locator("#status", { hasText: "ended" }).waitFor();
    await lost.close();
    await server.stop();
  });

  test("knobs of other people's nodes are folded, and work", async () => {
    const server = await serve(live, []);
    const { page, wrong, close } = await open(browser, server.address);
    await page.locator("#status", { hasText: /^live$/ }).waitFor();
    assert.ok(await page.getByLabel("queue of laptop").isVisible());
    const guest = page.getByLabel("queue of guest");
    assert.ok(!(await guest.isVisible()));
    await page.locator(".fold summary", { hasText: "guest" }).click();
    await guest.selectOption("fq-codel");
    await page.locator(".changes", { hasText: "node.guest.queue.kind=fq-codel" }).waitFor();
    assert.match(await page.locator(".knob-side").innerText(), /runs until stopped, seed 1, updated every 100 ms/);
    assert.deepEqual(wrong, []);
    await close();
    await server.stop();
  });

  test("a connection that is lost is said", async () => {
    const server = await serve(live, []);
    const { page, close } = await open(browser, server.address);
    await page.locator("#status", { hasText: /^live$/ }).waitFor();
    server.child.stdin.write("drop\n");
    await page.locator("#status", { hasText: "connection lost" }).waitFor();
    await close();
    await server.stop();
  });
});
