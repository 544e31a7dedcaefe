import { Args, Command } from "@effect/cli"
import { Providers } from "@reins/core/catalog/Providers"
import { HarnessInstall, type InstallProgress } from "@reins/core/harness/Install"
import { Effect } from "effect"
import type { Config } from "../Config.js"
import { CommandFailed } from "./CommandFailed.js"
import * as Installation from "./Installation.js"
import { printJson, tell } from "./Output.js"
import { progress } from "./Progress.js"
import { configOf, installationOptions } from "./Settings.js"
import { table } from "./Style.js"

const list = Command.make("list", installationOptions, (options) =>
  Effect.gen(function* () {
    const config = yield* configOf(options)
    const entries = yield* Effect.provide(
      Effect.flatMap(Providers, (providers) => providers.list),
      Installation.layer(config)
    )
    const rows = entries.map((entry) => [
      entry.provider_id,
      entry.display_name,
      entry.tier,
      entry.tier === "disabled" ? "-" : entry.installed ? "installed" : "not installed",
      entry.version ?? "-"
    ])
    yield* Effect.sync(() => process.stdout.write(table([["PROVIDER", "NAME", "TIER", "STATE", "VERSION"], ...rows])))
  })
).pipe(Command.withDescription("List the agents and whether they are installed"))

const install = Command.make(
  "install",
  { ...installationOptions, provider: Args.text({ name: "provider" }) },
  ({ provider, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      yield* printJson(yield* installAgent(config, provider))
    })
).pipe(Command.withDescription("Install the pinned version of an agent and verify it"))

/** Installs the agent of a provider, and shows how far that is. */
export const installAgent = (config: Config, provider: string) => {
  const { clear, show } = installProgress()
  return Effect.flatMap(HarnessInstall, (harnesses) => harnesses.install(provider, show)).pipe(
    Effect.provide(Installation.layer(config)),
    Effect.catchTags({
      HarnessNotFound: ({ providerId }) =>
        new CommandFailed({ message: `There is no provider "${providerId}". See: reins harnesses list` }),
      HarnessInstallError: ({ message }) => new CommandFailed({ message })
    }),
    Effect.ensuring(Effect.sync(clear))
  )
}

/** Shows each package as it comes: with a bar on a terminal, with a line for each tenth of it elsewhere. */
const installProgress = () => {
  const { clear, say } = progress()
  let told = ""
  const show = ({ downloaded_bytes, package: name, packages_done, packages_total, total_bytes }: InstallProgress) => {
    const which = `${Math.min(packages_done + 1, packages_total)}/${packages_total} ${name}`
    const megabytes = `${Math.floor(downloaded_bytes / 1_000_000)} MB`
    const share = total_bytes === null || total_bytes === 0 ? undefined : downloaded_bytes / total_bytes
    say(`${which} ${megabytes}`, share)
    const line = `${which} ${share === undefined ? megabytes : `${Math.floor(share * 10) * 10} %`}`
    if (process.stderr.isTTY !== true && line !== told) tell(line)
    told = line
  }
  return { clear, show }
}

/** `reins harnesses` */
export const harnesses = Command.make("harnesses").pipe(
  Command.withDescription("The agents that sessions run with"),
  Command.withSubcommands([list, install])
)
