// The page in Chromium, from file://: every control, both themes, wide and narrow, and the rules
// of axe-core. Pictures go to LASTHOP_PICTURES if it is set.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, missing, overflow } from "../browser.mjs";
import { folder, skip as notBuilt } from "./built.mjs";

const skip = notBuilt || missing();
const page_ = pathToFileURL(join(folder, "index.html")).href;
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

let browser;

before(async () => {
  if (!skip) browser = await launch();
});
after(async () => browser?.close());

/** A page that has its first answer; `errors` gets what goes wrong in it. */
async function open({ width = 1200, colorScheme = "light", hash = "" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => {
    if (!/^(file|blob|data):/.test(request.url())) errors.push(`it asks for ${request.url()}`);
  });
  await page.goto(page_ + hash);
  await page.waitForSelector("html[data-ready]");
  await settled(page);
  return { page, errors, close: () => context.close() };
}

/** Waits until nothing is being computed. */
async function settled(page) {
  await page.waitForFunction(() => /simulated in|cannot be run/.test(document.querySelector("#status").textContent));
}

/** What the page shows of a run: figures, findings and tables. */
const shown = (page) => page.locator(".figures, .findings, .tables").allTextContents().then((it) => it.join("\n"));

async function changed(page, act) {
  await page.evaluate(() => (document.querySelector("#status").textContent = "waiting"));
  await act();
  await settled(page);
}

/** The rules of axe-core that the page breaks. It may not load style sheets from file://. */
async function violations(page) {
  await page.evaluate(await readFile(axe, "utf8"));
  const results = await page.evaluate(() => globalThis.axe.run({ preload: false }));
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n  ")}`);
}

async function picture(page, name) {
  const pictures = process.env.LASTHOP_PICTURES;
  await page.evaluate(() => scrollTo(0, 0));
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

for (const [width, colorScheme] of [[1200, "light"], [1200, "dark"], [390, "light"], [390, "dark"]]) {
  test(`accessible and inside its width: ${width} px, ${colorScheme}`, { skip }, async () => {
    for (const hash of ["", "#scenario=places%2Fcafe&set=duration%3D5s"]) {
      const { page, errors, close } = await open({ width, colorScheme, hash });
      const before = await page.locator("details").evaluateAll((all) => all.map((it) => it.open));
      const opened = (states) =>
        page.locator("details").evaluateAll((all, states) => all.forEach((it, at) => (it.open = states[at])), states);
      await opened(before.map(() => true));
      assert.deepEqual(await violations(page), []);
      assert.equal(await overflow(page), 0, "as wide as its window");
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme);
      await opened(before);
      await picture(page, `playground-${hash === "" ? "upload" : "cafe"}-${width}-${colorScheme}`);
      assert.deepEqual(errors, []);
      await close();
    }
  });
}

test("every control changes its argument and gives an answer", { skip }, async () => {
  for (const scenario of ["upload", "contention", "places/home"]) {
    const { page, errors, close } = await open({ hash: `#scenario=${encodeURIComponent(scenario)}&set=duration%3D4s` });
    const ids = await page.locator(".knobs input, .knobs select").evaluateAll((all) => all.map((it) => it.id));
    assert.ok(ids.length >= 6, ids.join(" "));
    for (const id of ids) {
      const path = id.replace(/^knob-/, "");
      const control = page.locator(`[id="${id}"]`);
      await changed(page, async () => {
        if ((await control.evaluate((it) => it.tagName)) === "SELECT") {
          const now = await control.inputValue();
          const others = await control.locator("option").evaluateAll((all) => all.map((it) => it.value));
          await control.selectOption(others.filter((it) => it !== now && it !== "")[0]);
        } else {
          await control.focus();
          const before = await control.inputValue();
          await page.keyboard.press("ArrowRight");
          if ((await control.inputValue()) === before) await page.keyboard.press("ArrowLeft");
        }
      });
      const changes = await page.locator(".changes code").allTextContents();
      assert.ok(changes.some((set) => set.startsWith(`${path}=`)), `${scenario}: ${path} is not in ${changes}`);
      assert.ok(await page.locator(".wrong").isHidden(), `${path}: ${await page.locator(".wrong").textContent()}`);
      const command = await page.locator("#command").textContent();
      assert.ok(command.includes(`${path}=`), command);
    }
    for (const summary of await page.locator("#results summary").all()) await summary.click();
    for (const button of await page.locator(".legend button").all()) await button.click();
    assert.deepEqual(errors, []);
    await close();
  }
});

test("what changes the run changes what is shown, and undone it is as before", { skip }, async () => {
  const { page, errors, close } = await open({ hash: "#scenario=upload&set=duration%3D8s" });
  const before = await shown(page);
  const queue = page.locator('[id="knob-node.laptop.queue.kind"]');
  await changed(page, () => queue.selectOption("fq-codel"));
  assert.notEqual(await shown(page), before);
  assert.equal(await queue.inputValue(), "fq-codel");
  await changed(page, () => page.getByRole("button", { name: "Undo node.laptop.queue.kind=fq-codel" }).click());
  assert.equal(await shown(page), before);
  assert.equal(await queue.inputValue(), "drop-tail");
  assert.deepEqual(errors, []);
  await close();
});

test("a remedy is tried with a click, and takes the finding away", { skip }, async () => {
  const { page, errors, close } = await open();
  assert.match(await page.locator(".findings").textContent(), /bufferbloat/);
  await changed(page, () => page.getByRole("button", { name: /^Try node\.laptop\.queue\.kind=fq-codel/ }).click());
  assert.doesNotMatch(await page.locator(".findings").textContent(), /bufferbloat/);
  assert.match(await page.locator("#command").textContent(), /^lasthop simulate upload --set node\.laptop\.queue\.kind=fq-codel$/);
  assert.match(page.url(), /#scenario=upload&set=node\.laptop\.queue\.kind%3Dfq-codel$/);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await page.locator(".changes code").textContent(), "node.laptop.queue.kind=fq-codel");
  assert.deepEqual(errors, []);
  await close();
});

test("a wrong text gets lasthop's message, and the page goes on", { skip }, async () => {
  const { page, errors, close } = await open({ hash: "#scenario=hello" });
  await page.locator("summary", { hasText: "The scenario's text" }).click();
  const text = await page.locator("#text").inputValue();
  await changed(page, () => page.locator("#text").fill(text.replace('"saturated"', '"satiated"')));
  assert.match(await page.locator(".wrong").textContent(), /^my-hello\.toml:24: flow\.up\.rate: /);
  assert.deepEqual(await violations(page), []);
  await changed(page, () => page.locator("#text").fill(text.replace('"saturated"', '"3Mb/s"')));
  assert.ok(await page.locator(".wrong").isHidden());
  assert.equal(await page.locator("#command").textContent(), "lasthop simulate my-hello.toml");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the text" }).click();
  assert.equal((await download).suggestedFilename(), "my-hello.toml");
  await changed(page, () => page.getByRole("button", { name: "As it was" }).click());
  assert.equal(await page.locator("#text").inputValue(), text);
  assert.deepEqual(errors, []);
  await close();
});

test("an address with a wrong change says so, and can be mended", { skip }, async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${page_}#scenario=hello&set=bogus.key%3D3&set=seed%3D4`);
  await settled(page);
  assert.match(await page.locator(".wrong").textContent(), /^--set bogus\.key=3: bogus: unknown key/);
  assert.deepEqual(await violations(page), []);
  await changed(page, () => page.getByRole("button", { name: "Undo bogus.key=3" }).click());
  assert.ok(await page.locator(".wrong").isHidden());
  assert.equal(await page.locator("#command").textContent(), "lasthop simulate hello --set seed=4");
  assert.ok((await page.locator(".knobs input").count()) > 3);
  await context.close();
});

test("every scenario gives an answer, or is on its way to one", { skip }, async () => {
  const { page, errors, close } = await open();
  const names = await page.locator("#scenario option").evaluateAll((all) => all.map((it) => it.value));
  assert.ok(names.length > 40);
  for (const name of names) {
    await page.evaluate(() => (document.querySelector("#status").textContent = "waiting"));
    await page.locator("#scenario").selectOption(name);
    await page.waitForFunction(
      () => /simulated in|Computing: |cannot be run/.test(document.querySelector("#status").textContent),
    );
    assert.ok(await page.locator(".wrong").isHidden(), `${name}: ${await page.locator(".wrong").textContent()}`);
  }
  // A long run does not keep a short one waiting.
  await page.locator("#scenario").selectOption("scan/fig6");
  await page.waitForFunction(() => /Computing: /.test(document.querySelector("#status").textContent));
  await changed(page, () => page.locator("#scenario").selectOption("hello"));
  assert.match(await page.locator("#status").textContent(), /^5 s simulated in \d+ ms$/);
  assert.deepEqual(errors, []);
  await close();
});

test("answers come while a slider moves, and the last one is of its last place", { skip }, async () => {
  const { page, errors, close } = await open({ hash: "#scenario=hello" });
  const slider = page.locator('[id="knob-node.laptop.position"]');
  await page.evaluate(() => {
    globalThis.answers = 0;
    new MutationObserver(() => (globalThis.answers += 1)).observe(document.querySelector(".figures"), { childList: true });
  });
  await slider.focus();
  for (let step = 0; step < 40; step += 1) await page.keyboard.press("ArrowRight");
  await settled(page);
  await page.waitForTimeout(300);
  const answers = await page.evaluate(() => globalThis.answers);
  assert.ok(answers >= 10, `${answers} answers for 40 steps`);
  const now = await shown(page);
  await changed(page, () => page.reload());
  assert.equal(await shown(page), now);
  assert.deepEqual(errors, []);
  await close();
});

test("themes follow the system and the button", { skip }, async () => {
  const { page, close } = await open({ colorScheme: "dark" });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), "dark");
  await page.getByRole("button", { name: /^Theme/ }).click();
  assert.equal(await theme(), "light");
  await page.getByRole("button", { name: /^Theme/ }).click();
  assert.equal(await theme(), "dark");
  await close();
});
