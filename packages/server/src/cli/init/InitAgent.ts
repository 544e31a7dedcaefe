import { CommandFailed } from "@reins/cli/CommandFailed"
import { nameOf, providerOn } from "@reins/cli/client/Providers"
import { attempt } from "@reins/cli/client/Remote"
import type { Reins } from "@reins/client"
import { Effect } from "effect"
import type { Config } from "../../Config.js"
import { installAgent } from "../harnesses/Harnesses.js"
import type { InitServer } from "./InitServer.js"

/** The agent of a provider, installed where the server runs. Gives its name and version. */
export const readyAgent = (config: Config, server: InitServer, reins: Reins, provider: string | undefined) =>
  Effect.gen(function* () {
    const entry = yield* attempt(() => providerOn(reins, provider))
    const { provider_id } = entry
    if (!entry.installed && !server.isOwn)
      return yield* new CommandFailed({
        message: `${nameOf(entry)} is not installed where ${server.url} runs. There: reins harnesses install ${provider_id}`
      })
    if (!entry.installed) yield* installAgent(config, provider_id)
    const installed = yield* attempt(() => providerOn(reins, provider_id))
    if (installed.installed) return `${installed.display_name} ${installed.version ?? ""}`.trim()
    return yield* new CommandFailed({
      message: `The server at ${server.url} looks for its agents elsewhere. Give this command the REINS_CACHE_DIR of the server.`
    })
  })
