import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Scope } from "@reins/base/domain/Scope"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { newPushKey } from "@reins/core/push/VapidKeys"
import { type Config, load } from "@reins/server/Config"
import * as Installation from "@reins/server/cli/operator/Installation"
import { serverLayer } from "@reins/server/cli/operator/Serve"
import { Server } from "@reins/server/Server"
import { testExecutor } from "@reins/testing/executor/TestExecutor"
import { onFreshDatabase } from "@reins/testing/store/FreshDatabase"
import { Context, Effect, Layer, Logger, Redacted } from "effect"

export const password = "a quiet heron at noon"

let people = 0
const newEmail = (): string => `person${++people}@example.com`

/** Somebody with an account and a key of the scopes. */
export const newCaller = (scopes: ReadonlyArray<Scope> = ["admin"]) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* ApiKeys
    const email = newEmail()
    const account = yield* accounts.createVerified({ email, password: Redacted.make(password) })
    const key = yield* keys.issueFor(account.id, { name: "test", scopes, workspaceId: null })
    return { account, email, key, bearer: { authorization: `Bearer ${key.secret}` } }
  })

/** Somebody whom every test of a file may call as. */
export class Caller extends Context.Tag("@reins/server/test/Caller")<
  Caller,
  Effect.Effect.Success<ReturnType<typeof newCaller>>
>() {
  static readonly layer = Layer.effect(Caller, Effect.orDie(newCaller()))
}

/** A configuration with a data directory of its own and any free port of 127.0.0.1. */
const temporaryConfig = Effect.gen(function* () {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-server-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const given = {
    port: "0",
    data_dir: directory,
    rate_limit: "off",
    prewarm: "off",
    executor: testExecutor,
    push_key: newPushKey()
  }
  return yield* load(given, {}, directory)
})

const installationOf = (config: Config) =>
  config.databaseUrl === undefined
    ? onFreshDatabase(config.dataDir, Installation.layer(config))
    : Installation.layer(config)

export const quiet = Logger.remove(Logger.defaultLogger)

/** The core alone. */
export const core = () =>
  Layer.provide(Layer.unwrapScoped(Effect.map(temporaryConfig, installationOf)), [quiet, PasswordCost.layerTest])

/** The whole service, for as long as the layer lives. */
export const service = (change: Partial<Config> = {}, logs: Layer.Layer<never> = quiet) =>
  Layer.unwrapScoped(
    Effect.map(temporaryConfig, (given) => {
      const config = { ...given, ...change }
      return Caller.layer.pipe(
        Layer.provideMerge(serverLayer(config, { notice: 0 })),
        Layer.provideMerge(installationOf(config))
      )
    })
  ).pipe(Layer.provide([logs, PasswordCost.layerTest]))

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined without one. */
  readonly json: unknown
}

let keys = 0
/** A new Idempotency-Key. */
export const newKey = (): string => `test-${++keys}-${Math.random().toString(36).slice(2)}`

/** Sends a request; a body that is not a string goes as JSON. */
export const send = (
  method: string,
  path: string,
  { body, headers = {} }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown } = {}
): Effect.Effect<Reply, never, Server> =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.promise(async () => {
      const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body)
      const response = await fetch(url + path, {
        method,
        headers: { ...(typeof body === "object" && { "content-type": "application/json" }), ...headers },
        ...(sent !== undefined && { body: sent })
      })
      const text = await response.text()
      const isJson = response.headers.get("content-type")?.startsWith("application/json") === true
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson && text !== "" ? JSON.parse(text) : undefined
      }
    })
  )

/** `send` for a change, with a new key. */
export const change = (
  method: string,
  path: string,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown } = {}
) => send(method, path, { ...options, headers: { "idempotency-key": newKey(), ...options.headers } })

/** The content of the envelope of an error answer. */
export const codeOf = (reply: Reply): unknown => {
  const json = reply.json
  return typeof json === "object" &&
    json !== null &&
    "error" in json &&
    typeof json.error === "object" &&
    json.error !== null &&
    "code" in json.error
    ? json.error.code
    : undefined
}
