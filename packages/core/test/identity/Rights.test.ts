import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer as suiteOver } from "@effect/vitest"
import { AccountId, ApiKeyId, newId, ShareId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { AccountPrincipal } from "@reins/base/domain/Principal"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import * as Memberships from "@reins/core/access/Memberships"
import { AccountStore } from "@reins/core/identity/AccountStore"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeyStore } from "@reins/core/identity/ApiKeyStore"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { LoginStore } from "@reins/core/identity/LoginStore"
import { identityRemoval } from "@reins/core/identity/Removal"
import { Sessions } from "@reins/core/sessions/Sessions"
import { shareStore } from "@reins/core/shares/ShareStore"
import { accessTopic } from "@reins/core/store/Bell"
import { Commit } from "@reins/core/store/Commit"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

const source = join(import.meta.dirname, "../../src")
const schema = join(source, "store/schema")
const filesOf = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"))
const textOf = (path: string): string => readFileSync(join(source, path), "utf8")

/** The tables that name an account or a key as the one that something is done for, with the file that asks whether it may. */
const askers: Readonly<Record<string, string>> = {
  automations: "automations/Acting.ts",
  cares: "care/Acting.ts",
  merge_conditions: "requests/conditions/FactReads.ts",
  verdicts: "requests/conditions/FactReads.ts",
  oauth_grants: "oauth/OauthStore.ts",
  push_subscriptions: "push/PushStore.ts",
  session_shares: "shares/ShareStore.ts",
  api_keys: "identity/ApiKeyStore.ts",
  turns: "tools/Acting.ts"
}

/** Tables that name one for another reason, as who has paid, who is told, or who has made it. Nothing is done by these columns later. */
const noRights: Readonly<Record<string, string>> = {
  workspace_members: "it is the membership itself",
  login_sessions: "a login asks for its account alone",
  known_clients: "machines that an account has logged in from",
  workspaces: "the account whose personal workspace it is",
  oauth_codes: "the key of the access that comes of it is asked at each call",
  sessions: "the key that pays",
  usage_days: "the key that has paid",
  deletions: "who has asked for it",
  connection_logins: "who alone may answer it; each answer asks for the right to write",
  seen_marks: "who has seen the session",
  deliveries: "the key that signs commits"
}

describe("the rights by which something is done later", () => {
  it("every table that names an account or a key has a room that asks whether it is good", () => {
    const tables = filesOf(schema).flatMap((file) =>
      [...readFileSync(join(schema, file), "utf8").matchAll(/create table (\w+) \(([^;`]*?)\n {2,}\)/g)].flatMap(
        ([, table = "", columns = ""]) =>
          /^\s*(?:\w+_)?(?:acts_for|api_key_id|key_id|account_id) text/m.test(columns) ? [table] : []
      )
    )
    assert.isAbove(tables.length, 12)
    for (const table of tables)
      assert.isTrue(
        Object.hasOwn(askers, table) || Object.hasOwn(noRights, table),
        `nobody is named who asks for ${table}`
      )
    for (const [table, file] of Object.entries(askers))
      assert.match(textOf(file), /\b(?:isInForce|mayActFor|appKeys|stands)\(/, `${file} does not ask for ${table}`)
  })

  it("one file says what a good key and an active account are", () => {
    const reads = /(?:exists \(select|join)[^`]*(?:api_keys|accounts)\b[^`]*(?:revoked_at is null|state = 'active')/
    const others = filesOf(source).filter((file) => file !== "identity/InForce.ts" && reads.test(textOf(file)))
    // These ask for people of the workspace, and for nobody who acts by a key.
    assert.sameMembers(others, ["identity/LoginStore.ts", "identity/MemberStore.ts", "identity/Removal.ts"])
  })
})

/** The key of a share or an automation, and whether it is good while the account is active. */
const keys = [
  "none",
  "good",
  "revoked",
  "expired",
  "of another account",
  "of this workspace",
  "of a workspace that was left"
] as const
type Kind = (typeof keys)[number]
const areGood: ReadonlySet<Kind> = new Set<Kind>(["none", "good", "of this workspace"])

for (const { layer, name } of flowDatabases) {
  suiteOver(services(layer), { excludeTestServices: true })(`rights on ${name}`, (it) => {
    it.effect("requests, turns, automations and links mean the same by a good key, whatever became of it", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const db = yield* Database
        const { first, run, sql } = db
        const accounts = yield* Accounts
        const store = yield* ApiKeyStore
        const shares = yield* shareStore
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        const journal = yield* Journal
        const past = yield* fromNow(-60_000)
        const add = (accountId: AccountId, of: WorkspaceId) =>
          Effect.flatMap(now, (created_at) =>
            journal.commit(Memberships.add(db, { workspace_id: of, account_id: accountId, role: "member", created_at }))
          )
        let count = 0
        for (const state of ["active", "disabled"] as const)
          for (const kind of keys) {
            const made = yield* accounts.createVerified({ email: `right${++count}@example.com`, password: null })
            const other = yield* accounts.createVerified({ email: `other${count}@example.com`, password: null })
            yield* add(made.id, workspaceId)
            const own = yield* first(
              sql<{ id: WorkspaceId }>`select id from workspaces where personal_account_id = ${other.id}`
            )
            const keyId = kind === "none" ? null : yield* newId(ApiKeyId)
            const secret = yield* Token.random
            if (keyId !== null)
              yield* journal.commit(
                store.insert(
                  kind === "of another account" ? other.id : made.id,
                  {
                    id: keyId,
                    name: kind,
                    prefix: "rk_x",
                    last4: "last",
                    scopes: ["read", "write"],
                    workspace_id:
                      kind === "of this workspace"
                        ? workspaceId
                        : kind === "of a workspace that was left"
                          ? (own?.id ?? workspaceId)
                          : null,
                    expires_at: kind === "expired" ? past : null,
                    last_used_at: null,
                    revoked_at: kind === "revoked" ? past : null,
                    created_at: past
                  },
                  Token.digest(secret)
                )
              )
            const shareId = yield* newId(ShareId)
            const created_at: Timestamp = yield* now
            yield* journal.commit(
              shares.insert(
                {
                  id: shareId,
                  session_id: session.id,
                  workspace_id: workspaceId,
                  account_id: made.id,
                  api_key_id: keyId,
                  includes: [],
                  created_at,
                  expires_at: null,
                  revoked_at: null
                },
                yield* Token.random
              )
            )
            yield* run(sql`update accounts set state = ${state} where id = ${made.id}`)
            const isGood = state === "active" && areGood.has(kind)
            const what = `${kind}, ${state}`
            assert.strictEqual(yield* store.mayActFor(made.id, keyId), isGood, what)
            assert.strictEqual((yield* shares.find(shareId))?.state === "active", isGood, what)
            if (kind === "none" || kind === "of another account") continue
            const holder = yield* store.findHolder(Token.digest(secret))
            // An expired key is known, so that it can be refused as expired.
            assert.strictEqual(holder !== undefined, isGood || (state === "active" && kind === "expired"), what)
          }
      })
    )

    it.effect("whatever takes a right rings for its account once it is committed, and for nobody else", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const journal = yield* Journal
        const accounts = yield* Accounts
        const [accountStore, keyStore, logins] = yield* Effect.all([AccountStore, ApiKeyStore, LoginStore])
        const { hideAccount, hideWorkspace } = yield* identityRemoval
        let count = 0
        /** Somebody with a workspace, a key of each kind and a login. */
        const newPerson = Effect.gen(function* () {
          const { id } = yield* accounts.createVerified({ email: `rung${++count}@example.com`, password: null })
          const own = yield* db.first(
            db.sql<{ id: WorkspaceId }>`select id from workspaces where personal_account_id = ${id}`
          )
          const by: AccountPrincipal = {
            accountId: id,
            scopes: ["admin"],
            workspaceId: null,
            via: { kind: "embedded" }
          }
          const key = yield* (yield* ApiKeys).create(by, { name: "key" })
          yield* db.run(db.sql`update api_keys set is_app = 1 where id = ${key.id}`)
          const at = yield* now
          const login = { id: `login${count}`, hash: `hash${count}`, account_id: id }
          yield* journal.commit(
            logins.insert({ ...login, created_at: at, last_seen_at: at, expires_at: yield* fromNow(60_000) })
          )
          return { id, by, keyId: key.id, loginId: login.id, workspaceId: own?.id ?? assert.fail("no workspace") }
        })
        type Person = Effect.Effect.Success<typeof newPerson>
        const losses: Readonly<Record<string, (person: Person) => Effect.Effect<unknown, unknown, Commit>>> = {
          revoke: ({ by, keyId }) =>
            Effect.zipRight(
              db.run(db.sql`update api_keys set is_app = 0 where id = ${keyId}`),
              keyStore.revoke(by, keyId)
            ),
          revokeApp: ({ keyId }) => keyStore.revokeApp(keyId),
          revokeApps: ({ id }) => keyStore.revokeApps(id),
          revokeBound: ({ id, workspaceId }) => keyStore.revokeBound(id, workspaceId),
          disable: ({ id }) => accountStore.disable(AccountId.make(id)),
          setRole: ({ id, workspaceId }) =>
            Memberships.setRole(db, { account_id: id, workspace_id: workspaceId, role: "viewer" }),
          removeMembership: ({ id, workspaceId }) => Memberships.removeMembership(db, workspaceId, id),
          endLogin: ({ loginId }) => logins.end(loginId),
          endLogins: ({ id }) => logins.endAll(id),
          hideWorkspace: ({ workspaceId }) => hideWorkspace(workspaceId),
          hideAccount: ({ id }) => hideAccount(id)
        }
        for (const [what, take] of Object.entries(losses)) {
          const person = yield* newPerson
          const topics = yield* journal.commit(
            Effect.zipRight(
              take(person),
              Effect.map(Commit, ({ topics }) => [...topics].filter((topic) => topic.startsWith("access:")))
            )
          )
          assert.deepStrictEqual(topics, [accessTopic(person.id)], what)
        }
      })
    )
  })
}
