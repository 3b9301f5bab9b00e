// A running emulation: readings and changes come as events of the server, and the plots are
// those of files. The connection is made again by the browser when it is lost.

import type { Mark, Value } from "../common/chart";
import { h } from "../common/dom";
import { short } from "../common/format";
import { CAUSES } from "../common/causes";
import type { Series, SeriesEntry } from "./api";
import { Knobs, type Knob } from "./knobs";
import { Plots } from "./plots";

interface Change {
  at_s: number;
  set: Record<string, string | number | boolean>;
}

interface Hello {
  scenario: string;
  seed?: number;
  duration_s?: number | null;
  interval_s?: number;
  knobs?: Knob[];
  changes?: Change[];
}

interface Reading {
  at_s: number;
  flows?: { name: string; own?: boolean; mbps?: Value; rtt_ms?: Value; delay_ms?: Value; parts_ms?: Record<string, number> | null; cwnd?: Value }[];
  nodes?: { name: string; own?: boolean; queue_packets?: Value; airtime?: Value }[];
  links?: { name: string; own?: boolean; ppdus?: Value; mpdus_per_ppdu?: Value; error_rate?: Value; rate_mbps?: Value }[];
}

/** Most readings that are kept: ten minutes at ten a second. */
const READINGS_MAX = 6_000;
/** How often plots are drawn at most, in ms. */
const DRAW_MS = 200;

/** Series that grow by a reading at a time. */
export class Growing {
  readonly series: Series = { at_s: [], flows: [], nodes: [], links: [], is_cut: false };
  /** The names of the reader's own flows, nodes and links. */
  readonly own = new Set<string>();

  clear(): void {
    this.series.at_s = [];
    this.series.flows = [];
    this.series.nodes = [];
    this.series.links = [];
    this.own.clear();
  }

  add(reading: Reading): void {
    const last = this.series.at_s[this.series.at_s.length - 1];
    if (last !== undefined && reading.at_s <= last) return;
    this.series.at_s.push(reading.at_s);
    for (const it of [...(reading.flows ?? []), ...(reading.nodes ?? []), ...(reading.links ?? [])]) {
      if (it.own === true) this.own.add(it.name);
    }
    for (const flow of reading.flows ?? []) {
      const parts: Record<string, Value> = {};
      for (const cause of CAUSES) parts[`${cause.key}_ms`] = flow.parts_ms?.[cause.key] ?? null;
      this.put(this.series.flows, flow.name, {
        throughput_mbps: flow.mbps ?? null,
        rtt_ms: flow.rtt_ms ?? null,
        one_way_delay_ms: flow.delay_ms ?? null,
        cwnd_packets: flow.cwnd ?? null,
        ...parts,
      });
    }
    for (const node of reading.nodes ?? []) {
      const values = { queue_packets: node.queue_packets ?? null, airtime_fraction: node.airtime ?? null };
      this.put(this.series.nodes, node.name, values);
    }
    for (const link of reading.links ?? []) {
      this.put(this.series.links, link.name, {
        mpdus_per_ppdu: link.mpdus_per_ppdu ?? null,
        mpdu_error_rate: link.error_rate ?? null,
        data_rate_mbps: link.rate_mbps ?? null,
      });
    }
    const entries = [...this.series.flows, ...this.series.nodes, ...this.series.links];
    const length = this.series.at_s.length;
    // Who has no reading this time has a gap.
    for (const entry of entries) {
      for (const values of Object.values(entry)) if (Array.isArray(values) && values.length < length) values.push(null);
    }
    if (length > READINGS_MAX) {
      this.series.at_s.shift();
      for (const entry of entries) for (const values of Object.values(entry)) if (Array.isArray(values)) values.shift();
    }
  }

  private put(entries: SeriesEntry[], name: string, values: Record<string, Value>): void {
    const length = this.series.at_s.length;
    let entry = entries.find((it) => it.name === name);
    if (entry === undefined) {
      entry = { name };
      entries.push(entry);
    }
    for (const [quantity, value] of Object.entries(values)) {
      let column = entry[quantity];
      if (!Array.isArray(column)) {
        column = new Array<Value>(length - 1).fill(null);
        entry[quantity] = column;
      }
      column.push(value);
    }
  }
}

/** A number without decimals, if it has none. */
function whole(value: number): string {
  const rounded = Math.round(value * 1e3) / 1e3;
  return Number.isInteger(rounded) ? String(rounded) : short(value);
}

/** A change as a label on a plot: the end of its path, and the value. */
export function labelOf(change: Change): string {
  const each = Object.entries(change.set).map(([path, value]) => `${path.split(".").slice(-2).join(".")} ${String(value)}`);
  return each.join(", ");
}

export class LivePage {
  readonly root: HTMLElement;
  private readonly plots = new Plots();
  private readonly growing = new Growing();
  private readonly knobHost = h("div", {});
  private readonly about = h("p", { class: "muted" });
  private readonly missed = h("p", { class: "muted", role: "status" });
  private readonly changesHost = h("ol", { class: "changes" });
  private readonly again = h("button", { type: "button", hidden: true, onclick: () => this.connect() }, "Connect again");
  private readonly setStatus: (text: string, kind: "good" | "bad" | "") => void;
  private knobs: Knobs | null = null;
  private changes: Change[] = [];
  private source: EventSource | null = null;
  private drawing: number | null = null;
  private lost = 0;

  constructor(setStatus: (text: string, kind: "good" | "bad" | "") => void, setTitle: (text: string) => void) {
    this.setStatus = setStatus;
    this.setTitle = setTitle;
    const changes = h("section", { "aria-label": "Changes" }, h("h2", {}, "Changes"), this.changesHost);
    this.root = h(
      "div",
      { class: "live" },
      h("section", { class: "knob-side", "aria-label": "Knobs" }, h("h2", {}, "Knobs"), this.about, this.again, this.knobHost, changes),
      h("section", { class: "live-plots", "aria-label": "Over time" }, this.missed, this.plots.root),
    );
    this.connect();
  }

  private readonly setTitle: (text: string) => void;

  private connect(): void {
    this.again.hidden = true;
    this.source?.close();
    const source = new EventSource("live");
    this.source = source;
    this.setStatus("connecting", "");
    const on = (kind: string, act: (data: never) => void): void => {
      source.addEventListener(kind, (event) => act(JSON.parse((event as MessageEvent<string>).data) as never));
    };
    on("hello", (hello: Hello) => this.hello(hello));
    on("reading", (reading: Reading) => {
      this.growing.add(reading);
      this.draw();
    });
    on("change", (change: Change) => {
      this.change(change);
      this.draw();
    });
    on("missed", (missed: { events: number }) => {
      this.lost += missed.events;
      this.missed.textContent = `${this.lost} readings were missed, because this page was too slow.`;
    });
    on("end", () => {
      source.close();
      this.knobs?.disable();
      this.setStatus("ended", "");
      this.draw();
    });
    source.addEventListener("error", () => {
      const gone = source.readyState === EventSource.CLOSED;
      this.setStatus(gone ? "connection lost" : "connection lost, trying again", "bad");
      this.again.hidden = !gone;
    });
  }

  private hello(hello: Hello): void {
    this.growing.clear();
    this.lost = 0;
    this.missed.textContent = "";
    this.changes = [];
    this.knobs = new Knobs(hello.knobs ?? []);
    this.knobHost.replaceChildren(this.knobs.root);
    this.changesHost.replaceChildren();
    for (const change of hello.changes ?? []) this.change(change);
    const length = hello.duration_s === null || hello.duration_s === undefined ? "runs until stopped" : `runs for ${whole(hello.duration_s)} s`;
    const every = hello.interval_s === undefined ? "" : `, updated every ${whole(hello.interval_s * 1000)} ms`;
    this.about.textContent = `${length}${hello.seed === undefined ? "" : `, seed ${hello.seed}`}${every}`;
    this.setTitle(`${hello.scenario}, emulated now`);
    this.setStatus("live", "good");
  }

  /** Notes a change, which may come with `hello` and again as an event. */
  private change(change: Change): void {
    const text = JSON.stringify(change);
    if (this.changes.some((it) => JSON.stringify(it) === text)) return;
    this.changes.push(change);
    for (const [path, value] of Object.entries(change.set)) {
      this.knobs?.changed(path, value);
      this.changesHost.append(h("li", {}, h("span", { class: "when" }, `${short(change.at_s)} s`), h("code", {}, `${path}=${String(value)}`)));
    }
  }

  private draw(): void {
    if (this.drawing !== null) return;
    this.drawing = window.setTimeout(() => {
      this.drawing = null;
      const marks = this.changes.map((change): Mark => ({ x: change.at_s, label: labelOf(change) }));
      this.plots.update([{ name: "live", series: this.growing.series, marks, flows: {}, own: this.growing.own }]);
    }, DRAW_MS);
  }
}
