import { existsSync } from "node:fs"
import { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import { choice, command, flag, option } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { storeProfile } from "@reins/cli/client/Profile"
import { agentOptions, chosenProvider, wantedAgent } from "@reins/cli/client/Providers"
import { attempt, client } from "@reins/cli/client/Remote"
import { tell } from "@reins/cli/terminal/Output"
import { ask, isInteractive } from "@reins/cli/terminal/Prompts"
import { painter } from "@reins/cli/terminal/Style"
import { databaseFile } from "@reins/core/store/DataDirectory"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Effect } from "effect"
import type { Config } from "../../Config.js"
import * as Installation from "../operator/Installation.js"
import { executorsOf, requireExecutor } from "../operator/RequiredExecutor.js"
import { configOf, serverOptions } from "../operator/Settings.js"
import { readyAgent } from "./InitAgent.js"
import { type Answers, answersFrom } from "./InitAnswers.js"
import { readyConnection } from "./InitConnection.js"
import { readyKey } from "./InitKey.js"
import { runningServer, serveWords, startedServer } from "./InitServer.js"

const takes = {
  email: option("email", "The address of your account", { value: "address" }),
  passwordStdin: flag("password-stdin", "Read the password of a new account from the standard input"),
  gateway: option("gateway", "The base URL of your models (its key in REINS_GATEWAY_KEY)", { value: "url" }),
  protocol: choice("protocol", GatewayProtocol.literals, "Its protocol (openai_chat)"),
  model: option("model", "The model that sessions take if they name none", { value: "model" }),
  ...agentOptions,
  url: option("url", "A server that runs already (REINS_URL)", { value: "url", group: "Connection:" }),
  ...serverOptions
}

/** `reins init` */
export const init = command({
  takes,
  details: "It takes what is there, proves that it works and makes the rest, so you can call it again.",
  examples: [
    ["reins init", "Ask for what only you know"],
    [
      "reins init --email ann@example.com --gateway https://api.openai.com/v1 --model gpt-5",
      "Ask for nothing but secrets"
    ]
  ],
  run: (given) =>
    Effect.gen(function* () {
      const { agent, email, gateway, model, passwordStdin, protocol, provider: id, url, ...serverFlags } = given
      const provider = yield* attempt(async () => wantedAgent({ agent, provider: id }))
      const flags = { provider, passwordStdin, email, gateway, protocol, model }
      const config = yield* configOf(serverFlags)
      const answers = yield* answersFrom(flags)
      const running = yield* runningServer(config, {
        url,
        isOwnNamed: [serverFlags.data_dir, serverFlags.port, serverFlags.host, serverFlags.database_url].some(
          (each) => each !== undefined
        )
      })
      if (running === undefined && isNew(config)) yield* knowAll(config, answers, flags.provider)
      const serve = serveWords(serverFlags)
      const server = running ?? (yield* startedServer(serve))
      done("server", running === undefined ? `${server.url}, started for this setup` : server.url)

      const { apiKey, me } = yield* readyKey(config, server, answers)
      done("account", me.account.email)
      const file = yield* storeProfile({ url: server.url, api_key: apiKey })
      done("key", `stored in ${file}`)

      const reins = client(server.url, apiKey)
      const connection = yield* readyConnection(reins, me.workspaces[0]?.id ?? "", flags, answers.gateway)
      done("connection", `${connection.gateway}, checked; model ${connection.model}`)
      for (const note of connection.notes) tell(note)

      done("agent", yield* readyAgent(config, server, reins, flags.provider))

      const limits = yield* attempt(() => reins.catalog.getLimits())
      done("ready", `a turn may take ${limits.turn_minutes} minutes`)
      tellNext(running === undefined ? serve : undefined)
    }).pipe(Effect.scoped)
})

/** True when there is no installation yet. A database on PostgreSQL is one that somebody has made. */
const isNew = ({ databaseUrl, dataDir }: Config): boolean =>
  databaseUrl === undefined && !existsSync(databaseFile(dataDir))

/** Asks for all that a new installation needs before anything of it is written. */
const knowAll = (config: Config, answers: Answers, provider: string | undefined) =>
  Effect.gen(function* () {
    if (process.env["REINS_API_KEY"])
      return yield* new CommandFailed({
        message: `There is no installation in ${config.dataDir} yet that could know the key in REINS_API_KEY. Unset it, or name its server with --url.`
      })
    yield* Effect.provide(requireExecutor, executorsOf(config))
    const { list } = yield* Effect.provide(Manifests, Installation.knownManifests(config))
    yield* attempt(async () => chosenProvider(list, provider))
    if (isInteractive()) yield* attempt(() => agreeTo(config))
    yield* answers.email
    yield* answers.password
    yield* answers.gateway
  })

const agreeTo = async ({ dataDir }: Config): Promise<void> => {
  if (await ask.confirmation(`Make an installation in ${dataDir}?`, true)) return
  throw new CommandFailed({
    message: "Nothing was made. Name a server with --url, or another directory with --data-dir."
  })
}

/** Says that a part is as it has to be. */
const done = (what: string, detail: string): void =>
  void process.stdout.write(`${painter(process.stdout)("green", "✓")} ${what.padEnd(10)} ${detail}\n`)

const tellNext = (serve: ReadonlyArray<string> | undefined): void => {
  const paint = painter(process.stderr)
  const first = serve && `\n  ${paint("bold", `reins ${serve.join(" ")}`)}     and then, in another terminal,`
  tell(`\nNext:${first ?? ""}`)
  tell(`  ${paint("bold", 'reins run "what the agent is to do" --repo .')}`)
}
