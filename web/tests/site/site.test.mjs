// The site of the documentation as a reader has it: opened from the file system, on a wide screen
// and on a phone, light and dark. LASTHOP_SITE is its folder (.ci/run site).

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, missing } from "../browser.mjs";

const site = process.env.LASTHOP_SITE && resolve(process.env.LASTHOP_SITE);
const skip = missing() || (!site && "skipped, because LASTHOP_SITE names no site: .ci/run site");

/** All pages but those of the playground, which has tests of its own, and what mdBook has for itself. */
const pages = site
  ? readdirSync(site, { recursive: true })
      .filter((name) => name.endsWith(".html") && !/^(playground\/|404|toc)/.test(name))
      .sort()
  : [];

let browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(() => browser?.close());

/** A page of the site in a window; what it complains of, and what it asks a network for, is in `wrong`. */
async function open(width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`${page.url()}: ${error}`));
  page.on("console", (message) => message.type() === "error" && wrong.push(`${page.url()}: ${message.text()}`));
  page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || wrong.push(`asks for ${request.url()}`));
  const visit = (name) => page.goto(pathToFileURL(join(site, name)).href);
  return { page, visit, wrong };
}

for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
  test(`every page is as wide as the screen of ${width} pixels, ${scheme}`, { skip }, async () => {
    const { page, visit, wrong } = await open(width, scheme);
    for (const name of pages) {
      await visit(name);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > width) wrong.push(`${name} is ${wide} pixels wide`);
    }
    assert.deepEqual(wrong, []);
    assert.ok(pages.length > 100, `${pages.length} pages`);
    await page.context().close();
  });
}

test("a word is found without a network, and leads to its place", { skip }, async () => {
  const { page, visit, wrong } = await open(1280, "light");
  await visit("index.html");
  await page.keyboard.press("s");
  await page.keyboard.type("hidden_station");
  const first = page.locator("#mdbook-searchresults a").first();
  await first.waitFor();
  assert.match(await first.textContent(), /Captures/);
  await first.click();
  await page.waitForURL(/docs\/capture\.html/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("pictures take the colours of the theme that the reader chooses", { skip }, async () => {
  const { page, visit } = await open(1280, "light");
  const ink = () => page.locator(".plot text.text").first().evaluate((text) => getComputedStyle(text).fill);
  for (const name of ["docs/model.html", "docs/reproduce/jumbo.html"]) {
    await visit(name);
    const light = await ink();
    await page.evaluate(() => document.documentElement.classList.replace("light", "navy"));
    assert.notEqual(await ink(), light, name);
  }
  await page.context().close();
});
