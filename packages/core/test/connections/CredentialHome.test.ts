import { symlinkSync } from "node:fs"
import { basename, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { ConnectionStore } from "@reins/core/connections/ConnectionStore"
import { Connections } from "@reins/core/connections/Connections"
import type { ProjectSpec } from "@reins/core/projects/Project"
import { Projects } from "@reins/core/projects/Projects"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { bareRemote, temporary } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

const password = "canary-Hq8rT2vX5nB7mK1p"
const basic = `Basic ${Buffer.from(`ann:${password}`).toString("base64")}`

/** A private repository, and a connection for git with the given origin, which is the server's unless it is given. */
const privateRepository = Effect.gen(function* () {
  const root = yield* temporary
  bareRemote(root, { "a.txt": "one\n" })
  const server = yield* gitHttpServer(root, basic)
  const { principal, workspaceId } = yield* ownerWithConnection
  const connections = yield* Connections
  const connect = (origin: string) =>
    Effect.map(
      connections.create(principal, workspaceId, {
        kind: "git",
        label: "git",
        credential: { origin, username: "ann", password }
      }),
      ({ id }) => id
    )
  let projects = 0
  /** Makes the working tree of a new session whose project has the connections. */
  const made = Effect.fnUntraced(function* (connection_ids: NonNullable<ProjectSpec["connection_ids"]>) {
    const spec = { repository: { url: `${server.url}/remote.git` }, connection_ids }
    const project = yield* Effect.orDie(
      (yield* Projects).create(principal, workspaceId, { slug: `p${++projects}`, name: "p", spec })
    )
    const { id } = yield* Effect.orDie((yield* Sessions).create(principal, workspaceId, { project_id: project.id }))
    return yield* (yield* WorkingTrees).make(id)
  })
  return { connect, made, server, workspaceId }
})

/** The refusal of a malformed request. Dies when there is another end. */
const refusal = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E | RequestInvalid, R>) =>
  Effect.flip(effect).pipe(
    Effect.flatMap((error) =>
      error._tag === "RequestInvalid" && "loc" in error ? Effect.succeed(error) : Effect.dieMessage(error._tag)
    ),
    Effect.orDie
  )

for (const { layer, name } of flowDatabases) {
  describe(`the home of a credential on ${name}`, () => {
    it.scopedLive("it goes to its origin, and to no other port of the same host", () =>
      Effect.gen(function* () {
        const { connect, made, server } = yield* privateRepository
        const elsewhere = yield* connect("https://127.0.0.1")
        const refused = yield* Effect.flip(made([elsewhere]))
        assert.strictEqual(refused.kind, "auth_required")
        assert.deepStrictEqual([...new Set(server.seen)], [""])
        const row = yield* made([elsewhere, yield* connect(server.url)])
        assert.strictEqual(row.tree.state, "ready")
        assert.include(server.seen, basic)
      }).pipe(Effect.provide(services(layer, { allowPrivateHosts: ["127.0.0.1"] })))
    )

    it.scopedLive("it opens for its own workspace, kind and settings only", () =>
      Effect.gen(function* () {
        const { connect, server, workspaceId } = yield* privateRepository
        const db = yield* Database
        const store = yield* ConnectionStore
        yield* db.run(
          db.sql`insert into workspaces ${db.sql.insert({ id: "wsp_other", name: "o", created_at: "2026" })}`
        )
        for (const change of [
          db.sql`workspace_id = 'wsp_other'`,
          db.sql`kind = 'gitea'`,
          db.sql`settings = '{"origin":"https://evil.example","username":"ann"}'`
        ]) {
          const id = yield* connect(server.url)
          const credentialId = (yield* store.open(workspaceId, id)).credentialId
          yield* db.run(db.sql`update connections set ${change} where id = ${id}`)
          assert.strictEqual((yield* Effect.flip(store.openVersion(id, credentialId))).code, "credential_invalid")
        }
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a repository that git would never contact is refused where it is posted", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const sessions = yield* Sessions
        const projects = yield* Projects
        const { id } = yield* projects.create(principal, workspaceId, { slug: "p", name: "p" })
        for (const url of [
          "/srv/a.git",
          "file:///srv/a.git",
          "git@git.example:a",
          "http://git.example/a",
          "https://[::1]/a"
        ]) {
          const spec = { repository: { url } }
          const refusals: ReadonlyArray<RequestInvalid> = [
            yield* refusal(sessions.create(principal, workspaceId, spec)),
            yield* refusal(projects.create(principal, workspaceId, { slug: "q", name: "q", spec })),
            yield* refusal(projects.publish(principal, id, { spec }))
          ]
          assert.deepStrictEqual(
            refusals.map(({ input, loc }) => ({ loc: loc.join("."), input })),
            ["body.repository.url", "body.spec.repository.url", "body.spec.repository.url"].map((loc) => ({
              loc,
              input: url
            }))
          )
        }
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a repository within the data directory is no remote, however the path leads there", () =>
      Effect.gen(function* () {
        const dataDir = yield* temporary
        const outside = yield* temporary
        bareRemote(dataDir, { "a.txt": "one\n" })
        symlinkSync(dataDir, join(outside, "link"))
        yield* Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          for (const url of [
            join(dataDir, "remote.git"),
            `${outside}/../${basename(dataDir)}/remote.git`,
            `file://${dataDir}/remote.git`
          ])
            assert.strictEqual(
              (yield* refusal(sessions.create(principal, workspaceId, { repository: { url } }))).input,
              url
            )
          const url = join(outside, "link", "remote.git")
          const { id } = yield* sessions.create(principal, workspaceId, { repository: { url } })
          const refused = yield* Effect.flip((yield* WorkingTrees).make(id))
          assert.strictEqual(refused.kind, "remote_refused")
          assert.include(refused.message, "data directory")
        }).pipe(Effect.provide(services(layer, { dataDir, allowLocalRepositories: true })))
      })
    )
  })
}
