// The WebAssembly module: texts pass through two buffers of its memory. After a trap, which is a
// bug, there is a new instance of the module, and the bug's message is the error.

import type { Request } from "./protocol";

interface Exports {
  memory: WebAssembly.Memory;
  lasthop_input(bytes: number): number;
  lasthop_start(): number;
  lasthop_advance(seconds: number): number;
  lasthop_done(): number;
  lasthop_cancel(): void;
  lasthop_knobs(): number;
  lasthop_output(): number;
  lasthop_output_bytes(): number;
}

const OK = 0;
const DONE = 2;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What is wrong with a request, as lasthop says it. */
export class Wrong extends Error {}

export class Engine {
  private readonly module: WebAssembly.Module;
  private exports: Exports;

  private constructor(module: WebAssembly.Module, instance: WebAssembly.Instance) {
    this.module = module;
    this.exports = instance.exports as unknown as Exports;
  }

  /** An engine of the module in `bytes`. */
  static async load(bytes: BufferSource): Promise<Engine> {
    const { module, instance } = await WebAssembly.instantiate(bytes, {});
    return new Engine(module, instance);
  }

  /** Begins a run, which ends the one before. Throws `Wrong`. */
  start(request: Request): void {
    this.put(request);
    this.call((exports) => exports.lasthop_start());
  }

  /** Lets so many seconds pass; returns the answer's text at the end, null before it. */
  advance(seconds: number): string | null {
    return this.call((exports) => exports.lasthop_advance(seconds)) === DONE ? this.output() : null;
  }

  /** How much of the run is done, 0 to 1. */
  done(): number {
    return this.exports.lasthop_done();
  }

  cancel(): void {
    this.exports.lasthop_cancel();
  }

  /** The text of the scenario's knobs. Throws `Wrong`. It leaves the run as it is. */
  knobs(request: Request): string {
    this.put(request);
    this.call((exports) => exports.lasthop_knobs());
    return this.output();
  }

  private put(request: Request): void {
    const bytes = encoder.encode(JSON.stringify(request));
    const at = this.exports.lasthop_input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
  }

  private call(it: (exports: Exports) => number): number {
    let status: number;
    try {
      status = it(this.exports);
    } catch (trap) {
      const said = this.output();
      const instance = new WebAssembly.Instance(this.module, {});
      this.exports = instance.exports as unknown as Exports;
      throw new Wrong(said === "" ? `a bug in lasthop: ${String(trap)}` : said);
    }
    if (status !== OK && status !== DONE) throw new Wrong(this.output());
    return status;
  }

  private output(): string {
    const { memory, lasthop_output, lasthop_output_bytes } = this.exports;
    return decoder.decode(new Uint8Array(memory.buffer, lasthop_output(), lasthop_output_bytes()));
  }
}
