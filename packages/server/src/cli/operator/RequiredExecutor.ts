import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { Executors } from "@reins/machine/executor/Executors"
import { Effect, Layer } from "effect"
import type { Config } from "../../Config.js"
import * as Installation from "./Installation.js"

/** The reasons for which the boundaries that were asked for, or the sandbox where nothing was, cannot be used here. */
export const whyNoExecutor = (
  { executors }: Pick<CoreConfig["Type"], "executors">,
  list: ReadonlyArray<{ readonly backend: string; readonly available: boolean; readonly note: string }>
): string => {
  const wanted: ReadonlyArray<string> = executors ?? ["bubblewrap"]
  return list
    .filter(({ available, backend }) => !available && wanted.includes(backend))
    .map(({ note }) => note)
    .join(" ")
}

/** Fails when no agent can be run, before anybody can ask for one. */
export const requireExecutor = Effect.gen(function* () {
  const list = yield* (yield* Executors).list
  if (list.some((each) => each.default)) return
  const reason = whyNoExecutor(yield* CoreConfig, list)
  return yield* new CommandFailed({
    message:
      `Agents would have no sandbox: ${reason} As root, or where others reach the service, that has to be wanted: --executor local ` +
      "(or REINS_EXECUTOR=local) runs them without a boundary, with all that the service's user can do. docs/security.md says more."
  })
})

/** The executors that a server of this configuration would have, for commands that have no core. */
export const executorsOf = (config: Config): Layer.Layer<Executors | CoreConfig> =>
  Layer.provideMerge(
    Layer.provide(Executors.layer, Boot.layerSingle),
    Layer.sync(CoreConfig, () => Installation.coreConfigOf(config))
  )
