import { assert, layer } from "@effect/vitest"
import { WorkspaceId } from "@reins/base/domain/Ids"
import { Accounts } from "@reins/core/identity/Accounts"
import { Database } from "@reins/core/store/Database"
import { streamDefaults } from "@reins/server/EventStreams"
import type { Block } from "@reins/testing/process/Blocks"
import { Effect } from "effect"
import { Caller, change, codeOf, newCaller, password, send } from "./Service.js"
import { append, newSession, openStream } from "./Sessions.js"
import { serviceWith } from "./StreamService.js"

const isEnd = (block: Block) => block.event === "stream.end"

/** Somebody else who may read the session. */
const newReader = (sessionId: string) =>
  Effect.gen(function* () {
    const { sql, run, first } = yield* Database
    const reader = yield* newCaller()
    const session = yield* first(
      sql<{ workspace_id: string }>`select workspace_id from sessions where id = ${sessionId}`
    )
    const workspaceId = WorkspaceId.make(session?.workspace_id ?? "")
    const created_at = new Date().toISOString()
    yield* run(
      sql`insert into workspace_members ${sql.insert({ workspace_id: workspaceId, account_id: reader.account.id, role: "viewer", created_at })}`
    )
    return { ...reader, workspaceId }
  })

/** Opens a stream of a new session, takes its access away, and says how the stream ended and what the next request is told. */
const endOf = <E, R>(
  withdraw: (
    reader: Effect.Effect.Success<ReturnType<typeof newReader>>
  ) => Effect.Effect<Readonly<Record<string, string>>, E, R>,
  { beats = true } = {}
) =>
  Effect.gen(function* () {
    const { bearer: owner } = yield* Caller
    const { events, sessionId, watermark } = yield* newSession
    const reader = yield* newReader(sessionId)
    const mine = yield* openStream(`${events}?after=${watermark}`, owner)
    const stream = yield* openStream(`${events}?after=${watermark}`, reader.bearer)
    if (beats) yield* stream.until((block) => block.text === ": heartbeat")
    const headers = yield* withdraw(reader)
    const ended = yield* stream.until(isEnd)
    assert.deepStrictEqual(JSON.parse(ended.at(-1)?.data ?? ""), { reason: "refused", next_after: watermark })
    // Those who may still read go on.
    yield* append(sessionId, 1)
    const given = yield* mine.until((block) => block.id !== undefined)
    assert.strictEqual(given.at(-1)?.id, String(watermark + 1))
    mine.close()
    const again = yield* send("GET", events, { headers: { accept: "text/event-stream", ...headers } })
    return [again.status, codeOf(again)]
  })

layer(serviceWith({ ...streamDefaults, heartbeat: "50 millis" }), { excludeTestServices: true })(
  "a stream whose caller",
  (it) => {
    it.effect("revokes the key is ended", () =>
      Effect.gen(function* () {
        const told = yield* endOf(({ bearer, key }) =>
          Effect.as(change("DELETE", `/api/api-keys/${key.id}`, { headers: bearer }), bearer)
        )
        assert.deepStrictEqual(told, [401, "unauthenticated"])
      })
    )

    it.effect("is no longer a member is ended", () =>
      Effect.gen(function* () {
        const { bearer: owner } = yield* Caller
        const told = yield* endOf(({ account, bearer, workspaceId }) =>
          Effect.as(
            change("DELETE", `/api/workspaces/${workspaceId}/members/${account.id}`, { headers: owner }),
            bearer
          )
        )
        assert.deepStrictEqual(told, [404, "not_found"])
      })
    )

    it.effect("has an account that was disabled is ended", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const told = yield* endOf(({ account, bearer }) => Effect.as(accounts.disable(account.id), bearer))
        assert.deepStrictEqual(told, [401, "unauthenticated"])
      })
    )

    it.effect("has a key that expired is ended", () =>
      Effect.gen(function* () {
        const { run, sql } = yield* Database
        const told = yield* endOf(({ bearer, key }) =>
          Effect.as(run(sql`update api_keys set expires_at = '2020-01-01T00:00:00.000Z' where id = ${key.id}`), bearer)
        )
        assert.deepStrictEqual(told, [401, "unauthenticated"])
      })
    )

    it.effect("logs out is ended, and one that uses another key of the account is not", () =>
      Effect.gen(function* () {
        const { bearer, email } = yield* Caller
        const { events, sessionId, watermark } = yield* newSession
        const login = yield* change("POST", "/api/auth/login", { body: { email, password } })
        const cookie = login.headers
          .getSetCookie()
          .map((set) => set.split(";")[0])
          .join("; ")
        const csrf = Object(login.json).csrf_token
        const byCookie = yield* openStream(`${events}?after=${watermark}`, { cookie })
        const byKey = yield* openStream(`${events}?after=${watermark}`, bearer)
        yield* byCookie.until((block) => block.text === ": heartbeat")
        yield* change("POST", "/api/auth/logout", { headers: { cookie, "x-csrf-token": csrf } })
        const ended = yield* byCookie.until(isEnd)
        assert.strictEqual(JSON.parse(ended.at(-1)?.data ?? "").reason, "refused")
        yield* append(sessionId, 1)
        assert.strictEqual((yield* byKey.until((block) => block.id !== undefined)).at(-1)?.id, String(watermark + 1))
        byKey.close()
      })
    )
  }
)

layer(serviceWith({ ...streamDefaults, heartbeat: "1 hour" }), { excludeTestServices: true })(
  "a stream ends without waiting for a beat where its caller",
  (it) => {
    const isRefused = (told: ReadonlyArray<unknown>, status: number) => assert.strictEqual(told[0], status)

    it.effect("revokes the key, is removed, is disabled, changes its password or deletes itself", () =>
      Effect.gen(function* () {
        const { bearer: owner } = yield* Caller
        const accounts = yield* Accounts
        const once = { beats: false }
        isRefused(
          yield* endOf(
            ({ bearer, key }) => Effect.as(change("DELETE", `/api/api-keys/${key.id}`, { headers: bearer }), bearer),
            once
          ),
          401
        )
        isRefused(
          yield* endOf(
            ({ account, bearer, workspaceId }) =>
              Effect.as(
                change("DELETE", `/api/workspaces/${workspaceId}/members/${account.id}`, { headers: owner }),
                bearer
              ),
            once
          ),
          404
        )
        isRefused(yield* endOf(({ account, bearer }) => Effect.as(accounts.disable(account.id), bearer), once), 401)
        isRefused(
          yield* endOf(
            ({ bearer }) =>
              Effect.map(
                change("POST", "/api/auth/account-deletions", { headers: bearer, body: { password } }),
                ({ status }) => {
                  assert.strictEqual(status, 202)
                  return bearer
                }
              ),
            once
          ),
          401
        )
      })
    )

    it.effect("logs out by the button of another page", () =>
      Effect.gen(function* () {
        const { email } = yield* Caller
        const { events, watermark } = yield* newSession
        const login = yield* change("POST", "/api/auth/login", { body: { email, password } })
        const cookie = login.headers
          .getSetCookie()
          .map((set) => set.split(";")[0])
          .join("; ")
        const byCookie = yield* openStream(`${events}?after=${watermark}`, { cookie })
        yield* change("POST", "/api/auth/logout", {
          headers: { cookie, "x-csrf-token": Object(login.json).csrf_token }
        })
        assert.strictEqual(JSON.parse((yield* byCookie.until(isEnd)).at(-1)?.data ?? "").reason, "refused")
      })
    )
  }
)
