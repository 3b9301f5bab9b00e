// What the page of a sweep draws of some data, checked without a browser. Run by node with the
// path of page.js; prints "ok".
"use strict";
const assert = require("node:assert");
const page = require(process.argv[2]);

const data = {
  keys: [
    { name: "n", texts: ["1", "10", "100"], numbers: [1, 10, 100] },
    { name: "width_mhz", texts: ["20", "40"], numbers: [20, 40] },
    { name: "kind", texts: ["<codel>", "fifo"], numbers: null },
  ],
  points: [],
  quantities: [{ name: "goodput_mbps", mean: [], ci: [], n: [] }],
};
for (let n = 0; n < 3; n += 1) for (let w = 0; w < 2; w += 1) for (let k = 0; k < 2; k += 1) {
  data.points.push([n, w, k]);
  const none = n === 2 && w === 1 && k === 0;
  data.quantities[0].mean.push(none ? null : 100 * n + 10 * w + k + 1);
  data.quantities[0].ci.push(none || n === 0 ? null : 2.5);
  data.quantities[0].n.push(none ? 0 : 4);
}

const choice = page.first(data);
assert.deepEqual([choice.x, choice.series, choice.logX], [0, 1, true]);
const curves = page.model(data, choice);
assert.deepEqual(curves.map((c) => c.name), [0, 1]);
assert.deepEqual(curves[0].points.map((p) => p.mean), [1, 101, 201]);
// What no run has is no point.
assert.deepEqual(curves[1].points.map((p) => p.mean), [11, 111]);
choice.held[2] = 1;
assert.deepEqual(page.model(data, choice)[1].points.map((p) => p.mean), [12, 112, 212]);

const count = (text, part) => text.split(part).length - 1;
const numbers = (text) => [...text.matchAll(/[ "MLHVa,]-?(NaN|undefined|Infinity)/g)].length;
for (const x of [0, 1, 2]) for (const series of [-1, 0, 1, 2]) for (const logX of [false, true]) for (const logY of [false, true]) {
  if (x === series) continue;
  const one = { ...choice, x, series, logX, logY };
  const svg = page.drawing(data, one, 390);
  assert.equal(numbers(svg), 0, svg);
  const points = page.model(data, one).reduce((sum, curve) => sum + curve.points.length, 0);
  assert.equal(count(svg, "<title>"), points);
  assert.equal(count(svg, 'class="line"'), page.model(data, one).length * (series < 0 ? 1 : 2));
  // Nothing of a name becomes markup.
  assert.equal(count(svg, "<codel>"), 0);
}
const map = page.heat(data, choice, 390);
assert.equal(count(map, "<rect"), 6);
assert.equal(count(page.rows(data, choice, 5), "<tr>"), 6);
assert.match(page.rows(data, choice, 5), /The first 5 of 12/);
assert.match(page.drawing({ ...data, quantities: [{ name: "x", mean: Array(12).fill(null), ci: [], n: [] }] }, choice, 390), /No run has x here/);

for (const [low, high] of [[0, 1], [0, 59.6], [-3, 7], [1e-6, 2e-6], [0, 1e9], [99.5, 100.5]]) {
  const ticks = page.ticks(low, high, 6);
  assert.ok(ticks.length >= 2 && ticks.length <= 8, `${low} ${high}: ${ticks}`);
  assert.ok(ticks.every((t) => t >= low - 1e-9 * high && t <= high * (1 + 1e-9)), `${ticks}`);
}
assert.deepEqual(page.powers(1, 50), [1, 2, 5, 10, 20, 50]);
assert.deepEqual(page.powers(1, 1000), [1, 10, 100, 1000]);
assert.equal(page.told(0.00012345), "1.234e-4");
assert.equal(page.told(null), "");
console.log("ok");
