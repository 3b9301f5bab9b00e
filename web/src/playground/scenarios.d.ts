// What the build (web/playground.mjs) puts into the bundle.
declare module "lasthop:scenarios" {
  /** A scenario inside the program. */
  export interface Shipped {
    name: string;
    /** The first sentence of its comment. */
    about: string;
    text: string;
  }
  export const version: string;
  export const scenarios: readonly Shipped[];
}

declare module "lasthop:worker" {
  /** The worker's script. */
  const script: string;
  export default script;
}
