// The worker: one run at a time, in chunks of about CHUNK_MS, so that a newer request ends it.
// A run that is nearly over is finished first, so that a page whose slider moves has answers.

import { Engine, Wrong } from "./engine";
import type { Answer, FromWorker, Knob, Request, ToWorker } from "./protocol";

const CHUNK_MS = 12;
/** Longest time that an older run may still take once there is a newer one. */
const NEARLY_MS = 120;
/** Longest time of a run on the wall. */
const WALL_MS_MAX = 60_000;
const PROGRESS_EVERY_MS = 100;

interface Wanted {
  number: number;
  request: Request;
}

interface Running extends Wanted {
  begin: number;
  told: number;
  seconds: number;
}

let engine: Engine | null = null;
let wanted: Wanted | null = null;
let running: Running | null = null;
let scheduled = false;

// A message to itself comes after those of the page, and is not held back as timers are.
const turn = new MessageChannel();
turn.port1.onmessage = () => {
  scheduled = false;
  step();
};

function schedule(): void {
  if (!scheduled) {
    scheduled = true;
    turn.port2.postMessage(null);
  }
}

function say(message: FromWorker): void {
  postMessage(message);
}

function attempt(number: number, it: () => void): void {
  try {
    it();
  } catch (error) {
    running = null;
    say({ kind: "wrong", number, text: error instanceof Wrong ? error.message : String(error) });
  }
}

function step(): void {
  if (engine === null) return;
  if (wanted !== null && (running === null || !isNearlyOver(running, engine))) {
    const { number, request } = wanted;
    wanted = null;
    running = null;
    attempt(number, () => {
      const begin = performance.now();
      engine?.start(request);
      running = { number, request, begin, told: begin, seconds: 0.05 };
    });
  }
  const run = running;
  if (run !== null) attempt(run.number, () => advance(run));
  if (running !== null || wanted !== null) schedule();
}

function isNearlyOver(run: Running, engine: Engine): boolean {
  const done = engine.done();
  const elapsed = performance.now() - run.begin;
  return done > 0 && (elapsed / done) * (1 - done) < NEARLY_MS && elapsed < 4 * NEARLY_MS;
}

function advance(run: Running): void {
  if (engine === null) return;
  const before = performance.now();
  const text = engine.advance(run.seconds);
  const now = performance.now();
  if (text !== null) {
    running = null;
    const answer = JSON.parse(text) as Answer;
    say({ kind: "answer", number: run.number, answer, wallMs: performance.now() - run.begin });
    return;
  }
  if (now - run.begin > WALL_MS_MAX) {
    const done = (100 * engine.done()).toFixed(0);
    engine.cancel();
    throw new Wrong(
      `stopped after ${WALL_MS_MAX / 1000} s of computing, ${done} % of the run: make the run ` +
        "shorter, or use the command, which has no such limit",
    );
  }
  // By a quarter of the way, so that one slow chunk does not decide.
  const factor = CHUNK_MS / Math.max(now - before, 0.1);
  run.seconds *= Math.min(4, Math.max(0.25, factor));
  if (now - run.told >= PROGRESS_EVERY_MS) {
    run.told = now;
    say({ kind: "progress", number: run.number, done: engine.done() });
  }
}

onmessage = async (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  switch (message.kind) {
    case "engine":
      engine = await Engine.load(message.bytes);
      say({ kind: "ready" });
      break;
    case "run":
      wanted = message;
      break;
    case "knobs":
      attemptKnobs(message.number, message.request);
      break;
  }
  schedule();
};

function attemptKnobs(number: number, request: Request): void {
  try {
    const knobs = (JSON.parse(engine?.knobs(request) ?? '{"knobs":[]}') as { knobs: Knob[] }).knobs;
    say({ kind: "knobs", number, knobs });
  } catch {
    // The run says what is wrong. A trap of the knobs also ended the run.
  }
}
