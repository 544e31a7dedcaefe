import { assert, describe, it } from "@effect/vitest"
import type { ConnectionId } from "@reins/base/domain/Ids"
import { DelegationId, newId, WorkspaceId } from "@reins/base/domain/Ids"
import { systemActor } from "@reins/core/access/Access"
import { RepositoryConnections } from "@reins/core/catalog/RepositoryConnections"
import { ConnectionStore } from "@reins/core/connections/ConnectionStore"
import { Connections } from "@reins/core/connections/Connections"
import { gitChoiceOf } from "@reins/core/sessions/creation/GitChoice"
import { SessionLifecycles } from "@reins/core/sessions/creation/SessionLifecycles"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { Repositories } from "@reins/core/worktrees/Repositories"
import { appKeys } from "@reins/testing/forge/ForgeApp"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { stranger } from "../identity/Principals.js"

const url = "https://git.example/acme/shop.git"

/** A workspace, and what makes connections and sessions in it. */
const workspace = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const connections = yield* Connections
  const sessions = yield* Sessions
  const add = (kind: string, credential: Readonly<Record<string, string>>) =>
    Effect.map(connections.create(principal, workspaceId, { kind, label: kind, credential }), ({ id }) => id)
  const forge = (base_url: string, kind = "gitea") => add(kind, { base_url, token: "a-token" })
  const plain = (origin: string) => add("git", { origin, username: "ann", password: "a-password" })
  const ssh = (origin: string) =>
    add("git_ssh", { origin, known_hosts: "git.example ssh-ed25519 AAAA", private_key: "k" })
  const app = (base_url: string) => add("github_app", { base_url, client_id: "Iv1", private_key: appKeys().pkcs1 })
  /** The connection of a new session for a repository. */
  const chosen = (repository: string, connection_id?: ConnectionId | null) =>
    Effect.map(
      sessions.create(principal, workspaceId, {
        repository: { url: repository, ...(connection_id !== undefined && { connection_id }) },
        prewarm: false
      }),
      ({ base }) => base.connection_id
    )
  const { note } = yield* RepositoryConnections
  const journal = yield* Journal
  const store = yield* ConnectionStore
  const seen = Effect.fnUntraced(function* (connectionId: ConnectionId, opens: boolean, repository = url) {
    const { credentialId } = yield* store.open(workspaceId, connectionId)
    yield* journal.commit(note(workspaceId, repository, { connectionId, credentialId, opens }))
  })
  return { add, app, chosen, connections, forge, plain, principal, seen, sessions, ssh, workspaceId }
})

const allowed = {
  allowPrivateHosts: ["git.example", "other.example"],
  allowSshRepositories: true,
  allowLocalRepositories: true
}

for (const { layer, name } of databases) {
  const run = <A, E>(
    effect: Effect.Effect<A, E, Effect.Effect.Context<typeof workspace> | Database | Repositories | SessionLifecycles>
  ) => Effect.provide(effect, services(layer, allowed))

  describe(`the connection of the host of a repository on ${name}`, () => {
    it.scopedLive("is of the same protocol, host and port, whatever the spelling of the URL", () =>
      run(
        Effect.gen(function* () {
          const { chosen, forge, plain, ssh } = yield* workspace
          const connections = {
            forge: yield* forge("https://git.example"),
            port: yield* plain("https://git.example:8443"),
            http: yield* plain("http://git.example"),
            ssh: yield* ssh("ssh://git.example")
          }
          const expected: ReadonlyArray<readonly [string, keyof typeof connections | null]> = [
            [url, "forge"],
            ["https://GIT.EXAMPLE/acme/shop", "forge"],
            ["https://git.example:443/acme/shop.git", "forge"],
            ["https://ann@git.example/acme/shop.git", "forge"],
            ["https://git.example:8443/acme/shop.git", "port"],
            ["http://git.example/acme/shop.git", "http"],
            ["git@git.example:acme/shop.git", "ssh"],
            ["ssh://git@git.example/acme/shop.git", "ssh"],
            ["ssh://git.example:2222/acme/shop.git", null],
            ["https://git.example:9443/acme/shop.git", null],
            ["https://git.example./acme/shop.git", null],
            ["https://sub.git.example/acme/shop.git", null],
            ["https://git.example.evil.test/acme/shop.git", null],
            ["git@other.example:acme/shop.git", null],
            ["https://other.example/git.example/shop.git", null],
            ["file:///srv/git.example/acme/shop.git", null],
            ["/srv/git.example/acme/shop.git", null]
          ]
          for (const [repository, of] of expected)
            assert.strictEqual(yield* chosen(repository), of === null ? null : connections[of], repository)
        })
      )
    )

    it.scopedLive("is an app first, then the one that has opened the repository last, then the newest", () =>
      run(
        Effect.gen(function* () {
          const { app, chosen, connections, forge, principal, seen } = yield* workspace
          const [older, newer] = [yield* forge("https://git.example"), yield* forge("https://git.example")]
          assert.strictEqual(yield* chosen(url), newer)
          yield* seen(older, true)
          assert.strictEqual(yield* chosen("https://git.example/acme/shop"), older)
          assert.strictEqual(yield* chosen("https://git.example/acme/other.git"), newer)
          const ofApp = yield* app("https://git.example")
          assert.strictEqual(yield* chosen(url), ofApp)
          yield* seen(ofApp, false)
          assert.strictEqual(yield* chosen(url), older)
          yield* seen(older, false)
          assert.strictEqual(yield* chosen(url), newer)
          yield* connections.replaceCredential(principal, older, {
            credential: { base_url: "https://git.example", token: "another" }
          })
          yield* seen(newer, false)
          assert.strictEqual(yield* chosen(url), older)
        })
      )
    )

    it.scopedLive("is active, has not lost its login while there is another, and is of the workspace", () =>
      run(
        Effect.gen(function* () {
          const { chosen, connections, forge, principal, workspaceId } = yield* workspace
          const db = yield* Database
          const [first, second, third] = [
            yield* forge("https://git.example"),
            yield* forge("https://git.example"),
            yield* forge("https://git.example")
          ]
          yield* connections.disconnect(principal, third)
          assert.strictEqual(yield* chosen(url), second)
          yield* db.run(db.sql`update connections set health = 'reauth_required' where id = ${second}`)
          assert.strictEqual(yield* chosen(url), first)
          yield* connections.update(principal, first, { state: "disabled" })
          assert.strictEqual(yield* chosen(url), second)
          const other = yield* newId(WorkspaceId)
          yield* db.run(db.sql`insert into workspaces ${db.sql.insert({ id: other, name: "o", created_at: "2026" })}`)
          yield* db.run(db.sql`update connections set workspace_id = ${other} where id = ${second}`)
          assert.strictEqual(yield* chosen(url), null)
          const named = yield* Effect.flip(chosen(url, second))
          assert.strictEqual(named._tag === "ReinsError" ? named.code : named._tag, "not_found")
          yield* db.run(db.sql`update connections set workspace_id = ${workspaceId} where id = ${second}`)
          assert.strictEqual(yield* chosen(url), second)
        })
      )
    )

    it.scopedLive("gives way to the one that is named, to none when that is said, and to that of the project", () =>
      run(
        Effect.gen(function* () {
          const { chosen, forge, plain } = yield* workspace
          const older = yield* forge("https://git.example")
          const elsewhere = yield* plain("https://other.example")
          yield* forge("https://git.example")
          assert.strictEqual(yield* chosen(url, older), older)
          assert.strictEqual(yield* chosen(url, null), null)
          const refused = yield* Effect.flip(chosen(url, elsewhere))
          assert.strictEqual(refused._tag === "ReinsError" ? refused.code : refused._tag, "connection_required")
        })
      )
    )

    it.scopedLive("is chosen anew for a repository that has moved, unless it was named", () =>
      run(
        Effect.gen(function* () {
          const { forge, plain, principal, sessions, workspaceId } = yield* workspace
          const [here, there] = [yield* forge("https://git.example"), yield* plain("https://other.example")]
          const moved = "https://other.example/acme/shop.git"
          const movedFrom = Effect.fnUntraced(function* (connection_id?: ConnectionId) {
            const repository = { url, ...(connection_id !== undefined && { connection_id }) }
            const { id } = yield* sessions.create(principal, workspaceId, { repository, prewarm: false })
            return (yield* sessions.update(principal, id, { repository: { url: moved } })).base.connection_id
          })
          assert.strictEqual(yield* movedFrom(), there)
          assert.strictEqual(yield* movedFrom(here), here)
        })
      )
    )

    it.scopedLive(
      "is that of the sessions of automations and delegations, too, and none where the parent has none",
      () =>
        run(
          Effect.gen(function* () {
            const { forge, workspaceId } = yield* workspace
            const connection = yield* forge("https://git.example")
            const lifecycles = yield* SessionLifecycles
            const journal = yield* Journal
            const by = systemActor("automations")
            const begun = Effect.fnUntraced(function* (more: { readonly connection_id?: null }) {
              const input = { repository: { url, ...more } }
              const parent = yield* journal.commit(lifecycles.begin(workspaceId, by, input))
              const delegation = { title: "a part", harness: undefined, source: parent, seed: null }
              const delegationId = yield* newId(DelegationId)
              const child = yield* journal.commit(lifecycles.spawn(parent, by, { ...delegation, delegationId }))
              return [gitChoiceOf(parent.tree).id, gitChoiceOf(child.tree).id]
            })
            assert.deepStrictEqual(yield* begun({}), [connection, connection])
            assert.deepStrictEqual(yield* begun({ connection_id: null }), [null, null])
          })
        )
    )

    it.scopedLive("is for members alone", () =>
      run(
        Effect.gen(function* () {
          const { forge, principal, sessions, workspaceId } = yield* workspace
          const db = yield* Database
          const repositories = yield* Repositories
          const connection_id = yield* forge("https://git.example")
          const other = yield* stranger
          const codesOf = (by: typeof principal) =>
            Effect.all([
              Effect.flip(sessions.create(by, workspaceId, { repository: { url } })),
              Effect.flip(repositories.check(by, workspaceId, { url })),
              Effect.flip(repositories.check(by, workspaceId, { url, connection_id }))
            ]).pipe(Effect.map((errors) => errors.map((error) => ("code" in error ? error.code : error._tag))))
          assert.deepStrictEqual(yield* codesOf(other), ["not_found", "not_found", "not_found"])
          const member = { workspace_id: workspaceId, account_id: other.accountId, role: "viewer", created_at: "2026" }
          yield* db.run(db.sql`insert into workspace_members ${db.sql.insert(member)}`)
          assert.deepStrictEqual(yield* codesOf(other), ["forbidden", "forbidden", "forbidden"])
        })
      )
    )
  })
}
