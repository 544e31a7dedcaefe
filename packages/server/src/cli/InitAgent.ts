import type { Reins } from "@reins/client"
import { Effect } from "effect"
import type { Config } from "../Config.js"
import { CommandFailed } from "./CommandFailed.js"
import { installAgent } from "./Harnesses.js"
import type { InitServer } from "./InitServer.js"
import { attempt } from "./Remote.js"

/** The agent of a provider, installed where the server runs. Gives its name and version. */
export const readyAgent = (config: Config, server: InitServer, reins: Reins, provider: string) =>
  Effect.gen(function* () {
    const entry = yield* attempt(() => entryOf(reins, provider))
    if (!entry.installed && !server.isOwn)
      return yield* new CommandFailed({
        message: `The agent of ${provider} is not installed where ${server.url} runs. There: reins harnesses install ${provider}`
      })
    if (!entry.installed) yield* installAgent(config, provider)
    const installed = yield* attempt(() => entryOf(reins, provider))
    if (installed.installed) return `${installed.display_name} ${installed.version ?? ""}`.trim()
    return yield* new CommandFailed({
      message: `The server at ${server.url} looks for its agents elsewhere. Give this command the REINS_CACHE_DIR of the server.`
    })
  })

const entryOf = async (reins: Reins, provider: string) => {
  const { items } = await reins.catalog.listHarnesses()
  const entry = items.find(({ provider_id }) => provider_id === provider)
  if (entry === undefined) throw new CommandFailed({ message: `There is no provider "${provider}".` })
  return entry
}
