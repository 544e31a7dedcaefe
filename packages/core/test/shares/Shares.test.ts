import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { MessageId, newId, TurnId } from "@reins/base/domain/Ids"
import type { Principal, TurnPrincipal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now } from "@reins/base/domain/Timestamp"
import { systemActor } from "@reins/core/access/Access"
import * as Memberships from "@reins/core/access/Memberships"
import { Deletions } from "@reins/core/deletion/Deletions"
import { EventLog } from "@reins/core/events/EventLog"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Messages } from "@reins/core/sessions/Messages"
import { MessageStore } from "@reins/core/sessions/messages/MessageStore"
import type { ToolPayload } from "@reins/core/sessions/rows/ToolCall"
import { Sessions } from "@reins/core/sessions/Sessions"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import type { CreatedShare } from "@reins/core/shares/Share"
import { SharedSessions, type Visitor } from "@reins/core/shares/SharedSessions"
import { Shares } from "@reins/core/shares/Shares"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { codeOf, installation, remote, workspace } from "@reins/testing/changes/Fixture"
import { newAccount } from "@reins/testing/identity/Identity"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Effect, Fiber, Redacted } from "effect"

const runner = systemActor("runner")

/** The credential of the connection of the fixture. */
const credential = "k".repeat(32)

/** Each test comes from a machine of its own, because refusals are counted by machine. */
let machines = 0
const newMachine = () => `192.0.2.${++machines}`

const visitor = ({ token }: Pick<CreatedShare, "token">, clientAddress = newMachine()): Visitor => ({
  token: Redacted.make(token),
  clientAddress
})

/** A member of the workspace of the owner, with a session. */
const withMember = Effect.gen(function* () {
  const { principal: owner, workspaceId } = yield* ownerWithConnection
  const account = yield* newAccount
  const { commit } = yield* Journal
  const db = yield* Database
  const membership = { workspace_id: workspaceId, account_id: account.id, role: "member" } as const
  yield* commit(Effect.flatMap(now, (created_at) => Memberships.add(db, { ...membership, created_at })))
  const member: Principal = { ...owner, accountId: account.id }
  const session = yield* (yield* Sessions).create(owner, workspaceId, { title: "Fix the sum" })
  return { owner, member, account, membership, session, workspaceId, commit, db }
})

const refusal = (given: Visitor) =>
  Effect.flatMap(SharedSessions, (shared) => Effect.map(Effect.flip(shared.session(given)), ({ code }) => code))

const call: ToolPayload = {
  tool_id: "call-1",
  kind: "execute",
  title: "cat private.txt",
  input: { command: "cat private.txt" },
  state: "done",
  output_text: "private words",
  diffs: [],
  locations: [{ path: "private.txt", line: 1 }],
  media: [],
  truncated: false
}

/** A conversation with a secret, a thought, a tool call, a plan and a note. */
const conversation = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const { commit } = yield* Journal
  const messages = yield* MessageStore
  const turns = yield* TurnStore
  const session = yield* (yield* Sessions).create(principal, workspaceId, { title: `About ${credential}` })
  const post = yield* Messages
  const { turn_id } = yield* post.send(principal, session.id, { content: "Go on." })
  yield* post.send(principal, session.id, { content: "For members.", routing: "note" })
  const turnId = TurnId.make(turn_id ?? "")
  for (const to of ["preparing", "running"] as const) yield* commit(turns.move(turnId, to, runner))
  const id = yield* newId(MessageId)
  yield* commit(
    messages.complete(id, { id: session.id }, turnId, runner, {
      content: [{ type: "text", text: "Done." }],
      parts: [
        { kind: "reasoning", part_key: "1", text: "A thought." },
        { kind: "tool", part_key: "2", tool: call },
        { kind: "text", part_key: "3", text: `Done with ${credential}.` },
        {
          kind: "plan",
          part_key: "4",
          plan: {
            plan_id: null,
            entries: [{ content: "Do it", priority: "high", status: "completed" }],
            text: null,
            uri: null,
            removed: false
          }
        }
      ]
    })
  )
  return { principal, session, turnId, workspaceId }
})

for (const { layer, name } of databases) {
  describe(`a shared session, on ${name}`, () => {
    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.scoped("is read with the token alone, which is stored nowhere", () =>
        Effect.gen(function* () {
          const { db, member, session } = yield* withMember
          const shares = yield* Shares
          const shared = yield* SharedSessions
          const made = yield* shares.share(member, session.id, {})
          assert.deepInclude(made, { session_id: session.id, state: "active", includes: ["changes"], expires_at: null })
          assert.match(made.token, /^rsh_[\w-]{43}$/)
          assert.isTrue(made.url.endsWith(`/ui/shared#${made.token}`), made.url)
          const seen = yield* shared.session(visitor(made))
          assert.deepInclude(seen, { title: "Fix the sum", provider_id: "alpha", activity: "idle" })
          assert.notInclude(JSON.stringify(seen), session.id)

          const { token, url, ...share } = made
          assert.deepStrictEqual(yield* shares.get(member, made.id), share)
          assert.deepStrictEqual((yield* shares.list(member, session.id, {})).items, [share])
          const rows = yield* db.all(db.sql`select * from session_shares`)
          const { items } = yield* (yield* EventLog).page(member, session.id, { limit: 100 })
          assert.notInclude(JSON.stringify([rows, items]), made.token)
          assert.deepStrictEqual(
            items.map(({ type }) => type),
            ["session.created", "session.shared"]
          )
          assert.deepStrictEqual(items.at(-1)?.payload, {
            share_id: made.id,
            includes: ["changes"],
            expires_at: null
          })
        })
      )

      it.scoped("is gone alike when the link is unknown, taken back, over, or its session deleted", () =>
        Effect.gen(function* () {
          const { db, member, owner, session } = yield* withMember
          const shares = yield* Shares
          const shared = yield* SharedSessions
          const revoked = yield* shares.share(member, session.id, {})
          const expired = yield* shares.share(member, session.id, { expires_at: yield* fromNow(60_000) })
          const deleted = yield* shares.share(member, session.id, {})
          const first = yield* shares.revoke(owner, revoked.id)
          assert.strictEqual(first.state, "revoked")
          assert.deepStrictEqual(yield* shares.revoke(member, revoked.id), first)
          yield* db.run(db.sql`update session_shares set expires_at = ${yield* now} where id = ${expired.id}`)
          assert.strictEqual((yield* shares.get(member, expired.id)).state, "expired")
          const { items } = yield* (yield* EventLog).page(member, session.id, { limit: 100 })
          assert.strictEqual(items.filter(({ type }) => type === "session.unshared").length, 1)
          yield* shared.session(visitor(deleted))
          yield* (yield* Deletions).deleteSession(owner, session.id)

          const refusals = yield* Effect.forEach(
            [{ token: `rsh_${"a".repeat(43)}` }, revoked, expired, deleted].map((share) => visitor(share)),
            (given) => Effect.flip(shared.session(given))
          )
          for (const { code, details, message } of refusals)
            assert.deepStrictEqual(
              { code, details, message },
              { code: "not_found", details: undefined, message: refusals[0]?.message ?? "" }
            )
          assert.strictEqual(yield* refusal({ token: undefined, clientAddress: newMachine() }), "not_found")
        })
      )

      it.scoped("ends when the one who shared it loses the right, and does not come back with a new membership", () =>
        Effect.gen(function* () {
          const { commit, db, member, membership, owner, session } = yield* withMember
          const { account_id, workspace_id } = membership
          const shares = yield* Shares
          const shared = yield* SharedSessions
          const made = yield* shares.share(member, session.id, {})
          yield* shared.session(visitor(made))
          yield* commit(Memberships.setRole(db, { ...membership, role: "viewer" }))
          assert.strictEqual(yield* refusal(visitor(made)), "not_found")
          assert.strictEqual(yield* codeOf(shares.share(member, session.id, {})), "forbidden")
          yield* commit(Memberships.setRole(db, membership))
          yield* shared.session(visitor(made))
          yield* commit(Memberships.removeMembership(db, workspace_id, account_id))
          assert.strictEqual(yield* refusal(visitor(made)), "not_found")
          yield* commit(Effect.flatMap(fromNow(10), (created_at) => Memberships.add(db, { ...membership, created_at })))
          assert.strictEqual(yield* refusal(visitor(made)), "not_found")
          assert.strictEqual((yield* shares.get(owner, made.id)).state, "ended")
        })
      )

      it.scoped("ends with the key that shared it, and with the account", () =>
        Effect.gen(function* () {
          const { account, member, owner, session } = yield* withMember
          const shares = yield* Shares
          const keys = yield* ApiKeys
          const key = yield* keys.issueFor(account.id, { name: "ci", scopes: ["write"], workspaceId: null })
          const byKey: Principal = { ...member, via: { kind: "api_key", keyId: key.id } }
          const [first, second] = [
            yield* shares.share(byKey, session.id, {}),
            yield* shares.share(member, session.id, {})
          ]
          assert.deepStrictEqual(first.created_by, { kind: "api_key", id: key.id })
          yield* keys.revoke(member, key.id)
          assert.strictEqual(yield* refusal(visitor(first)), "not_found")
          yield* (yield* SharedSessions).session(visitor(second))
          yield* (yield* Accounts).disable(account.id)
          assert.strictEqual(yield* refusal(visitor(second)), "not_found")
          assert.strictEqual((yield* shares.get(owner, second.id)).state, "ended")
        })
      )

      it.scoped("shows the conversation without secrets, notes and what was not included", () =>
        Effect.gen(function* () {
          const { principal, session } = yield* conversation
          const shares = yield* Shares
          const shared = yield* SharedSessions
          const plain = visitor(yield* shares.share(principal, session.id, { includes: [] }))
          assert.strictEqual((yield* shared.session(plain)).title, "About [secret]")
          const { items } = yield* shared.messages(plain, {})
          assert.deepStrictEqual(
            items.map(({ ordinal, role }) => [ordinal, role]),
            [
              [1, "user"],
              [3, "assistant"]
            ]
          )
          const text = JSON.stringify(items)
          for (const word of [credential, "private", "A thought", "For members", session.id, principal.accountId])
            assert.notInclude(text, word)
          assert.include(text, "Done with [secret].")
          assert.deepStrictEqual(
            items[1]?.parts.map(({ kind }) => kind),
            ["tool", "text", "plan"]
          )
          assert.deepStrictEqual(yield* shared.changesets(plain, {}), { items: [], next_cursor: null })

          const all = visitor(yield* shares.share(principal, session.id, { includes: ["tools", "reasoning"] }))
          const whole = JSON.stringify((yield* shared.messages(all, {})).items)
          for (const word of ["cat private.txt", "private words", "A thought"]) assert.include(whole, word)
          assert.notInclude(whole, credential)
        })
      )

      it.scoped("is not shared by agents, by viewers, by strangers, nor until a time that is over", () =>
        Effect.gen(function* () {
          const { principal, session, turnId, workspaceId } = yield* conversation
          const shares = yield* Shares
          const turn: TurnPrincipal = {
            accountId: principal.accountId,
            scopes: ["write"],
            workspaceId,
            via: { kind: "turn", sessionId: session.id, turnId, providerId: "alpha", keyId: null }
          }
          const stranger: Principal = { ...principal, accountId: (yield* newAccount).id }
          assert.strictEqual(yield* codeOf(shares.share(turn, session.id, {})), "forbidden")
          assert.strictEqual(yield* codeOf(shares.share(stranger, session.id, {})), "not_found")
          const made = yield* shares.share(principal, session.id, {})
          assert.strictEqual(yield* codeOf(shares.get(stranger, made.id)), "not_found")
          assert.strictEqual(yield* codeOf(shares.revoke(stranger, made.id)), "not_found")
          assert.strictEqual(yield* codeOf(shares.list(stranger, session.id, {})), "not_found")
          const past = yield* Effect.flip(shares.share(principal, session.id, { expires_at: yield* now }))
          assert.notInstanceOf(past, ReinsError)
        })
      )

      it.scoped("refuses a client that tries links, also with a good one, and nobody else", () =>
        Effect.gen(function* () {
          const { member, session } = yield* withMember
          const made = yield* (yield* Shares).share(member, session.id, {})
          const address = newMachine()
          for (let tries = 0; tries < 49; tries++)
            assert.strictEqual(yield* refusal({ token: undefined, clientAddress: address }), "not_found")
          yield* (yield* SharedSessions).session(visitor(made, address))
          assert.strictEqual(yield* refusal({ token: undefined, clientAddress: address }), "not_found")
          assert.strictEqual(yield* refusal({ token: undefined, clientAddress: address }), "rate_limited")
          assert.strictEqual(yield* refusal(visitor(made, address)), "rate_limited")
          yield* (yield* SharedSessions).session(visitor(made))
        })
      )

      it.scoped("tells a waiting page of a change, and of the end of the link, at once", () =>
        Effect.gen(function* () {
          const { member, session } = yield* withMember
          const shares = yield* Shares
          const shared = yield* SharedSessions
          const given = visitor(yield* shares.share(member, session.id, {}))
          const known = yield* shared.watermark(given, undefined)
          assert.strictEqual(yield* shared.watermark(given, known - 1), known)
          const change = yield* Effect.fork(shared.watermark(given, known))
          yield* (yield* Sessions).update(member, session.id, { title: "Renamed" })
          const next = yield* Fiber.join(change)
          assert.strictEqual(next, known + 1)
          const end = yield* Effect.fork(Effect.flip(shared.watermark(given, next)))
          const { items } = yield* shares.list(member, session.id, {})
          yield* shares.revoke(member, items[0]?.id ?? "")
          assert.strictEqual((yield* Fiber.join(end)).code, "not_found")
          assert.strictEqual(
            yield* shared
              .watermark(visitor(yield* shares.share(member, session.id, {})), 1_000, Effect.void)
              .pipe(Effect.map((watermark) => watermark > next)),
            true
          )
        })
      )
    })

    restOn(name)(() => {
      suiteOver(installation(layer), { excludeTestServices: true })((it) => {
        it.scoped("shows the diffs of its own changesets alone, without secrets", () =>
          Effect.gen(function* () {
            const { url } = yield* remote()
            const { change, principal, session } = yield* workspace(url)
            const other = yield* workspace(url)
            const own = yield* change({ "a.txt": `${credential}\n` })
            const foreign = yield* other.change({ "a.txt": "elsewhere\n" })
            const shares = yield* Shares
            const shared = yield* SharedSessions
            const given = visitor(yield* shares.share(principal, session.id, {}))
            const { items } = yield* shared.changesets(given, {})
            assert.deepStrictEqual(
              items.map(({ files, id }) => [id, files.map(({ path }) => path)]),
              [[own.id, ["a.txt"]]]
            )
            assert.match((yield* shared.diff(given, own.id)).diff, /-one\n\+\[secret\]\n/)
            assert.strictEqual(yield* codeOf(shared.diff(given, foreign.id)), "not_found")
            assert.strictEqual(yield* codeOf(shared.diff(given, "cs_none")), "not_found")
            const without = visitor(yield* shares.share(principal, session.id, { includes: ["tools"] }))
            assert.strictEqual(yield* codeOf(shared.diff(without, own.id)), "not_found")
          })
        )
      })
    })
  })
}
