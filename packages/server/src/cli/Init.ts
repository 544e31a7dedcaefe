import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { readyAgent } from "./InitAgent.js"
import { readyConnection } from "./InitConnection.js"
import { readyKey } from "./InitKey.js"
import { type InitServer, readyServer } from "./InitServer.js"
import { tell } from "./Output.js"
import { storeProfile } from "./Profile.js"
import { attempt, client } from "./Remote.js"
import { configOf, serverOptions } from "./Settings.js"
import { painter } from "./Style.js"

const optional = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

const options = {
  ...serverOptions,
  url: optional("url", "The server, if it is not to be one of this machine (REINS_URL)"),
  email: optional("email", "The address of your account"),
  passwordStdin: Options.boolean("password-stdin").pipe(
    Options.withDescription("Read the password of a new account from the standard input; REINS_PASSWORD holds it else")
  ),
  provider: Options.text("provider").pipe(
    Options.withDescription("The provider of the agent (alpha)"),
    Options.withDefault("alpha")
  ),
  gateway: optional(
    "gateway",
    "The base URL of the gateway of your models, with its /v1; its key in REINS_GATEWAY_KEY"
  ),
  protocol: optional("protocol", "openai_chat, openai_responses or anthropic_messages (openai_chat)"),
  model: optional("model", "The model that sessions take if they name none")
}

/** Says that a part is as it has to be. */
const done = (what: string, detail: string): void =>
  void process.stdout.write(`${painter(process.stdout)("green", "✓")} ${what.padEnd(10)} ${detail}\n`)

export const init = Command.make("init", options, ({ email, gateway, model, passwordStdin, protocol, url, ...rest }) =>
  Effect.gen(function* () {
    const { provider, ...serverFlags } = rest
    const config = yield* configOf(serverFlags)
    const server = yield* readyServer(config, Option.getOrUndefined(url), serverFlags)
    done("server", server.wasStarted ? `${server.url}, started for this setup` : server.url)

    const account = { email: Option.getOrUndefined(email), passwordStdin }
    const { apiKey, me } = yield* readyKey(config, server, account)
    done("account", me.account.email)
    const file = yield* Effect.sync(() => storeProfile({ url: server.url, api_key: apiKey }))
    done("key", `stored in ${file}`)

    const reins = client(server.url, apiKey)
    const workspaceId = me.workspaces[0]?.id ?? ""
    const wanted = {
      provider,
      gateway: Option.getOrUndefined(gateway),
      protocol: Option.getOrUndefined(protocol),
      model: Option.getOrUndefined(model)
    }
    const connection = yield* attempt(() => readyConnection(reins, workspaceId, wanted))
    done("connection", `${connection.gateway}, checked; model ${connection.model}`)

    const agent = yield* readyAgent(config, server, reins, provider)
    done("agent", agent)

    const limits = yield* attempt(() => reins.catalog.limits())
    done("ready", `a turn may take ${limits.turn_minutes} minutes`)
    yield* Effect.sync(() => tellNext(server))
  }).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    "Set everything up: a server, your account and key, the connection to your models, the agent. What is there already is taken, so " +
      "it can be called again"
  )
)

const tellNext = ({ serve, wasStarted }: InitServer): void => {
  const paint = painter(process.stderr)
  tell(`\nNext:${wasStarted ? `\n  ${paint("bold", serve)}     and then, in another terminal,` : ""}`)
  tell(`  ${paint("bold", 'reins run "what the agent is to do" --repo .')}`)
}
