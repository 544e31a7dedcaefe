import { hostname } from "node:os"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { target } from "@reins/cli/client/Profile"
import { attempt, client } from "@reins/cli/client/Remote"
import { ask, isInteractive } from "@reins/cli/terminal/Prompts"
import { type Reins, ReinsApiError } from "@reins/client"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Effect } from "effect"
import type { Config } from "../../Config.js"
import { explain } from "../operator/Accounts.js"
import * as Installation from "../operator/Installation.js"
import type { Answers } from "./InitAnswers.js"
import { type InitServer, isLoopback } from "./InitServer.js"

type Me = Awaited<ReturnType<Reins["accounts"]["getMe"]>>

interface Caller {
  readonly apiKey: string
  readonly me: Me
}

/** A key that the server takes: the one that is there, one of an account of this installation, or one that the person brings. */
export const readyKey = (config: Config, server: InitServer, answers: Answers) =>
  Effect.gen(function* () {
    const { apiKey: known } = target(server.url)
    const me = known === undefined ? undefined : yield* attempt(() => callerOf(server.url, known))
    if (known !== undefined && me !== undefined) return { apiKey: known, me } satisfies Caller
    if (process.env["REINS_API_KEY"])
      return yield* new CommandFailed({
        message: `${server.url} does not know the key in REINS_API_KEY. Set another, or unset it for a new one.`
      })
    const apiKey = server.isOwn ? yield* issued(config, answers) : yield* attempt(() => brought(server))
    const caller = yield* attempt(() => callerOf(server.url, apiKey))
    if (caller === undefined) {
      const why = server.isOwn
        ? `works on other data than ${config.dataDir}. Name that with --data-dir`
        : "does not know this key"
      return yield* new CommandFailed({ message: `${server.url} ${why}.` })
    }
    return { apiKey, me: caller } satisfies Caller
  })

/** The account behind a key; undefined when the server does not know the key. */
const callerOf = async (url: string, apiKey: string): Promise<Me | undefined> => {
  try {
    return await client(url, apiKey).accounts.getMe()
  } catch (error) {
    if (error instanceof ReinsApiError && error.status === 401) return undefined
    throw error
  }
}

/** A new key of an account of this installation. The account is made if it is not there. */
const issued = (config: Config, answers: Answers) =>
  Effect.gen(function* () {
    const email = yield* answers.email
    const accounts = yield* Accounts
    const account = yield* accounts.get(email).pipe(
      Effect.catchAll(() =>
        Effect.gen(function* () {
          const password = yield* answers.password
          return yield* accounts.createVerified({ email, password })
        })
      )
    )
    const keys = yield* ApiKeys
    const { secret } = yield* keys.issueFor(account.id, {
      name: `reins init on ${hostname()}`,
      scopes: ["admin"],
      workspaceId: null
    })
    return secret
  }).pipe(Effect.provide(Installation.layer(config)), Effect.mapError(explain))

/** A key of a server that others run. */
const brought = async ({ url }: InitServer): Promise<string> => {
  if (isInteractive()) return ask.secret(`An API key of ${url}`)
  const own = isLoopback(new URL(url)) ? " If it works on a directory of this machine, name that with --data-dir." : ""
  throw new CommandFailed({
    message: `There is no key for ${url}. Set REINS_API_KEY; whoever runs it makes one with \`reins keys create\`.${own}`
  })
}
