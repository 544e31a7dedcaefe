import { Args, Command } from "@effect/cli"
import { Providers } from "@reins/core/catalog/Providers"
import { HarnessInstall, type InstallProgress } from "@reins/core/harness/Install"
import { Effect } from "effect"
import { CommandFailed } from "./Accounts.js"
import * as Installation from "./Installation.js"
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
      const show = progressOn(process.stderr)
      const installed = yield* Effect.provide(
        Effect.flatMap(HarnessInstall, (harnesses) => harnesses.install(provider, show)),
        Installation.layer(config)
      ).pipe(
        Effect.catchTags({
          HarnessNotFound: ({ providerId }) =>
            new CommandFailed({ message: `There is no provider "${providerId}". See: reins harnesses list` }),
          HarnessInstallError: ({ message }) => new CommandFailed({ message })
        })
      )
      yield* Effect.sync(() => process.stdout.write(`${JSON.stringify(installed)}\n`))
    })
).pipe(Command.withDescription("Install the pinned version of an agent and verify it"))

/** `reins harnesses` */
export const harnesses = Command.make("harnesses").pipe(
  Command.withDescription("The agents that sessions run with"),
  Command.withSubcommands([list, install])
)

/** Shows the progress of each package: on a terminal in one line, elsewhere with a line for each tenth of it. */
const progressOn = (stream: NodeJS.WriteStream) => {
  let told = ""
  return (progress: InstallProgress): void => {
    const { downloaded_bytes, package: name, packages_done, packages_total, total_bytes } = progress
    const share =
      total_bytes === null || total_bytes === 0 ? undefined : Math.floor((downloaded_bytes / total_bytes) * 10) * 10
    const amount = share === undefined ? `${Math.floor(downloaded_bytes / 1_000_000)} MB` : `${share} %`
    const line = `${Math.min(packages_done + 1, packages_total)}/${packages_total} ${name} ${amount}`
    if (line === told) return
    told = line
    stream.write(stream.isTTY ? `\r\x1b[K${line}${packages_done === packages_total ? "\n" : ""}` : `${line}\n`)
  }
}
