// The page of a sweep. `model` and `drawing` are functions of the data and of what is chosen;
// what is below them puts their results into the page.
"use strict";

/** Numbers as people read them. */
function told(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e6 || size < 1e-3) ? value.toExponential(3) : String(+value.toPrecision(5));
}

/** The points with what is held, by the values of `x` and of `series` (an index of a key, or -1). */
function model(data, choice) {
  const { x, series, quantity, held } = choice;
  const free = (key) => key === x || key === series;
  const chosen = data.points.map((values, point) => ({ values, point }))
    .filter(({ values }) => data.keys.every((_, key) => free(key) || values[key] === held[key]));
  const of = data.quantities[quantity];
  const curves = new Map();
  for (const { values, point } of chosen) {
    const mean = of.mean[point];
    if (mean === null) continue;
    const name = series < 0 ? 0 : values[series];
    if (!curves.has(name)) curves.set(name, []);
    curves.get(name).push({ at: values[x], mean, ci: of.ci[point], n: of.n[point] });
  }
  const sorted = [...curves].sort(([a], [b]) => a - b);
  for (const [, points] of sorted) points.sort((a, b) => a.at - b.at);
  return sorted.map(([name, points]) => ({ name, points }));
}

/** Round numbers from about `low` to about `high`. */
function ticks(low, high, count) {
  const step = 10 ** Math.floor(Math.log10((high - low) / count));
  const fit = [1, 2, 2.5, 5, 10].map((n) => n * step).find((n) => (high - low) / n <= count);
  const result = [];
  for (let n = Math.ceil(low / fit - 1e-9); n * fit <= high + fit * 1e-9; n += 1) result.push(+(n * fit).toPrecision(12));
  return result;
}

/** Powers of ten, with 2 and 5 between if there are few. */
function powers(low, high) {
  const result = [];
  const between = Math.log10(high / low) < 2 ? [1, 2, 5] : [1];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1)
    for (const n of between) result.push(+(n * 10 ** e).toPrecision(12));
  return result.filter((n) => n >= low * (1 - 1e-9) && n <= high * (1 + 1e-9));
}

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const COLOURS = 8, DASHES = ["", "7 4", "2 3", "9 3 2 3"];
const SHAPES = [
  (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z`,
  (x, y) => `M${x - 3.2} ${y - 3.2}h6.4v6.4h-6.4z`,
  (x, y) => `M${x} ${y - 4.4}l4 7h-8z`,
  (x, y) => `M${x} ${y - 4.6}l4.6 4.6l-4.6 4.6l-4.6 -4.6z`,
];

/** A scale from values to places; `log` if asked for and possible. */
function scale(values, [from, to], log, isZeroIn) {
  let low = Math.min(...values), high = Math.max(...values);
  if (log && low > 0 && high > low) {
    const at = (v) => from + (to - from) * Math.log(v / low) / Math.log(high / low);
    return { at, ticks: powers(low, high) };
  }
  if (isZeroIn && low > 0 && low < 0.7 * high) low = 0;
  if (high === low) [low, high] = [low - Math.max(1, Math.abs(low)) / 2, high + Math.max(1, Math.abs(high)) / 2];
  return { at: (v) => from + (to - from) * (v - low) / (high - low), ticks: ticks(low, high, 6) };
}

/** The curves as SVG; each point with its interval, and what it is on hovering. */
function drawing(data, choice, width) {
  const curves = model(data, choice);
  const key = data.keys[choice.x], quantity = data.quantities[choice.quantity].name;
  if (!curves.length) return `<p class="muted">No run has ${escaped(quantity)} here.</p>`;
  const height = 380, left = 64, right = width - 16, top = 14, bottom = height - 48;
  const number = key.numbers !== null;
  const xOf = (index) => (number ? key.numbers[index] : index);
  const xs = curves.flatMap((c) => c.points.map((p) => xOf(p.at)));
  const ys = curves.flatMap((c) => c.points.flatMap((p) => [p.mean - (p.ci ?? 0), p.mean + (p.ci ?? 0)]));
  const across = scale(xs, [left + 14, right - 14], choice.logX && number, false);
  const up = scale(ys, [bottom - 8, top + 8], choice.logY, true);
  if (!number) across.ticks = [...new Set(xs)];
  const parts = [];
  for (const y of up.ticks) parts.push(`<path class="grid" d="M${left} ${up.at(y)}H${right}"/><text class="tick" x="${left - 8}" y="${up.at(y) + 4}" text-anchor="end">${told(y)}</text>`);
  const room = (right - left) / 60, every = Math.max(1, Math.ceil(across.ticks.length / room));
  across.ticks.filter((_, n) => n % every === 0).forEach((x) => parts.push(`<path class="grid" d="M${across.at(x)} ${bottom}v5"/><text class="tick" x="${across.at(x)}" y="${bottom + 19}" text-anchor="middle">${escaped(number ? told(x) : key.texts[x])}</text>`));
  parts.push(`<path class="axis" d="M${left} ${top}V${bottom}H${right}"/>`);
  parts.push(`<text class="name" x="${(left + right) / 2}" y="${height - 8}" text-anchor="middle">${escaped(key.name)}</text>`);
  parts.push(`<text class="name" transform="translate(14 ${(top + bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(quantity)}</text>`);
  curves.forEach(({ name, points }, n) => {
    const at = points.map((p) => [across.at(xOf(p.at)), up.at(p.mean)]);
    const line = at.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    const marks = points.map((p, i) => {
      const [x, y] = at[i].map((v) => +v.toFixed(1));
      const whisker = p.ci ? `<path d="M${x} ${up.at(p.mean - p.ci).toFixed(1)}V${up.at(p.mean + p.ci).toFixed(1)}"/>` : "";
      const of = choice.series < 0 ? "" : `${data.keys[choice.series].name} ${data.keys[choice.series].texts[name]}\n`;
      const title = `${of}${key.name} ${key.texts[p.at]}\n${quantity} ${told(p.mean)}${p.ci === null ? "" : ` ± ${told(p.ci)}`} (${p.n} run${p.n === 1 ? "" : "s"})`;
      return `<g>${whisker}<path class="mark" d="${SHAPES[n % SHAPES.length](x, y)}"/><path class="touch" d="${SHAPES[0](x, y)}"/><title>${escaped(title)}</title></g>`;
    });
    parts.push(`<g class="c${n % COLOURS}"><path class="line" stroke-dasharray="${DASHES[Math.floor(n / COLOURS) % DASHES.length] || DASHES[n % DASHES.length]}" d="${line}"/>${marks.join("")}</g>`);
  });
  const legend = choice.series < 0 ? "" : `<p class="legend">${escaped(data.keys[choice.series].name)}: ${curves.map(({ name }, n) => `<span><svg width="30" height="12" class="c${n % COLOURS}"><path class="line" stroke-dasharray="${DASHES[Math.floor(n / COLOURS) % DASHES.length] || DASHES[n % DASHES.length]}" d="M1 6h28"/><path class="mark" d="${SHAPES[n % SHAPES.length](15, 6)}"/></svg>${escaped(data.keys[choice.series].texts[name])}</span>`).join(" ")}</p>`;
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(`${quantity} over ${key.name}`)}">${parts.join("")}</svg>${legend}`;
}

/** A heat map of two keys with numbers: dark is much. */
function heat(data, choice, width) {
  const curves = model(data, choice);
  const across = data.keys[choice.x], down = data.keys[choice.series];
  const all = curves.flatMap((c) => c.points.map((p) => p.mean));
  if (!all.length) return "";
  const low = Math.min(...all), high = Math.max(...all);
  const columns = [...new Set(curves.flatMap((c) => c.points.map((p) => p.at)))].sort((a, b) => a - b);
  const left = 70, cell = (width - left - 10) / columns.length, line = Math.max(16, Math.min(36, 360 / curves.length));
  const parts = [];
  [...curves].reverse().forEach(({ name, points }, row) => {
    const y = 8 + row * line;
    parts.push(`<text class="tick" x="${left - 8}" y="${y + line / 2 + 4}" text-anchor="end">${escaped(down.texts[name])}</text>`);
    for (const p of points) {
      const share = high > low ? (p.mean - low) / (high - low) : 0.5;
      const title = `${across.name} ${across.texts[p.at]}\n${down.name} ${down.texts[name]}\n${data.quantities[choice.quantity].name} ${told(p.mean)}${p.ci === null ? "" : ` ± ${told(p.ci)}`}`;
      const x = left + columns.indexOf(p.at) * cell;
      parts.push(`<g><rect class="cell" x="${x.toFixed(1)}" y="${y}" width="${(cell - 1).toFixed(1)}" height="${line - 1}" style="--share:${share.toFixed(3)}"/>${cell > 44 ? `<text class="in${share > 0.5 ? " over" : ""}" x="${(x + cell / 2).toFixed(1)}" y="${y + line / 2 + 4}" text-anchor="middle">${told(+p.mean.toPrecision(3))}</text>` : ""}<title>${escaped(title)}</title></g>`);
    }
  });
  const bottom = 8 + curves.length * line, every = Math.max(1, Math.ceil(columns.length / ((width - left) / 60)));
  columns.forEach((at, n) => { if (n % every === 0) parts.push(`<text class="tick" x="${left + (n + 0.5) * cell}" y="${bottom + 16}" text-anchor="middle">${escaped(across.texts[at])}</text>`); });
  parts.push(`<text class="name" x="${(left + width) / 2}" y="${bottom + 38}" text-anchor="middle">${escaped(across.name)}</text>`);
  parts.push(`<text class="name" transform="translate(14 ${bottom / 2}) rotate(-90)" text-anchor="middle">${escaped(down.name)}</text>`);
  return `<svg viewBox="0 0 ${width} ${bottom + 46}" role="img" aria-label="heat map">${parts.join("")}</svg><p class="muted">${told(low)} (light) to ${told(high)} (dark)</p>`;
}

/** The rows of the chosen quantity, at most so many. */
function rows(data, choice, most) {
  const of = data.quantities[choice.quantity];
  const body = data.points.slice(0, most).map((values, point) => `<tr>${values.map((value, key) => `<td class="number">${escaped(data.keys[key].texts[value])}</td>`).join("")}<td class="number">${told(of.mean[point])}</td><td class="number">${of.ci[point] === null ? "" : `± ${told(of.ci[point])}`}</td><td class="number">${of.n[point]}</td></tr>`);
  const head = [...data.keys.map((key) => key.name), of.name, "95 %", "runs"].map((name) => `<th class="number">${escaped(name)}</th>`);
  const more = data.points.length > most ? `<p class="muted">The first ${most} of ${data.points.length} combinations; all are in runs.parquet.</p>` : "";
  return `<table><thead><tr>${head.join("")}</tr></thead><tbody>${body.join("")}</tbody></table>${more}`;
}

/** What is shown first: the key with most numbers across, the next one as curves. */
function first(data) {
  const size = (key) => (data.keys[key].numbers ? 1e6 : 0) + data.keys[key].texts.length;
  const order = data.keys.map((_, key) => key).sort((a, b) => size(b) - size(a));
  const x = order[0], series = order.length > 1 && data.keys[order[1]].texts.length > 1 ? order[1] : -1;
  const numbers = data.keys[x].numbers;
  const logX = numbers !== null && numbers[0] > 0 && numbers[numbers.length - 1] / numbers[0] >= 30;
  return { x, series, quantity: 0, held: data.keys.map(() => 0), logX, logY: false };
}

if (typeof document !== "undefined") {
  const data = JSON.parse(document.getElementById("data").textContent);
  const choice = first(data);
  const get = (id) => document.getElementById(id);
  const option = (value, text, chosen) => `<option value="${value}"${value === chosen ? " selected" : ""}>${escaped(text)}</option>`;
  const select = (id, label, options) => `<label>${label} <select id="${id}">${options.join("")}</select></label>`;
  const show = () => {
    const names = data.keys.map((key) => key.name);
    const others = names.map((_, key) => key).filter((key) => key !== choice.x && key !== choice.series && data.keys[key].texts.length > 1);
    get("choice").innerHTML = [
      select("quantity", "quantity", data.quantities.map((q, n) => option(n, q.name, choice.quantity))),
      select("x", "over", names.map((name, n) => option(n, name, choice.x))),
      select("series", "a curve for each", [option(-1, "-", choice.series), ...names.map((name, n) => n === choice.x ? "" : option(n, name, choice.series))]),
      ...others.map((key) => select(`held${key}`, escaped(names[key]), data.keys[key].texts.map((text, n) => option(n, text, choice.held[key])))),
      data.keys[choice.x].numbers ? `<label><input type="checkbox" id="logX"${choice.logX ? " checked" : ""}> logarithmic across</label>` : "",
      `<label><input type="checkbox" id="logY"${choice.logY ? " checked" : ""}> logarithmic up</label>`,
    ].join(" ");
    const width = Math.max(330, Math.min(920, get("curves").clientWidth || 920));
    get("curves").innerHTML = drawing(data, choice, width);
    const isMap = choice.series >= 0 && data.keys[choice.x].numbers && data.keys[choice.series].numbers;
    get("map").hidden = !isMap;
    get("heat").innerHTML = isMap ? heat(data, choice, width) : "";
    get("rows").innerHTML = rows(data, choice, 500);
    for (const control of get("choice").querySelectorAll("select, input")) control.onchange = () => {
      const { id } = control;
      if (id.startsWith("held")) choice.held[+id.slice(4)] = +control.value;
      else if (control.type === "checkbox") choice[id] = control.checked;
      else choice[id] = +control.value;
      if (choice.series === choice.x) choice.series = -1;
      show();
      get(id)?.focus();
    };
  };
  show();
  addEventListener("resize", show);
} else {
  module.exports = { model, ticks, powers, drawing, heat, rows, first, told };
}
