// What the page and its worker say to each other, and what the WebAssembly module answers
// (crates/playground). Times are in seconds of the scenario's time, delays in ms.

/** A scenario and its changes. */
export interface Request {
  file: string;
  text: string;
  sets: string[];
  run: number;
}

/** Numbers of requests grow; answers have that of what they answer. */
export type ToWorker =
  | { kind: "engine"; bytes: ArrayBuffer }
  | { kind: "run"; number: number; request: Request }
  | { kind: "knobs"; number: number; request: Request };

export type FromWorker =
  | { kind: "ready" }
  | { kind: "progress"; number: number; done: number }
  | { kind: "answer"; number: number; answer: Answer; wallMs: number }
  | { kind: "knobs"; number: number; knobs: Knob[] }
  | { kind: "wrong"; number: number; text: string };

export type Reading = number | null;

/** What a run was. */
export interface Answer {
  document: string;
  findings: Finding[];
  at_s: number[];
  flows: Flow[];
  nodes: WifiNode[];
}

export interface Finding {
  kind: string;
  title: string;
  sentence: string;
  remedy: string[];
}

export interface Flow {
  name: string;
  kind: string;
  throughput_mbps: number[];
  delay_ms: Reading[];
  rtt_ms: Reading[];
  cwnd_packets: Reading[];
  parts_ms: Record<string, Reading[]>;
  delay_curve: Curve;
  rtt_curve: Curve;
}

export interface WifiNode {
  name: string;
  queue_packets: Reading[];
  airtime: number[];
}

export interface Curve {
  ms: number[];
  share: number[];
}

/** Something that can be changed: an argument of `--set`. */
export interface Knob {
  group: string;
  label: string;
  path: string;
  value: string;
  control: RangeControl | ChoiceControl;
}

export interface RangeControl {
  kind: "range";
  min: number;
  max: number;
  step: number;
  now: number;
  logarithmic: boolean;
  unit: string;
  line?: [number, number, number, number];
}

export interface ChoiceControl {
  kind: "choice";
  options: [string, string][];
  now: string | null;
}

/** The parts of `run.json` that the page shows. */
export interface RunDocument {
  warnings?: string[];
  duration_s: number;
  flows: Record<string, FlowSummary>;
  nodes: Record<string, NodeSummary>;
}

export interface Times {
  mean: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

export interface FlowSummary {
  kind: string;
  sender?: string;
  receiver?: string;
  goodput_mbps?: number;
  rtt_ms?: Times;
  one_way_delay_ms?: Times;
  packets_sent: number;
  packets_received: number;
  packets_lost: number;
}

export interface NodeSummary {
  queue_packets?: { mean: number; p95: number; max: number };
  queue_drops: number;
  airtime_fraction: number;
}
