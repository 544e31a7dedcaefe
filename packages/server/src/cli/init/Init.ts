import { existsSync } from "node:fs"
import { Command, Options } from "@effect/cli"
import { GatewayProtocol } from "@reins/core/domain/GatewayProtocol"
import { Manifests } from "@reins/core/harness/Manifests"
import { databaseFile } from "@reins/core/store/DataDirectory"
import { Effect, Option } from "effect"
import type { Config } from "../../Config.js"
import { CommandFailed } from "../CommandFailed.js"
import { storeProfile } from "../client/Profile.js"
import { chosenProvider } from "../client/Providers.js"
import { attempt, client } from "../client/Remote.js"
import * as Installation from "../operator/Installation.js"
import { executorsOf, requireExecutor } from "../operator/RequiredExecutor.js"
import { configOf, serverOptions } from "../operator/Settings.js"
import { tell } from "../terminal/Output.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import { painter } from "../terminal/Style.js"
import { readyAgent } from "./InitAgent.js"
import { type Answers, answersFrom } from "./InitAnswers.js"
import { readyConnection } from "./InitConnection.js"
import { readyKey } from "./InitKey.js"
import { runningServer, serveWords, startedServer } from "./InitServer.js"

const optional = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

const options = {
  ...serverOptions,
  url: optional("url", "The server, if it is not to be one of this machine (REINS_URL)"),
  email: optional("email", "The address of your account"),
  passwordStdin: Options.boolean("password-stdin").pipe(
    Options.withDescription("Read the password of a new account from the standard input; REINS_PASSWORD holds it else")
  ),
  provider: optional("provider", "The provider of the agent (the default of the server)"),
  gateway: optional(
    "gateway",
    "The base URL of the gateway of your models, with its /v1; its key in REINS_GATEWAY_KEY"
  ),
  protocol: Options.choice("protocol", GatewayProtocol.literals).pipe(
    Options.withDescription("The protocol that the gateway speaks (openai_chat)"),
    Options.optional
  ),
  model: optional("model", "The model that sessions take if they name none")
}

/** `reins init` */
export const init = Command.make("init", options, (given) =>
  Effect.gen(function* () {
    const { email, gateway, model, passwordStdin, protocol, provider, url, ...serverFlags } = given
    const flags = {
      provider: Option.getOrUndefined(provider),
      passwordStdin,
      email: Option.getOrUndefined(email),
      gateway: Option.getOrUndefined(gateway),
      protocol: Option.getOrUndefined(protocol),
      model: Option.getOrUndefined(model)
    }
    const config = yield* configOf(serverFlags)
    const answers = yield* answersFrom(flags)
    const running = yield* runningServer(config, Option.getOrUndefined(url))
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

    done("agent", yield* readyAgent(config, server, reins, flags.provider))

    const limits = yield* attempt(() => reins.catalog.getLimits())
    done("ready", `a turn may take ${limits.turn_minutes} minutes`)
    tellNext(running === undefined ? serve : undefined)
  }).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    "Set everything up: a server, your account and key, the connection to your models, the agent. Reuses what is there already, so " +
      "it can be called again"
  )
)

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
    const { list } = yield* Effect.provide(Manifests, Installation.manifests(config))
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
