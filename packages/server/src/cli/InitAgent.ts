import type { Reins } from "@reins/client"
import { HarnessInstall } from "@reins/core/harness/Install"
import { Effect } from "effect"
import type { Config } from "../Config.js"
import { CommandFailed } from "./Accounts.js"
import type { InitServer } from "./InitServer.js"
import * as Installation from "./Installation.js"
import { progress } from "./Prompts.js"
import { attempt } from "./Remote.js"

/** The agent of a provider, installed where the server runs. Gives its name and version. */
export const readyAgent = (config: Config, server: InitServer, reins: Reins, provider: string) =>
  Effect.gen(function* () {
    const entry = yield* attempt(() => entryOf(reins, provider))
    if (!entry.installed && !server.isOwn)
      return yield* new CommandFailed({
        message: `The agent of ${provider} is not installed where ${server.url} runs. There: reins harnesses install ${provider}`
      })
    if (!entry.installed) yield* install(config, provider)
    const installed = yield* attempt(() => entryOf(reins, provider))
    if (installed.installed) return `${installed.display_name} ${installed.version ?? ""}`.trim()
    return yield* new CommandFailed({
      message: `The server at ${server.url} looks for its agents elsewhere. Give this command the REINS_CACHE_DIR of the server.`
    })
  })

const entryOf = async (reins: Reins, provider: string) => {
  const { items } = await reins.catalog.harnesses()
  const entry = items.find(({ provider_id }) => provider_id === provider)
  if (entry === undefined) throw new CommandFailed({ message: `There is no provider "${provider}".` })
  return entry
}

const install = (config: Config, provider: string) => {
  const busy = progress()
  return Effect.flatMap(HarnessInstall, (harnesses) =>
    harnesses.install(provider, ({ downloaded_bytes, package: name, packages_done, packages_total, total_bytes }) => {
      const of = `${Math.min(packages_done + 1, packages_total)}/${packages_total} ${name}`
      const megabytes = `${Math.floor(downloaded_bytes / 1_000_000)} MB`
      busy.say(`${of} ${megabytes}`, total_bytes === null ? undefined : downloaded_bytes / total_bytes)
    })
  ).pipe(
    Effect.provide(Installation.layer(config)),
    Effect.catchTags({
      HarnessNotFound: ({ providerId }) => new CommandFailed({ message: `There is no provider "${providerId}".` }),
      HarnessInstallError: ({ message }) => new CommandFailed({ message })
    }),
    Effect.ensuring(Effect.sync(busy.clear))
  )
}
