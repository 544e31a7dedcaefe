import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer as suiteOver } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import { AccountDeletions } from "@reins/core/deletion/AccountDeletions"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { Members } from "@reins/core/identity/Members"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted, Schedule } from "effect"
import { withAgent } from "../execution/Agent.js"
import { principalOf } from "../identity/Principals.js"
import { requireNoTrace, rowsHolding } from "./Traces.js"

/** The end of all words that an account is full of. None of them may be found after it. */
const mark = "aqcanary"
const password = "correct horse battery staple"
const client = { clientAddress: "192.0.2.7" }

/** Makes an account a member of a workspace. */
const join_ = Effect.fnUntraced(function* (workspace_id: string, account_id: string, role: "member" | "owner") {
  const { run, sql } = yield* Database
  const row = { workspace_id, account_id, role, created_at: "2026-01-01T00:00:00.000Z" }
  yield* run(sql`insert into workspace_members ${sql.insert(row)}`)
})

const states = Effect.gen(function* () {
  const { all, sql } = yield* Database
  return yield* all(sql<{ kind: string; state: string }>`select kind, state from deletions order by kind`)
})

for (const { layer, name } of flowDatabases) {
  describe(`the deletion of an account on ${name}`, () => {
    it.scopedLive(
      "leaves nothing of it in the database, in the outbox and in a copy, and what it made stays with its id",
      () =>
        withAgent(
          "alpha_gateway",
          ({ dataDir, directory, principal, workspaceId }) =>
            Effect.gen(function* () {
              const sessions = yield* Sessions
              const members = yield* Members
              const email = `${mark}@example.com`
              const account = yield* (yield* Accounts).createVerified({
                email,
                password: Redacted.make(password),
                displayName: `name${mark}`
              })
              yield* join_(workspaceId, account.id, "member")
              const own = principalOf(account)
              const key = yield* (yield* ApiKeys).create(own, { name: `key${mark}`, budget: { max_tokens: 1_000 } })
              const login = yield* (yield* LoginSessions).login({ email, password }, client)
              const team = yield* (yield* Workspaces).create(own, { name: `team${mark}` })
              yield* members.add(own, team.id, { email: `guest${mark}@example.com`, role: "viewer" })
              yield* members.add(principal, workspaceId, { email, role: "member" })
              const outbox = join(dataDir, "outbox")
              const hasMail = () => existsSync(outbox) && readdirSync(outbox).some((entry) => entry.endsWith(".eml"))
              yield* Effect.repeat(Effect.sync(hasMail), {
                until: (isThere) => isThere,
                schedule: Schedule.spaced("20 millis")
              })
              const { id } = yield* sessions.create(own, workspaceId, { title: "It stays" })

              const deletions = yield* AccountDeletions
              const wrong = deletions.deleteOwn(own, { password: "not the password" }, client)
              const refused = yield* Effect.flip(wrong)
              assert.strictEqual(refused.code, "invalid_credentials")
              const receipt = yield* deletions.deleteOwn(own, { password }, client)
              assert.deepInclude(receipt, { kind: "account", id: account.id, state: "deleting" })
              assert.isUndefined(yield* (yield* ApiKeys).authenticate(Redacted.make(key.secret)))
              assert.isUndefined(yield* (yield* LoginSessions).authenticate(login.token))
              yield* Effect.repeat(states, {
                until: (all) => all.length === 3 && all.every(({ state }) => state === "deleted"),
                schedule: Schedule.spaced("20 millis")
              })
              assert.strictEqual((yield* deletions.deleteFor(account.id)).state, "deleted")
              yield* requireNoTrace(directory, dataDir, [mark, key.id])
              assert.deepStrictEqual(
                (yield* rowsHolding(account.id)).filter((table) => table !== "events"),
                ["deletions", "jobs"]
              )
              assert.strictEqual((yield* sessions.get(principal, id)).title, "It stays")
              const again = yield* (yield* Accounts).createVerified({ email, password: Redacted.make(password) })
              assert.notStrictEqual(again.id, account.id)
            }),
          {},
          undefined,
          name === "SQLite" ? undefined : layer
        ),
      240_000
    )

    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect("waits until others have an owner, and leaves them their workspaces", () =>
        Effect.gen(function* () {
          const { workspaceId: elsewhere } = yield* ownerWithConnection
          const accounts = yield* Accounts
          const deletions = yield* AccountDeletions
          const workspaces = yield* Workspaces
          const person = (who: string) =>
            Effect.map(
              accounts.createVerified({ email: `${who}-${name}@example.com`, password: Redacted.make(password) }),
              (account) => ({ account, principal: principalOf(account) })
            )
          const [owner, other] = [yield* person("leaver"), yield* person("stayer")]
          const shared = yield* workspaces.create(owner.principal, { name: "Shared" })
          const alone = yield* workspaces.create(owner.principal, { name: "Alone" })
          const personal = yield* workspaces.defaultFor(owner.principal)
          yield* join_(shared.id, other.account.id, "member")
          const refusal = (of: Principal) =>
            Effect.map(Effect.flip(deletions.deleteOwn(of, { password }, client)), ({ _tag, message }) =>
              _tag === "ReinsError" ? message : _tag
            )
          assert.include(yield* refusal(owner.principal), 'only owner of workspaces with other members: "Shared"')
          assert.include(yield* refusal({ ...owner.principal, workspaceId: shared.id }), "one workspace")
          assert.include(yield* refusal({ ...owner.principal, scopes: ["write"] }), "scope")
          const operator = yield* Effect.flip(deletions.deleteFor(owner.account.id))
          assert.strictEqual(operator.code, "invalid_transition")
          assert.strictEqual((yield* workspaces.get(owner.principal, alone.id)).name, "Alone")

          yield* (yield* Members).add(owner.principal, shared.id, { email: other.account.email, role: "owner" })
          // A personal workspace with another owner becomes that of the others.
          yield* join_(personal, other.account.id, "owner")
          yield* deletions.deleteFor(owner.account.id)
          assert.strictEqual((yield* workspaces.get(other.principal, shared.id)).role, "owner")
          assert.deepInclude(yield* workspaces.get(other.principal, personal), { personal: false, role: "owner" })
          for (const gone of [alone.id, elsewhere])
            assert.strictEqual((yield* Effect.flip(workspaces.get(owner.principal, gone))).code, "not_found")
          assert.strictEqual((yield* Effect.flip(deletions.deleteFor("acc_nobody"))).code, "not_found")
          const { items } = yield* (yield* Members).list(other.principal, shared.id, {})
          assert.deepStrictEqual(
            items.map(({ account_id }) => account_id),
            [other.account.id]
          )
        })
      )
    })
  })
}
