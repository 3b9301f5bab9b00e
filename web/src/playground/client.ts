// The page's end of the worker. Only the newest run and the newest knobs are told of.

import script from "lasthop:worker";
import type { Answer, FromWorker, Knob, Request, ToWorker } from "./protocol";

export interface Told {
  ready(): void;
  progress(done: number): void;
  /** `isNewest`: nothing newer is being computed. */
  answer(answer: Answer, wallMs: number, isNewest: boolean): void;
  knobs(knobs: Knob[]): void;
  wrong(text: string): void;
}

export class Client {
  private readonly worker: Worker;
  private number = 0;
  private run = 0;
  private knobs = 0;

  constructor(engine: ArrayBuffer, told: Told) {
    const source = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.worker = new Worker(source);
    this.worker.onmessage = (event: MessageEvent<FromWorker>) => {
      const message = event.data;
      switch (message.kind) {
        case "ready":
          told.ready();
          break;
        case "progress":
          told.progress(message.done);
          break;
        case "answer":
          told.answer(message.answer, message.wallMs, message.number === this.run);
          break;
        case "knobs":
          if (message.number === this.knobs) told.knobs(message.knobs);
          break;
        case "wrong":
          if (message.number === this.run) told.wrong(message.text);
          break;
      }
    };
    this.worker.onerror = (event) => told.wrong(`the worker failed: ${event.message}`);
    this.send({ kind: "engine", bytes: engine }, [engine]);
  }

  askRun(request: Request): void {
    this.run = ++this.number;
    this.send({ kind: "run", number: this.run, request });
  }

  askKnobs(request: Request): void {
    this.knobs = ++this.number;
    this.send({ kind: "knobs", number: this.knobs, request });
  }

  private send(message: ToWorker, transfer: Transferable[] = []): void {
    this.worker.postMessage(message, transfer);
  }
}

/** The module that the script `engine.js` holds: compressed, in base64. */
export async function engineBytes(): Promise<ArrayBuffer> {
  const text = (globalThis as { lasthopEngine?: string }).lasthopEngine;
  if (text === undefined) throw new Error("engine.js is not beside this page");
  const compressed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
