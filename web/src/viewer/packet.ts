// What the reader chose on the timeline: a PPDU's data, and the way of a packet as a list and
// as a bar of the parts of its delay.

import { h } from "../common/dom";
import { count, instant, short, time } from "../common/format";
import type { Chosen } from "./air";
import { get, type Step, type Way } from "./api";
import { partsBar } from "./plots";

const WORDS: Record<string, string> = {
  sent: "entered the network at",
  queued: "entered the Wi-Fi queue of",
  dropped: "was given up by",
  delivered: "came out of the Wi-Fi hop at",
  arrived: "arrived at",
  lost: "was lost at",
};

/** Most packets of a PPDU that are offered. */
const PACKETS_MAX = 24;

/** The panel beside the timeline. */
export class Details {
  readonly root = h("section", { class: "details", "aria-label": "Selected frame or packet" });
  private readonly chosen = h("div", { "aria-live": "polite" });
  private readonly way = h("div", { "aria-live": "polite" });
  private readonly run: number;
  private asked = 0;

  constructor(run: number) {
    this.run = run;
    const input = h("input", { id: "packet", type: "number", min: 0, step: 1, required: true });
    const form = h(
      "form",
      { class: "find" },
      h("label", { for: "packet" }, "Packet number"),
      input,
      h("button", { type: "submit" }, "Show its way"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.chosen.replaceChildren();
      void this.follow(input.valueAsNumber);
    });
    this.chosen.append(h("p", { class: "muted" }, "Choose a frame or a packet on the timeline, or a packet by its number."));
    this.root.append(form, this.chosen, this.way);
  }

  /** Shows what was chosen; of a single packet its way. */
  show(chosen: Chosen): void {
    const facts = chosen.facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
    this.chosen.replaceChildren(h("h3", {}, chosen.text), h("dl", {}, ...facts));
    this.way.replaceChildren();
    this.asked += 1;
    if (chosen.packets.length === 1 && chosen.text.startsWith("Packet")) {
      void this.follow(chosen.packets[0] ?? 0);
      return;
    }
    if (chosen.packets.length === 0) return;
    const buttons = chosen.packets.slice(0, PACKETS_MAX).map((number) =>
      h("li", {}, h("button", { type: "button", onclick: () => void this.follow(number) }, `packet ${number}`)),
    );
    const more = chosen.packets.length > PACKETS_MAX ? `, the first ${PACKETS_MAX}` : "";
    this.chosen.append(
      h("p", { class: "muted" }, `${count(chosen.packets.length, "packet")} came out of the hop with it${more}:`),
      h("ul", { class: "tags" }, ...buttons),
    );
  }

  private async follow(number: number): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    let shown: HTMLElement;
    try {
      shown = wayOf(await get<Way>(`run/${this.run}/packet?number=${number}`));
    } catch (error) {
      shown = h("p", { class: "bad", role: "alert" }, error instanceof Error ? error.message : String(error));
    }
    if (asked === this.asked) this.way.replaceChildren(shown);
  }
}

function wayOf(way: Way): HTMLElement {
  const first = way.steps[0]?.at_ns ?? 0;
  const steps = way.steps.map((step) =>
    h("li", { class: step.kind }, h("span", { class: "when" }, `+${short((step.at_ns - first) / 1e6)} ms`), h("span", {}, told(step))),
  );
  const head = h("h3", {}, `The way of packet ${way.number}`);
  const about = h(
    "p",
    { class: "muted" },
    `${way.flow ?? "no flow"}, ${way.bytes} bytes, from ${instant(first, 1_000)}${way.delay_ns === null ? "; it did not arrive" : ""}`,
  );
  const parts = way.parts_ns;
  const bar =
    parts === null || way.delay_ns === null
      ? null
      : partsBar("Its delay", (key) => (parts[key] ?? 0) / 1e6, Math.max(way.delay_ns / 1e6, 1e-9));
  const left = way.ppdus_left_out > 0 ? h("p", { class: "muted" }, `${count(way.ppdus_left_out, "PPDU")} between are left out.`) : null;
  return h("div", { class: "way" }, head, about, bar, h("ol", { class: "steps" }, ...steps), left);
}

function told(step: Step): string {
  if (step.kind === "ppdu") {
    const carried = { across: "got it across", first: "carried it first", perhaps: "may have carried it" }[step.carried ?? "perhaps"];
    const again = (step.retries ?? 0) > 0 ? `, ${step.retries} again` : "";
    const failed = (step.received ?? 0) < (step.mpdus ?? 0) ? `, ${step.received} received` : "";
    const collided = step.collided ? ", collided" : "";
    const link = step.link ? ` on ${step.link}` : "";
    return `A PPDU from ${step.node} to ${step.peer ?? "all"}${link} ${carried}: ${time(step.duration_ns ?? 0)}, ${step.rate ?? ""}, ${count(step.mpdus ?? 0, "MPDU")}${again}${failed}${collided}`;
  }
  const words = WORDS[step.kind] ?? step.kind;
  const to = step.kind === "sent" && step.peer ? ` for ${step.peer}` : "";
  const why = step.reason ? ` (${step.reason.replace(/_/g, " ")})` : "";
  const queue = step.queue_packets === undefined ? "" : `, ${count(step.queue_packets, "packet")} in it now`;
  const after = step.delay_ns === undefined ? "" : `, after ${time(step.delay_ns)}`;
  const link = step.link ? ` on ${step.link}` : "";
  return `It ${words} ${step.node}${link}${to}${why}${queue}${after}`;
}
