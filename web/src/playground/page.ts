// The page: a scenario and its changes on one side, what they give on the other. Its state is
// the text and the changes; it stands in the address as long as the text is as shipped.

import "uplot/dist/uPlot.min.css";
import "../common/theme.css";
import "./playground.css";
import { scenarios, version, type Shipped } from "lasthop:scenarios";
import { byId, h } from "../common/dom";
import { themeButton } from "../common/theme";
import { Client, engineBytes } from "./client";
import { Knobs } from "./knobs";
import type { Answer, Request } from "./protocol";
import { Results } from "./results";
import { command, fragment, fromFragment, withSet } from "./sets";

const FIRST = "upload";
/** Groups of the list, by the folder of their names. */
const GROUPS: [string, string][] = [
  ["", "Mechanisms"],
  ["places", "Places"],
  ["apq", "A queue, measured"],
  ["franc", "Coded links"],
  ["jumbo", "Jumbo frames"],
  ["retryout", "Retry-out"],
  ["scan", "Background scans"],
];
const TYPING_MS = 300;

class Page {
  private scenario: Shipped;
  private text: string;
  private sets: string[];
  private client: Client | null = null;
  private typing = 0;
  private hasRun = false;
  private readonly status = byId("status");
  private readonly progress = byId("progress") as HTMLProgressElement;
  private readonly controls = byId("controls");
  private readonly results = byId("results");
  private readonly chooser = h("select", { id: "scenario" });
  private readonly about = h("p", { class: "muted" });
  private readonly knobs = new Knobs((set, isStructure) => this.change([set], isStructure));
  private readonly changes = h("ul", { class: "changes", "aria-label": "Changes" });
  private readonly editor = h("textarea", { id: "text", spellcheck: "false", rows: 18, autocapitalize: "off" });
  private readonly command = h("code", { id: "command", tabindex: 0 });
  private readonly wrong = h("pre", { class: "wrong", role: "alert", hidden: true, tabindex: 0 });
  private readonly answers = new Results((sets) => this.change(sets, true));

  constructor() {
    const asked = fromFragment(location.hash);
    const known = scenarios.find((it) => it.name === asked?.name);
    const first = known ?? scenarios.find((it) => it.name === FIRST) ?? scenarios[0];
    if (first === undefined) throw new Error("there are no scenarios");
    this.scenario = first;
    this.text = first.text;
    this.sets = known === undefined ? [] : (asked?.sets ?? []);
    this.build();
    this.showState();
  }

  async load(): Promise<void> {
    const engine = await engineBytes();
    this.client = new Client(engine, {
      ready: () => this.ask(true),
      progress: (done) => this.tell(`Computing: ${(100 * done).toFixed(0)} %`, done),
      answer: (answer, wallMs, isNewest) => this.show(answer, wallMs, isNewest),
      knobs: (knobs) => this.knobs.show(knobs),
      wrong: (text) => this.fail(text),
    });
  }

  fail(text: string): void {
    this.wrong.textContent = text;
    this.wrong.hidden = false;
    this.results.classList.add("stale");
    this.tell("This scenario cannot be run.", null);
  }

  private build(): void {
    for (const [folder, label] of GROUPS) {
      const inside = scenarios.filter(({ name }) => {
        const at = name.indexOf("/");
        return (at < 0 ? "" : name.slice(0, at)) === folder;
      });
      const options = inside.map(({ name }) => h("option", { value: name, selected: name === this.scenario.name }, name));
      if (options.length > 0) this.chooser.append(h("optgroup", { label }, ...options));
    }
    this.chooser.addEventListener("change", () => this.choose(this.chooser.value));
    this.editor.addEventListener("input", () => {
      window.clearTimeout(this.typing);
      this.typing = window.setTimeout(() => this.edit(this.editor.value), TYPING_MS);
    });
    const button = (label: string, click: () => void): HTMLButtonElement => {
      const made = h("button", { type: "button" }, label);
      made.addEventListener("click", click);
      return made;
    };
    const textButtons = h(
      "p",
      { class: "buttons" },
      button("As it was", () => this.choose(this.scenario.name)),
      button("Save the text", () => this.save()),
    );
    this.controls.append(
      h("h2", { class: "visually-hidden" }, "Scenario"),
      h("div", { class: "knob" }, h("label", { for: "scenario" }, "scenario"), this.chooser),
      this.about,
      this.changes,
      this.knobs.root,
      h(
        "details",
        {},
        h("summary", {}, "The scenario's text"),
        h("label", { for: "text", class: "visually-hidden" }, "Text of the scenario, TOML"),
        this.editor,
        textButtons,
      ),
    );
    const copy = button("Copy", () => {
      void navigator.clipboard?.writeText(this.command.textContent ?? "").then(() => this.tell("Copied.", null));
    });
    this.results.append(
      this.wrong,
      this.answers.root,
      h("h3", {}, "The same run, with the command"),
      h("p", { class: "command" }, this.command, copy),
      h("p", { class: "muted" }, `lasthop ${version}; all of it ran in this browser.`),
    );
    this.status.before(this.answers.figures);
    this.status.parentElement?.append(themeButton());
    window.addEventListener("hashchange", () => this.follow());
  }

  /** The address was changed by hand. */
  private follow(): void {
    const asked = fromFragment(location.hash);
    if (asked === null || location.hash === this.fragment()) return;
    const known = scenarios.find((it) => it.name === asked.name);
    if (known !== undefined) this.set(known, known.text, asked.sets, true);
  }

  private choose(name: string): void {
    const chosen = scenarios.find((it) => it.name === name);
    if (chosen !== undefined) this.set(chosen, chosen.text, [], true);
  }

  private edit(text: string): void {
    this.set(this.scenario, text, this.sets, true);
  }

  private change(sets: string[], isStructure: boolean): void {
    this.set(this.scenario, this.text, sets.reduce(withSet, this.sets), isStructure);
  }

  private set(scenario: Shipped, text: string, sets: string[], isStructure: boolean): void {
    this.scenario = scenario;
    this.text = text;
    this.sets = sets;
    this.showState();
    this.ask(isStructure);
  }

  private ask(isStructure: boolean): void {
    const request: Request = { file: this.file(), text: this.text, sets: this.sets, run: 0 };
    if (isStructure) this.client?.askKnobs(request);
    this.client?.askRun(request);
  }

  private isShipped(): boolean {
    return this.text === this.scenario.text;
  }

  /** What messages call the scenario: a file beside the command. */
  private file(): string {
    const name = this.scenario.name.slice(this.scenario.name.lastIndexOf("/") + 1);
    return this.isShipped() ? `${name}.toml` : `my-${name}.toml`;
  }

  private fragment(): string {
    return fragment(this.scenario.name, this.sets);
  }

  private showState(): void {
    this.chooser.value = this.scenario.name;
    this.about.textContent = this.scenario.about;
    if (this.editor.value !== this.text) this.editor.value = this.text;
    const chips = this.sets.map((set) => {
      const remove = h("button", { type: "button", "aria-label": `Undo ${set}` }, "×");
      remove.addEventListener("click", () => {
        this.set(this.scenario, this.text, this.sets.filter((other) => other !== set), true);
        this.chooser.focus();
      });
      return h("li", {}, h("code", {}, set), remove);
    });
    this.changes.replaceChildren(...chips);
    this.changes.hidden = chips.length === 0;
    this.command.textContent = command(this.isShipped() ? this.scenario.name : this.file(), this.sets);
    if (this.isShipped()) history.replaceState(null, "", this.fragment());
  }

  private show(answer: Answer, wallMs: number, isNewest: boolean): void {
    this.answers.show(answer);
    this.wrong.hidden = true;
    this.results.classList.remove("stale");
    if (!this.hasRun) {
      this.hasRun = true;
      document.documentElement.dataset["ready"] = "true";
    }
    if (isNewest) {
      const run = JSON.parse(answer.document) as { duration_s: number };
      this.tell(`${run.duration_s} s simulated in ${wallMs.toFixed(0)} ms`, null);
    }
  }

  private tell(text: string, done: number | null): void {
    this.status.textContent = text;
    this.progress.classList.toggle("running", done !== null);
    this.progress.value = done ?? 0;
  }

  private save(): void {
    const address = URL.createObjectURL(new Blob([this.text], { type: "application/toml" }));
    h("a", { href: address, download: this.file() }).click();
    window.setTimeout(() => URL.revokeObjectURL(address), 1000);
  }
}

const page = new Page();
page.load().catch((error: unknown) => {
  page.fail(`The playground could not be loaded: ${error instanceof Error ? error.message : String(error)}`);
});
