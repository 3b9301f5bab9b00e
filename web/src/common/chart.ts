// Plots over uPlot: lines, or areas that add up, with a legend of buttons, marks across the
// plot, and the table behind it. Drag to zoom, double click or Escape to see all; plots with the
// same `link` share the cursor and the zoom. Arrow keys move the cursor.

import uPlot from "uplot";
import { h } from "./dom";
import { short } from "./format";
import { Behind, table } from "./table";
import { colour, onTheme } from "./theme";

/** A number, or a gap. */
export type Value = number | null;

/** A line, or an area. */
export interface Line {
  label: string;
  /** Index of its colour, 0 to 5; lines beyond the sixth repeat them with dashes. */
  series: number;
  /** Pixels on and off. */
  dash?: number[];
}

/** A mark across the plot. */
export interface Mark {
  x: number;
  label: string;
}

export interface ChartOptions {
  title: string;
  /** Unit of y, such as `Mb/s`. */
  unit: string;
  lines: Line[];
  /** Areas that add up; lines otherwise. */
  stacked?: boolean;
  /** Plots with the same name share cursor and zoom. */
  link?: string;
  /** What x is: `time, s` unless said otherwise. */
  x?: string;
  /** Height of the plot in pixels. */
  height?: number;
  /** The level of a heading that the title is, 3 if not given. */
  level?: 3 | 4;
  /** What is shown, after the title. */
  note?: string;
  /** Greatest y that is shown at least. */
  top?: number;
  /** Called when the reader zooms, with what is shown; null for all. */
  onZoom?: (range: [number, number] | null) => void;
}

const ROWS_MAX = 400;
const DASHES: number[][] = [[], [8, 4], [2.5, 2.5], [11, 3, 2, 3], [5, 2], [11, 3, 2, 3, 2, 3]];

/** The dash of the line with this index, so that lines differ by more than colour. */
export function dashOf(index: number): number[] {
  return DASHES[index % DASHES.length] ?? [];
}

export class Chart {
  readonly root: HTMLElement;
  private readonly options: ChartOptions;
  private readonly plot: uPlot;
  private readonly host: HTMLElement;
  private readonly outputs: HTMLOutputElement[] = [];
  private readonly behind: Behind;
  private readonly observer: ResizeObserver;
  private readonly forget: () => void;
  private x: number[] = [];
  private ys: Value[][] = [];
  private marks: Mark[] = [];
  private top: number;
  private readonly shown: boolean[];

  constructor(options: ChartOptions) {
    this.options = options;
    this.top = options.top ?? 0;
    this.shown = options.lines.map(() => true);
    this.host = h("div", { class: "plot", role: "img", tabindex: 0 });
    this.host.addEventListener("keydown", (event) => this.key(event));
    const legend = h("ul", { class: "legend", "aria-label": `Lines of ${options.title}` });
    options.lines.forEach((line, index) => legend.append(h("li", {}, this.entry(line, index))));
    this.behind = new Behind("Table", () => this.table());
    const heading = options.level === 4 ? h("h4", {}, options.title) : h("h3", {}, options.title);
    const note = [options.unit, options.note].filter((text) => text !== undefined && text !== "");
    this.root = h(
      "figure",
      { class: "chart" },
      h("figcaption", {}, heading, h("span", { class: "muted" }, note.join("; "))),
      this.host,
      legend,
      this.behind.root,
    );
    this.plot = new uPlot(this.uplotOptions(), this.data(), this.host);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.host);
    this.forget = onTheme(() => {
      this.plot.redraw(false, true);
      this.paintLegend(legend);
    });
    this.paintLegend(legend);
    this.describe();
  }

  /** Shows other data: a value of each line for every x. */
  setData(x: number[], ys: Value[][]): void {
    this.x = x;
    this.ys = ys;
    this.plot.setData(this.data(), true);
    this.describe();
    if (this.behind.root.open) this.behind.refresh();
  }

  /** Shows y up to this value at least. */
  setTop(top: number): void {
    this.top = Math.max(top, this.options.top ?? 0);
  }

  /** Shows other marks. */
  setMarks(marks: Mark[]): void {
    this.marks = marks;
    this.plot.redraw(false, false);
  }

  /** Shows x from `from` to `to`; all of it without. */
  setRange(range: [number, number] | null): void {
    const first = this.x[0];
    const last = this.x[this.x.length - 1];
    if (range !== null) this.plot.setScale("x", { min: range[0], max: range[1] });
    else if (first !== undefined && last !== undefined) this.plot.setScale("x", { min: first, max: last });
  }

  destroy(): void {
    this.observer.disconnect();
    this.forget();
    this.plot.destroy();
    this.root.remove();
  }

  private entry(line: Line, index: number): HTMLButtonElement {
    const output = h("output", {});
    this.outputs.push(output);
    const swatch = h("canvas", { class: "swatch", width: 24, height: 14, "aria-hidden": "true" });
    const button = h("button", { type: "button", "aria-pressed": "true" }, swatch, line.label, output);
    button.addEventListener("click", () => {
      const show = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(show));
      this.shown[index] = show;
      this.plot.setSeries(index + 1, { show });
      if (this.options.stacked) {
        this.plot.setData(this.data(), false);
        this.plot.redraw();
      }
    });
    return button;
  }

  private paintLegend(legend: HTMLElement): void {
    legend.querySelectorAll("canvas").forEach((canvas, index) => {
      const context = canvas.getContext("2d");
      const line = this.options.lines[index];
      if (context === null || line === undefined) return;
      context.clearRect(0, 0, 24, 14);
      context.fillStyle = context.strokeStyle = colour(`s${line.series % 6}`);
      if (this.options.stacked) {
        context.fillRect(0, 0, 24, 14);
      } else {
        context.lineWidth = 3;
        context.setLineDash(line.dash ?? []);
        context.beginPath();
        context.moveTo(0, 7);
        context.lineTo(24, 7);
        context.stroke();
      }
    });
  }

  /** What uPlot draws: of areas the sums with those below, from the last, which is on top. */
  private data(): uPlot.AlignedData {
    if (!this.options.stacked) {
      const empty = this.options.lines.map((): Value[] => []);
      return [this.x, ...(this.ys.length > 0 ? this.ys : empty)];
    }
    const sums: Value[][] = [];
    const sum: Value[] = this.x.map(() => null);
    this.options.lines.forEach((_, index) => {
      const values = this.ys[index] ?? [];
      if (this.shown[index]) {
        values.forEach((value, at) => {
          if (value !== null) sum[at] = (sum[at] ?? 0) + value;
        });
      }
      sums.push([...sum]);
    });
    return [this.x, ...sums];
  }

  private uplotOptions(): uPlot.Options {
    const { options } = this;
    const ink = (name: string) => (): string => colour(name);
    const font = '12px system-ui, "Segoe UI", Roboto, Arial, sans-serif';
    const axis = {
      stroke: ink("muted"),
      font,
      grid: { stroke: ink("grid"), width: 1 },
      ticks: { stroke: ink("axis"), width: 1, size: 4 },
      border: { show: false },
    };
    const series: uPlot.Series[] = options.lines.map((line, index) => ({
      label: line.label,
      stroke: ink(`s${line.series % 6}`),
      width: options.stacked ? 0.5 : 1.7,
      points: { show: false },
      ...(line.dash && !options.stacked ? { dash: line.dash } : {}),
      ...(options.stacked && index === 0 ? { fill: ink(`s${line.series % 6}`) } : {}),
    }));
    const bands: uPlot.Band[] = options.stacked
      ? options.lines.slice(1).map((line, index) => ({
          series: [index + 2, index + 1],
          fill: ink(`s${line.series % 6}`),
        }))
      : [];
    return {
      width: 300,
      height: options.height ?? 180,
      legend: { show: false },
      cursor: {
        drag: { x: true, y: false, setScale: true },
        points: { size: 7 },
        ...(options.link !== undefined ? { sync: { key: options.link, setSeries: false } } : {}),
      },
      scales: {
        x: { time: false },
        y: { range: (_, __, max) => [0, 1.06 * Math.max(this.top, Number.isFinite(max) ? max : 0) || 1] },
      },
      axes: [
        { ...axis, size: 26, label: options.x ?? "time, s", labelSize: 16, labelFont: font, labelGap: 0 },
        { ...axis, size: 52, values: (_, values) => values.map((value) => short(value).replace(/\.0+$/, "")) },
      ],
      series: [{}, ...series],
      bands,
      hooks: {
        setCursor: [() => this.tell()],
        draw: [(plot) => this.drawMarks(plot)],
        setSelect: [
          (plot) => {
            if (plot.select.width > 0) this.zoomed(plot);
          },
        ],
      },
    };
  }

  private zoomed(plot: uPlot): void {
    const from = plot.posToVal(plot.select.left, "x");
    const to = plot.posToVal(plot.select.left + plot.select.width, "x");
    this.options.onZoom?.([from, to]);
  }

  /** Shows the values under the cursor in the legend. */
  private tell(): void {
    const at = this.plot.cursor.idx;
    this.outputs.forEach((output, index) => {
      const value = at === null || at === undefined ? null : (this.ys[index]?.[at] ?? null);
      output.textContent = value === null ? "" : short(value);
    });
  }

  private drawMarks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${11 * ratio}px system-ui, "Segoe UI", Roboto, Arial, sans-serif`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    let row = 0;
    let end = -Infinity;
    for (const mark of this.marks) {
      const x = Math.round(plot.valToPos(mark.x, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = colour("text");
      ctx.lineWidth = ratio;
      ctx.setLineDash([4 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const width = ctx.measureText(mark.label).width + 8 * ratio;
      // Labels that would cover each other are below each other, three at most.
      row = x < end ? (row + 1) % 3 : 0;
      const left = Math.min(x + 3 * ratio, bbox.left + bbox.width - width);
      end = Math.max(end, left + width);
      const topEdge = bbox.top + row * 15 * ratio;
      ctx.fillStyle = colour("raised");
      ctx.fillRect(left, topEdge, width - 2 * ratio, 14 * ratio);
      ctx.fillStyle = colour("text");
      ctx.fillText(mark.label, left + 3 * ratio, topEdge + 1.5 * ratio);
    }
    ctx.restore();
  }

  private resize(): void {
    const width = Math.floor(this.host.clientWidth);
    if (width > 0 && width !== this.plot.width) {
      this.plot.setSize({ width, height: this.options.height ?? 180 });
    }
  }

  private key(event: KeyboardEvent): void {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (event.key === "Escape") {
      this.setRange(null);
      this.options.onZoom?.(null);
    }
    if (step === 0 || this.x.length === 0) return;
    event.preventDefault();
    const { min, max } = this.plot.scales["x"] ?? {};
    const before = this.plot.cursor.idx ?? (step > 0 ? -1 : this.x.length);
    let at = Math.min(this.x.length - 1, Math.max(0, before + step));
    const inside = (value: number | undefined): boolean =>
      value !== undefined && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
    while (!inside(this.x[at]) && at > 0 && at < this.x.length - 1) at += step;
    const x = this.x[at];
    if (x === undefined) return;
    this.plot.setCursor({ left: this.plot.valToPos(x, "x"), top: this.plot.over.clientHeight / 2 });
  }

  private describe(): void {
    const names = this.options.lines.map((line) => line.label).join(", ");
    const last = this.x[this.x.length - 1];
    const until = last === undefined ? "no data" : `until ${short(last)}`;
    const label = `${this.options.title}, ${this.options.unit}: ${names}; ${until}. The table has the numbers.`;
    this.host.setAttribute("aria-label", label);
  }

  private table(): HTMLElement {
    const { unit, lines, note } = this.options;
    const title = note ? `${this.options.title}, ${note}` : this.options.title;
    const every = Math.max(1, Math.ceil(this.x.length / ROWS_MAX));
    const rows: string[][] = [];
    for (let at = 0; at < this.x.length; at += every) {
      rows.push([short(this.x[at]), ...lines.map((_, index) => short(this.ys[index]?.[at]))]);
    }
    const name = every === 1 ? `${title}, ${unit}` : `${title}, ${unit}: one row in ${every}`;
    return table(name, [this.options.x ?? "time, s", ...lines.map((line) => line.label)], rows, 0);
  }
}
