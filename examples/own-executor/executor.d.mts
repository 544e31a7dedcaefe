import type { Boot } from "@reins/core/base/Boot"
import type { Executor, Executors } from "@reins/core/executor/Executors"
import type { Layer } from "effect"

/** The executor `inner` behind a command that gets the agent's own as its arguments. */
export declare const through: (
  inner: Executor,
  options: { readonly backend: string; readonly command: ReadonlyArray<string>; readonly recordFile: string }
) => Executor

/** Agents with a lower priority than everything else on the machine. */
export declare const niceExecutors: (recordFile: string) => Layer.Layer<Executors, never, Boot>
