import http from "node:http"
import { assert, it } from "@effect/vitest"
import type { Event } from "@reins/base/domain/Event"
import type { AccountPrincipal, Principal } from "@reins/base/domain/Principal"
import { Connections } from "@reins/core/connections/Connections"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Members } from "@reins/core/identity/Members"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Database } from "@reins/core/store/Database"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect } from "effect"
import { say, withAgent } from "./Agent.js"

/** A gateway whose model never ends its answer. It counts the answers that are open. */
const endlessGateway = Effect.gen(function* () {
  const open = new Set<http.ServerResponse>()
  const port = yield* onLoopback(() =>
    http.createServer((request, response) => {
      request.resume()
      if (request.method === "GET") return response.end(JSON.stringify({ data: [{ id: "scripted-1" }] }))
      open.add(response.on("close", () => open.delete(response)))
      const choices = [{ index: 0, delta: { role: "assistant", content: "so" } }]
      const chunk = { id: "x", object: "chat.completion.chunk", model: "scripted-1", choices }
      response.writeHead(200, { "content-type": "text/event-stream" }).write(`data: ${JSON.stringify(chunk)}\n\n`)
    })
  )
  return { url: `http://127.0.0.1:${port}/v1`, open }
})

type Given = Parameters<Parameters<typeof withAgent>[1]>[0]

/** A member of the workspace besides its owner. */
const newMember = ({ principal, workspaceId }: Given, email: string) =>
  Effect.gen(function* () {
    const account = yield* (yield* Accounts).createVerified({ email, password: null })
    const { run, sql } = yield* Database
    const created_at = new Date().toISOString()
    const row = { workspace_id: workspaceId, account_id: account.id, role: "member", created_at }
    yield* run(sql`insert into workspace_members ${sql.insert(row)}`)
    const member: Principal = { ...principal, accountId: account.id }
    return member
  })

/** A key of the owner, as its caller. */
const keyed = ({ principal }: Given) =>
  Effect.map(
    Effect.flatMap(ApiKeys, (keys) => keys.create(principal, { name: "program", scopes: ["read", "write"] })),
    ({ id }): AccountPrincipal & { readonly via: { readonly kind: "api_key" } } => ({
      accountId: principal.accountId,
      scopes: ["read", "write"],
      workspaceId: null,
      via: { kind: "api_key", keyId: id }
    })
  )

/** The ways in which somebody loses the right. Each gives who sends, and what takes the right away. */
const losses = {
  "a key that is revoked": (given: Given) =>
    Effect.map(keyed(given), (by) => ({
      by,
      end: Effect.flatMap(ApiKeys, (keys) => keys.revoke(given.principal, by.via.keyId))
    })),
  // Nothing rings at its time.
  "a key that expires": (given: Given) =>
    Effect.map(keyed(given), (by) => ({
      by,
      end: Effect.flatMap(Database, ({ run, sql }) =>
        run(sql`update api_keys set expires_at = ${new Date().toISOString()} where id = ${by.via.keyId}`)
      )
    })),
  "a member who is removed": (given: Given) =>
    Effect.map(newMember(given, "removed@example.com"), (by) => ({
      by,
      end: Effect.flatMap(Members, (members) => members.remove(given.principal, given.workspaceId, by.accountId))
    })),
  "a member who becomes a viewer": (given: Given) =>
    Effect.map(newMember(given, "viewer@example.com"), (by) => ({
      by,
      end: Effect.flatMap(Members, (members) =>
        members.add(given.principal, given.workspaceId, { email: "viewer@example.com", role: "viewer" })
      )
    })),
  "an account that is disabled": (given: Given) =>
    Effect.map(newMember(given, "disabled@example.com"), (by) => ({
      by,
      end: Effect.flatMap(Accounts, (accounts) => accounts.disable(by.accountId))
    }))
}

const isEndOf = (turnId: string) => (event: Event) =>
  event.turn_id === turnId && /^turn\.(?:succeeded|failed|cancelled|interrupted)$/.test(event.type)

const isStartOf = (turnId: string) => (event: Event) =>
  event.turn_id === turnId && (event.type === "turn.started" || isEndOf(turnId)(event))

it.scopedLive(
  "who loses the right to act loses the turns that work and wait, with their model calls, and others try them again",
  () =>
    Effect.gen(function* () {
      const gateway = yield* endlessGateway
      yield* withAgent(
        "alpha_gateway",
        (given) =>
          Effect.gen(function* () {
            const { eventsUntil, principal, workspaceId } = given
            const connections = yield* Connections
            const messages = yield* Messages
            const sessions = yield* Sessions
            const turns = yield* Turns
            const endless = yield* connections.create(principal, workspaceId, {
              kind: "alpha_gateway",
              label: "endless",
              credential: { base_url: gateway.url, api_key: "sk-endless" }
            })
            yield* connections.update(principal, endless.id, { preferred_model: "scripted-1" })
            const lose = Effect.fnUntraced(function* ([what, of]: readonly [
              string,
              (typeof losses)[keyof typeof losses]
            ]) {
              const session = yield* sessions.create(principal, workspaceId, { connection_id: endless.id })
              const { by, end } = yield* of(given)
              const send = Effect.map(
                messages.send(by, session.id, { content: say("Done.") }),
                ({ turn_id }) => turn_id ?? ""
              )
              const [works, waits] = [yield* send, yield* send]
              const [begun] = (yield* eventsUntil(session.id, isStartOf(works))).slice(-1)
              assert.strictEqual(begun?.type, "turn.started", `${what}: ${JSON.stringify(begun)}`)
              yield* end
              yield* eventsUntil(session.id, isEndOf(waits))
              for (const id of [works, waits]) {
                const turn = yield* turns.get(principal, id)
                assert.deepStrictEqual(
                  [turn.state, turn.reason],
                  ["cancelled", "access_lost"],
                  `${what}: ${turn.reason_message}`
                )
              }
              return { session, works }
            })
            const lost = yield* Effect.forEach(Object.entries(losses), lose, { concurrency: "unbounded" })
            yield* Effect.promise(() => eventually("no model call is open", () => gateway.open.size === 0))
            // The owner may: what counts is who asks, and not who has written the message.
            const [first] = lost
            if (first === undefined) return assert.fail("nobody has lost anything")
            const again = yield* turns.retry(principal, first.works)
            yield* eventsUntil(first.session.id, isStartOf(again.id))
            yield* turns.cancel(principal, again.id)
            yield* eventsUntil(first.session.id, isEndOf(again.id))
            assert.strictEqual((yield* turns.get(principal, again.id)).reason, "user_cancelled")
          }),
        { maxRunningTurns: 8 }
      )
    }),
  120_000
)
