// The timeline of the air: a lane for each node and each link of a device, drawn on a canvas. What is there is drawn at
// once, stretched, while more of it is asked for. Drag or ← → to move, + − or the wheel (with
// the focus, or with Ctrl) to zoom, two fingers to pinch, `,` `.` for the frame before and after.

import { count, instant, short, time } from "../common/format";
import { h } from "../common/dom";
import { Behind, table } from "../common/table";
import { colour, onTheme } from "../common/theme";
import { get, type Air, type Lane, type Packets, type Ppdus } from "./api";

/** A PPDU or an event of a packet that the reader chose. */
export interface Chosen {
  text: string;
  facts: [string, string][];
  /** Numbers of the packets that it is about, as far as is known. */
  packets: number[];
}

const LANE = { label: 15, frames: 24, waiting: 5, queue: 12, gap: 7 } as const;
const AXIS_HEIGHT = 22;
/** The shortest span that is shown, in ns. */
const SPAN_MIN = 2_000;
const CLASSES = ["data", "retries", "control", "management", "collided"] as const;
const ROWS_MAX = 300;
/** Most crosses in a lane. */
const DROPS_MAX = 60;

export class Timeline {
  readonly root: HTMLElement;
  private readonly canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": "Timeline of the air", "aria-keyshortcuts": "ArrowLeft ArrowRight Plus Minus Home Comma Period" });
  private readonly notice = h("p", { class: "muted", role: "status" });
  private readonly behind: Behind;
  private readonly run: number;
  private readonly onChoose: (chosen: Chosen) => void;
  private readonly end: number;
  private from = 0;
  private to: number;
  private view: Air | null = null;
  private abort: AbortController | null = null;
  private wanted: number | null = null;
  private frame: number | null = null;
  private selected: { lane: number; at: number } | null = null;
  private readonly pointers = new Map<number, number>();
  private moved = 0;
  private readonly observer: ResizeObserver;
  private readonly forget: () => void;

  constructor(run: number, durationNs: number, onChoose: (chosen: Chosen) => void) {
    this.run = run;
    this.onChoose = onChoose;
    this.end = Math.max(durationNs, SPAN_MIN);
    this.to = this.end;
    this.behind = new Behind("Table of the shown data", () => this.table());
    this.root = h(
      "div",
      { class: "air" },
      this.controls(),
      h("div", { class: "air-canvas" }, this.canvas),
      legend(),
      this.notice,
      this.behind.root,
    );
    this.listen();
    this.observer = new ResizeObserver(() => this.changed());
    this.observer.observe(this.canvas);
    this.forget = onTheme(() => this.draw());
    this.changed();
  }

  destroy(): void {
    this.abort?.abort();
    if (this.wanted !== null) clearTimeout(this.wanted);
    this.observer.disconnect();
    this.forget();
    this.root.remove();
  }

  /** Shows a span of time, in ns. */
  show(from: number, to: number): void {
    const span = Math.min(Math.max(to - from, SPAN_MIN), this.end);
    const first = Math.min(Math.max(from, 0), this.end - span);
    this.from = Math.round(first);
    this.to = Math.round(first + span);
    this.changed();
  }

  private controls(): HTMLElement {
    const button = (label: string, text: string, act: () => void): HTMLElement =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    return h(
      "div",
      { class: "controls", role: "group", "aria-label": "Legend of the timeline" },
      button("Zoom in", "+", () => this.zoom(0.5)),
      button("Zoom out", "−", () => this.zoom(2)),
      button("Earlier", "←", () => this.move(-0.25)),
      button("Later", "→", () => this.move(0.25)),
      button("All: the whole run", "All", () => this.show(0, this.end)),
      button("Frame before", "‹ frame", () => this.step(-1)),
      button("Next frame", "frame ›", () => this.step(1)),
    );
  }

  private zoom(factor: number, at = (this.from + this.to) / 2): void {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  private move(share: number): void {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  private listen(): void {
    const { canvas } = this;
    const at = (event: MouseEvent): number => this.from + (event.offsetX / this.width()) * (this.to - this.from);
    canvas.addEventListener(
      "wheel",
      (event) => {
        const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
        if (sideways) {
          event.preventDefault();
          this.move(event.deltaX / this.width());
        } else if (event.ctrlKey || event.metaKey || document.activeElement === canvas) {
          event.preventDefault();
          this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), at(event));
        }
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, event.offsetX);
      this.moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = this.pointers.get(event.pointerId);
      if (before === undefined) return;
      this.drag(event.pointerId, before, event.offsetX);
    });
    const lift = (event: PointerEvent): void => {
      const was = this.pointers.delete(event.pointerId);
      if (was && this.pointers.size === 0 && this.moved < 4 && event.type === "pointerup") {
        this.choose(event.offsetX, event.offsetY);
      }
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("dblclick", (event) => this.zoom(0.25, at(event)));
    canvas.addEventListener("keydown", (event) => {
      const acts: Record<string, () => void> = {
        ArrowLeft: () => this.move(-0.2),
        ArrowRight: () => this.move(0.2),
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
        Home: () => this.show(0, this.end),
        ",": () => this.step(-1),
        ".": () => this.step(1),
      };
      const act = acts[event.key];
      if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
  }

  /** Moves with one finger or the mouse, zooms with two fingers. */
  private drag(id: number, before: number, now: number): void {
    const span = this.to - this.from;
    const others = [...this.pointers].filter(([other]) => other !== id);
    const other = others[0]?.[1];
    this.pointers.set(id, now);
    this.moved += Math.abs(now - before);
    if (other === undefined) {
      this.move((before - now) / this.width());
    } else {
      const apart = Math.max(Math.abs(now - other), 8);
      const factor = Math.max(Math.abs(before - other), 8) / apart;
      this.zoom(factor, this.from + ((now + other) / 2 / this.width()) * span);
    }
  }

  private width(): number {
    return Math.max(this.canvas.clientWidth, 1);
  }

  private changed(): void {
    delete this.canvas.dataset["ready"];
    this.draw();
    if (this.wanted !== null) clearTimeout(this.wanted);
    // What is asked for while the reader still moves would be thrown away.
    this.wanted = window.setTimeout(() => void this.load(), this.view === null ? 0 : 60);
  }

  /** Asks for what is shown, and for half as much before and after it. */
  private async load(): Promise<void> {
    const span = this.to - this.from;
    const from = Math.max(0, Math.floor(this.from - span / 2));
    const to = Math.min(this.end, Math.ceil(this.to + span / 2));
    const density = Math.min(devicePixelRatio, 2) * this.width() / span;
    const width = Math.max(1, Math.min(4096, Math.round((to - from) * density), to - from));
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    try {
      const query = `from_ns=${from}&to_ns=${to}&width=${width}`;
      this.view = await get<Air>(`run/${this.run}/air?${query}`, abort.signal);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.notice.textContent = error instanceof Error ? error.message : String(error);
      this.notice.classList.add("bad");
      return;
    }
    this.notice.classList.remove("bad");
    this.tell();
    this.draw();
    this.behind.refresh();
  }

  private tell(): void {
    const view = this.view;
    if (view === null) return;
    const span = `${instant(this.from, this.to - this.from)} to ${instant(this.to, this.to - this.from)} (${time(this.to - this.from)})`;
    const how = view.lanes.some((lane) => lane.shares !== undefined)
      ? "too many for single frames: shares of the time by kind; zoom in to see each"
      : "each frame is shown; click one, or step from frame to frame";
    const cut = view.events < view.events_all ? ` Only the first ${view.events.toLocaleString("en")} of ${view.events_all.toLocaleString("en")} events of the run are shown, until ${short(view.until_ns / 1e9)} s.` : "";
    this.notice.textContent = `${span}. ${count(view.ppdus, "PPDU")} here and beside: ${how}.${cut}`;
    this.canvas.setAttribute("aria-label", `Timeline of the air, ${view.lanes.length} lanes, ${span}`);
    this.canvas.dataset["ready"] = `${this.from}-${this.to}`;
  }

  private x(ns: number): number {
    return ((ns - this.from) / (this.to - this.from)) * this.width();
  }

  private tops(): number[] {
    const tops: number[] = [];
    let top: number = AXIS_HEIGHT;
    for (const lane of this.view?.lanes ?? []) {
      tops.push(top);
      top += LANE.label + (lane.has_radio ? LANE.frames + LANE.waiting : 0) + (lane.has_queue ? LANE.queue : 0) + LANE.gap;
    }
    tops.push(top);
    return tops;
  }

  private draw(): void {
    if (this.frame !== null) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.paint();
    });
  }

  private paint(): void {
    const tops = this.tops();
    const height = Math.max(tops[tops.length - 1] ?? 0, 120);
    const width = this.width();
    const ratio = devicePixelRatio;
    this.canvas.style.height = `${height}px`;
    const [pixelsX, pixelsY] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== pixelsX || this.canvas.height !== pixelsY) {
      this.canvas.width = pixelsX;
      this.canvas.height = pixelsY;
    }
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const inks = palette();
    this.axis(context, width, height, inks);
    this.view?.lanes.forEach((lane, index) => this.lane(context, lane, tops[index] ?? 0, width, inks, index));
  }

  private axis(context: CanvasRenderingContext2D, width: number, height: number, inks: Inks): void {
    const span = this.to - this.from;
    const step = niceStep(span / Math.max(2, Math.floor(width / 110)));
    context.font = FONT;
    context.textBaseline = "middle";
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
      const x = Math.round(this.x(at)) + 0.5;
      context.strokeStyle = inks.grid;
      context.beginPath();
      context.moveTo(x, AXIS_HEIGHT - 6);
      context.lineTo(x, height);
      context.stroke();
      const text = instant(at, step);
      const room = context.measureText(text).width;
      context.fillStyle = inks.muted;
      if (x + room + 4 < width) context.fillText(text, x + 3, AXIS_HEIGHT / 2);
    }
  }

  private lane(context: CanvasRenderingContext2D, lane: Lane, top: number, width: number, inks: Inks, index: number): void {
    const frames = top + LANE.label;
    context.font = FONT_BOLD;
    context.textBaseline = "middle";
    context.fillStyle = inks.text;
    context.fillText(lane.name, 4, top + LANE.label / 2);
    const waiting = frames + LANE.frames;
    const queue = lane.has_radio ? waiting + LANE.waiting : frames;
    if (lane.has_radio) {
      context.fillStyle = inks.raised;
      context.fillRect(0, frames, width, LANE.frames);
      this.absences(context, lane, frames, width, inks);
      if (lane.shares !== undefined) this.shares(context, lane.shares, frames, inks);
      if (lane.ppdus !== undefined) this.ppdus(context, lane.ppdus, frames, width, inks, index);
      this.spans(context, lane.waiting, lane.waiting_shares, waiting + 1, LANE.waiting - 2, inks.s2);
    }
    this.queue(context, lane, queue, inks);
    if (lane.packets !== undefined) this.packets(context, lane.packets, queue, width, inks);
  }

  private absences(context: CanvasRenderingContext2D, lane: Lane, top: number, width: number, inks: Inks): void {
    const texts = this.view?.texts ?? [];
    if (lane.absent_shares !== undefined) {
      this.spans(context, undefined, lane.absent_shares, top, LANE.frames, inks.axis);
    }
    for (const [from, to, kind] of lane.absent ?? []) {
      const left = Math.max(this.x(from), 0);
      const right = Math.min(this.x(to), width);
      if (right <= 0 || left >= width) continue;
      hatch(context, left, top, Math.max(right - left, 0.7), LANE.frames, inks.axis, 7);
      const text = (texts[kind] ?? "").replace("_", " ");
      context.font = FONT;
      if (right - left > context.measureText(text).width + 10) {
        context.fillStyle = inks.ground;
        context.fillRect(left + 3, top + 4, context.measureText(text).width + 6, LANE.frames - 8);
        context.fillStyle = inks.muted;
        context.fillText(text, left + 6, top + LANE.frames / 2);
      }
    }
  }

  /** Intervals, or their shares as opacity. */
  private spans(context: CanvasRenderingContext2D, each: [number, number, number][] | undefined, shares: number[] | undefined, top: number, height: number, ink: string): void {
    context.fillStyle = ink;
    for (const [from, to] of each ?? []) {
      const left = this.x(from);
      context.fillRect(left, top, Math.max(this.x(to) - left, 0.7), height);
    }
    shares?.forEach((share, column) => {
      if (share === 0) return;
      const [left, right] = this.column(column);
      context.globalAlpha = 0.15 + (0.85 * share) / 1000;
      context.fillRect(left, top, right - left, height);
    });
    context.globalAlpha = 1;
  }

  /** From where to where a column of the view is, in pixels. */
  private column(column: number): [number, number] {
    const view = this.view;
    if (view === null) return [0, 0];
    const each = (view.to_ns - view.from_ns) / view.width;
    const left = this.x(view.from_ns + column * each);
    return [left, this.x(view.from_ns + (column + 1) * each) + 0.3];
  }

  private shares(context: CanvasRenderingContext2D, shares: Record<string, number[]>, top: number, inks: Inks): void {
    const columns = this.view?.width ?? 0;
    for (let column = 0; column < columns; column += 1) {
      const [left, right] = this.column(column);
      if (right < 0 || left > this.width()) continue;
      let bottom = top + LANE.frames;
      for (const name of CLASSES) {
        const share = shares[name]?.[column] ?? 0;
        if (share === 0) continue;
        const height = Math.max((LANE.frames * share) / 1000, 0.6);
        context.fillStyle = inks[name];
        context.fillRect(left, bottom - height, right - left, height);
        bottom -= height;
      }
    }
  }

  private ppdus(context: CanvasRenderingContext2D, all: Ppdus, top: number, width: number, inks: Inks, lane: number): void {
    const texts = this.view?.texts ?? [];
    context.font = FONT;
    for (let at = 0; at < all.at_ns.length; at += 1) {
      const begin = all.at_ns[at] ?? 0;
      const left = this.x(begin);
      const right = Math.max(this.x(begin + (all.duration_ns[at] ?? 0)), left + 0.8);
      if (right < 0 || left > width) continue;
      const frame = texts[all.frame[at] ?? 0] ?? "";
      const mpdus = Math.max(all.mpdus[at] ?? 1, 1);
      const isData = frame === "data" || frame === "qos_data";
      const low = isData ? 0 : LANE.frames * 0.3;
      const height = LANE.frames - low;
      context.fillStyle = inks[classOf(frame)];
      context.fillRect(left, top + low, right - left, height);
      const again = isData ? (height * (all.retries[at] ?? 0)) / mpdus : 0;
      if (again > 0) {
        context.fillStyle = inks.retries;
        context.fillRect(left, top + LANE.frames - again, right - left, again);
      }
      if (all.collided[at]) {
        context.fillStyle = inks.ground;
        context.fillRect(left, top + low, right - left, height);
        hatch(context, left, top + low, right - left, height, inks.collided, 4);
        context.strokeStyle = inks.collided;
        context.lineWidth = 1.2;
        context.strokeRect(left + 0.5, top + low + 0.5, Math.max(right - left - 1, 0.5), height - 1);
      } else if (isData && (all.received[at] ?? mpdus) < mpdus) {
        // A red edge for the MPDUs that the receiver did not decode.
        context.fillStyle = inks.collided;
        context.fillRect(left, top + low, right - left, Math.max((height * (mpdus - (all.received[at] ?? 0))) / mpdus / 2, 2));
      }
      const text = `${mpdus > 1 ? `${mpdus} × ` : ""}${frame.replace(/_/g, " ")} → ${texts[all.peer[at] ?? 0] ?? ""}`;
      if (right - left > 40) {
        const room = right - left - 8;
        if (context.measureText(text).width <= room && !all.collided[at]) {
          context.fillStyle = inks.inverse;
          context.fillText(text, Math.max(left, 0) + 4, top + low + height / 2 + 0.5);
        }
      }
      if (this.selected?.lane === lane && this.selected.at === begin) {
        context.strokeStyle = inks.text;
        context.lineWidth = 2;
        context.strokeRect(left - 1, top + low - 1, right - left + 2, height + 2);
      }
    }
  }

  /** How long the queue was, as an area, and crosses where packets were given up. */
  private queue(context: CanvasRenderingContext2D, lane: Lane, top: number, inks: Inks): void {
    const most = Math.max(1, ...lane.queue.map(([, packets]) => packets));
    context.fillStyle = inks.s5;
    for (const [column, packets] of lane.queue) {
      const [left, right] = this.column(column);
      const height = (LANE.queue * packets) / most;
      context.fillRect(left, top + LANE.queue - height, Math.max(right - left, 1), height);
    }
    context.strokeStyle = inks.collided;
    context.lineWidth = 1.6;
    // Many crosses would hide the queue: they are a line above it then.
    const few = lane.dropped.length <= DROPS_MAX;
    context.fillStyle = inks.collided;
    for (const [column] of lane.dropped) {
      const [left, right] = this.column(column);
      if (few) cross(context, (left + right) / 2, top + LANE.queue / 2, 3.2);
      else context.fillRect(left, top, Math.max(right - left, 1), 2.5);
    }
  }

  private packets(context: CanvasRenderingContext2D, all: Packets, top: number, width: number, inks: Inks): void {
    for (let at = 0; at < all.at_ns.length; at += 1) {
      const x = this.x(all.at_ns[at] ?? 0);
      if (x < -4 || x > width + 4) continue;
      const event = all.event[at] ?? "";
      context.fillStyle = EVENTS_IN.has(event) ? inks.text : inks.muted;
      if (event === "dropped" || event === "lost") {
        context.strokeStyle = inks.collided;
        context.lineWidth = 1.6;
        cross(context, x, top + LANE.queue / 2, 3.2);
        continue;
      }
      // Into the queue points down, out of the hop up.
      const down = EVENTS_IN.has(event) ? 1 : -1;
      const tip = top + LANE.queue / 2 + 3 * down;
      context.beginPath();
      context.moveTo(x, tip);
      context.lineTo(x - 3, tip - 5 * down);
      context.lineTo(x + 3, tip - 5 * down);
      context.fill();
    }
  }

  /** Chooses what is nearest to a point. */
  private choose(x: number, y: number): void {
    const view = this.view;
    const tops = this.tops();
    const index = tops.findIndex((top, at) => y >= top && y < (tops[at + 1] ?? 0));
    const lane = view?.lanes[index];
    if (view === null || lane === undefined) return;
    const onQueue = lane.has_queue && y >= (tops[index] ?? 0) + LANE.label + (lane.has_radio ? LANE.frames + LANE.waiting : 0);
    if (onQueue && lane.packets !== undefined) {
      const at = nearest(lane.packets.at_ns, (ns) => Math.abs(this.x(ns) - x), 12);
      if (at !== null) return this.choosePacket(lane, at);
    }
    if (lane.ppdus === undefined) {
      this.zoom(0.25, this.from + (x / this.width()) * (this.to - this.from));
      return;
    }
    const all = lane.ppdus;
    const at = nearest(
      all.at_ns,
      (ns, place) => {
        const [left, right] = [this.x(ns), this.x(ns + (all.duration_ns[place] ?? 0))];
        return x < left ? left - x : x > right ? x - right : 0;
      },
      12,
    );
    if (at !== null) this.choosePpdu(index, at);
  }

  /** Chooses the frame before or after the chosen one, of all lanes. */
  private step(by: 1 | -1): void {
    const view = this.view;
    if (view === null || view.lanes.some((lane) => lane.shares !== undefined)) {
      this.zoom(0.25);
      this.notice.textContent = "There are too many frames to step through: zoomed in.";
      return;
    }
    const frames: { lane: number; place: number; at: number }[] = [];
    view.lanes.forEach((lane, index) => lane.ppdus?.at_ns.forEach((at, place) => frames.push({ lane: index, place, at })));
    frames.sort((a, b) => a.at - b.at || a.lane - b.lane);
    const selected = this.selected;
    const now = selected === null ? -1 : frames.findIndex((it) => it.lane === selected.lane && it.at === selected.at);
    const inside = frames.findIndex((it) => it.at >= this.from);
    const next = now >= 0 ? now + by : by > 0 ? inside : inside - 1;
    const frame = frames[next];
    if (frame === undefined) return;
    const span = this.to - this.from;
    if (frame.at < this.from || frame.at > this.to - span * 0.05) this.show(frame.at - span / 2, frame.at + span / 2);
    this.choosePpdu(frame.lane, frame.place);
  }

  private choosePpdu(index: number, at: number): void {
    const view = this.view;
    const lane = view?.lanes[index];
    const all = lane?.ppdus;
    if (view === null || lane === undefined || all === undefined) return;
    const text = (place: number | undefined): string => view.texts[place ?? -1] ?? "";
    const begin = all.at_ns[at] ?? 0;
    const end = begin + (all.duration_ns[at] ?? 0);
    const [mpdus, received] = [all.mpdus[at] ?? 0, all.received[at] ?? 0];
    const facts: [string, string][] = [
      ["begins", `${instant(begin, 1_000)}`],
      ["takes", time(all.duration_ns[at] ?? 0)],
      ["from", text(all.node[at])],
      ...(text(all.link[at]) === "" ? [] : [["link", text(all.link[at])] as [string, string]]),
      ["to", text(all.peer[at]) === "*" ? "all" : text(all.peer[at])],
      ["frame", text(all.frame[at])],
      ["rate", `${text(all.rate[at])} (${short((all.rate_kbps[at] ?? 0) / 1000)} Mb/s)`],
      ["PSDU", `${all.bytes[at] ?? 0} bytes`],
      ["MPDUs", (all.retries[at] ?? 0) > 0 ? `${mpdus}, ${all.retries[at]} of them again` : String(mpdus)],
      ["received", received === mpdus ? "all" : `${received} of ${mpdus}`],
      ["collided", all.collided[at] ? "yes" : "no"],
    ];
    const sequence = all.sequence[at] ?? -1;
    if (sequence >= 0) facts.push(["first sequence number", String(sequence)]);
    const signal = all.signal_dbm[at];
    if (signal !== null && signal !== undefined) facts.push(["signal", `${short(signal)} dBm`]);
    if (text(all.flow[at]) !== "") facts.push(["flow of the first packet", text(all.flow[at])]);
    this.selected = { lane: index, at: begin };
    this.draw();
    this.onChoose({
      text: `PPDU of ${sender(text(all.node[at]), text(all.link[at]))} at ${instant(begin, 1_000)}`,
      facts,
      packets: delivered(view, begin, end, text(all.peer[at])),
    });
  }

  private choosePacket(lane: Lane, at: number): void {
    const all = lane.packets;
    const number = all?.number[at];
    if (all === undefined || number === undefined) return;
    const facts: [string, string][] = [
      ["at", instant(all.at_ns[at] ?? 0, 1_000)],
      ["what", `${all.event[at] ?? ""} at ${lane.name}`],
      ["flow", this.view?.texts[all.flow[at] ?? -1] ?? ""],
    ];
    this.onChoose({ text: `Packet ${number}`, facts, packets: [number] });
  }

  private table(): HTMLElement {
    const view = this.view;
    if (view === null) return h("p", {}, "Nothing is loaded yet.");
    if (view.lanes.some((lane) => lane.shares !== undefined)) {
      const mean = (shares: number[] | undefined): string => {
        const all = shares ?? [];
        return short(all.reduce((sum, share) => sum + share, 0) / Math.max(view.width, 1) / 10);
      };
      const rows = view.lanes
        .filter((lane) => lane.has_radio)
        .map((lane) => [lane.name, ...CLASSES.map((name) => mean(lane.shares?.[name]))]);
      return table("Shares of the time in percent", ["node", ...CLASSES.map((name) => `${name}, %`)], rows);
    }
    const rows: { at: number; cells: string[] }[] = [];
    for (const lane of view.lanes) {
      const all = lane.ppdus;
      all?.at_ns.forEach((at, place) => {
        if (at < this.from || at > this.to) return;
        const text = (id: number | undefined): string => view.texts[id ?? -1] ?? "";
        const cells = [instant(at, 1_000), time(all.duration_ns[place] ?? 0), sender(text(all.node[place]), text(all.link[place])), text(all.peer[place]), text(all.frame[place])];
        const numbers = [all.mpdus[place], all.retries[place], all.received[place]].map(String);
        rows.push({ at, cells: [...cells, text(all.rate[place]), ...numbers, all.collided[place] ? "yes" : ""] });
      });
    }
    rows.sort((a, b) => a.at - b.at);
    const heads = ["begins", "takes", "from", "to", "frame", "rate", "MPDUs", "again", "received", "collided"];
    const shown = rows.slice(0, ROWS_MAX).map((row) => row.cells);
    const label = rows.length > ROWS_MAX ? `The first ${ROWS_MAX} of ${rows.length} PPDUs` : "PPDUs on the screen";
    return h("div", {}, rows.length > ROWS_MAX ? h("p", {}, `${label}.`) : null, table(label, heads, shown, 6));
  }
}

const FONT = '11px system-ui, "Segoe UI", Roboto, Arial, sans-serif';
const FONT_BOLD = `600 ${FONT}`;
const EVENTS_IN = new Set(["sent", "queued"]);

type Inks = Record<(typeof CLASSES)[number] | "text" | "muted" | "grid" | "raised" | "axis" | "ground" | "inverse" | "s2" | "s5", string>;

function palette(): Inks {
  return {
    data: colour("s0"),
    retries: colour("s1"),
    control: colour("muted"),
    management: colour("s3"),
    collided: colour("bad"),
    text: colour("text"),
    muted: colour("muted"),
    grid: colour("grid"),
    raised: colour("raised"),
    axis: colour("axis"),
    ground: colour("ground"),
    inverse: colour("ground"),
    s2: colour("s2"),
    s5: colour("s5"),
  };
}

/** The name of a sender, with its link if it is a device of several. */
function sender(node: string, link: string): string {
  return link === "" ? node : `${node}@${link}`;
}

function classOf(frame: string): (typeof CLASSES)[number] {
  if (frame === "data" || frame === "qos_data") return "data";
  const control = [
    "ack", "block_ack", "block_ack_request", "mu_block_ack_request", "multi_station_block_ack",
    "basic_trigger", "buffer_status_report_poll", "rts", "mu_rts", "cts",
    "ps_poll",
  ];
  return control.includes(frame) ? "control" : "management";
}

/** Lines across a rectangle. */
function hatch(context: CanvasRenderingContext2D, left: number, top: number, width: number, height: number, ink: string, step: number): void {
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.beginPath();
  // The lines keep their places when the rectangle moves.
  const first = Math.floor((left - height) / step) * step;
  for (let x = first; x < left + width; x += step) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}

function cross(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x + size, y - size);
  context.lineTo(x - size, y + size);
  context.stroke();
}

/** 1, 2 or 5 times a power of ten, not below `least`. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((it) => it * power).find((it) => it >= least) ?? 10 * power;
}

/** The place with the least distance, if it is within `most`. */
function nearest(all: number[], distance: (ns: number, place: number) => number, most: number): number | null {
  let best: number | null = null;
  let least = most;
  all.forEach((ns, place) => {
    const here = distance(ns, place);
    if (here < least) {
      best = place;
      least = here;
    }
  });
  return best;
}

/** Packets that came out of the hop while a PPDU was on the air, or as long after it as light
 * takes for 300 m, without packets that a reorder buffer still holds. */
function delivered(view: Air, begin: number, end: number, peer: string): number[] {
  const lane = view.lanes.find((it) => it.has_queue && it.node === peer);
  const all = lane?.packets;
  if (all === undefined) return [];
  const isIn = (at: number): boolean => at > begin && at <= end + 1_000;
  return all.number.filter((_, place) => isIn(all.at_ns[place] ?? 0) && all.event[place] === "delivered");
}

function legend(): HTMLElement {
  const entry = (kind: string, text: string): HTMLElement =>
    h("li", {}, h("span", { class: `key air-${kind}`, "aria-hidden": "true" }), text);
  return h(
    "ul",
    { class: "keys" },
    entry("data", "data"),
    entry("retries", "sent again"),
    entry("control", "control"),
    entry("management", "management"),
    entry("collided", "collided"),
    entry("failed", "not decoded"),
    entry("waiting", "waits for the channel"),
    entry("queue", "queue"),
    entry("absent", "off channel, dozing"),
    h("li", {}, h("span", { class: "glyph", "aria-hidden": "true" }, "▾"), "packet in"),
    h("li", {}, h("span", { class: "glyph", "aria-hidden": "true" }, "▴"), "packet out"),
    h("li", {}, h("span", { class: "glyph bad", "aria-hidden": "true" }, "×"), "given up"),
  );
}
