import { Database } from "@reins/core/store/Database"
import { Effect, type Layer } from "effect"
import { assert } from "vitest"
import { servicesByDatabase } from "../Databases.js"
import { change } from "../Service.js"
import { ask, errorOf, type Person, refresh, type Tokens } from "./OauthPerson.js"

export const issuer = "https://reins.example.com"

/** The service that apps log in to, on both databases. It believes the proxy in front of it. */
export const oauthServices = (logs?: Layer.Layer<never>) =>
  servicesByDatabase({ publicUrl: new URL(issuer), trustedProxies: ["127.0.0.1"] }, logs)

/** The status of `/mcp` for a token. */
export const statusOf = (token: string) => Effect.map(ask(token, "tools/list"), ({ status }) => status)

/** Checks that neither token of an app is good. */
export const isDead = ({ clientId, tokens }: { readonly clientId: string; readonly tokens: Tokens }) =>
  Effect.gen(function* () {
    assert.strictEqual(yield* statusOf(tokens.access_token), 401)
    assert.strictEqual(errorOf(yield* refresh(clientId, tokens.refresh_token)), "invalid_grant")
  })

/** A session of a workspace that has a connection. */
export const newSession = ({ bearer: headers }: Pick<Person, "bearer">, workspaceId: string) =>
  Effect.gen(function* () {
    const path = `/api/workspaces/${workspaceId}`
    const credential = { base_url: "http://127.0.0.1:9/v1", api_key: "nobody listens there" }
    const connection = yield* change("POST", `${path}/connections`, {
      headers,
      body: { kind: "alpha_gateway", label: "test", credential }
    })
    const { id } = connection.json as { readonly id: string }
    yield* change("PATCH", `/api/connections/${id}`, { headers, body: { preferred_model: "scripted-1" } })
    const made = yield* change("POST", `${path}/sessions`, { headers, body: { title: "test" } })
    assert.strictEqual(made.status, 201, made.text)
    return (made.json as { readonly id: string }).id
  })

/** Moves the times of rows into the past, because nothing here waits. */
export const ago = (table: string, column: string, ms: number) =>
  Effect.flatMap(Database, ({ run, sql }) =>
    run(sql`update ${sql.literal(table)} set ${sql.literal(column)} = ${new Date(Date.now() - ms).toISOString()}
      where ${sql.literal(column)} is not null`)
  )
