import { assert, layer as suiteOver } from "@effect/vitest"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Deletions } from "@reins/core/deletion/Deletions"
import { Retention } from "@reins/core/deletion/Retention"
import { WorkspaceEvents } from "@reins/core/events/WorkspaceEvents"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Database } from "@reins/core/store/Database"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

/** Lets a session have been used last at the beginning of a year. */
const usedIn = (year: number, id: string) =>
  Effect.flatMap(Database, ({ run, sql }) =>
    run(sql`update sessions set updated_at = ${`${year}-01-01T00:00:00.000Z`} where id = ${id}`)
  )

for (const { layer, name } of flowDatabases) {
  suiteOver(services(layer), { excludeTestServices: true })(`the retention of a workspace on ${name}`, (it) => {
    it.effect("deletes archived and closed sessions that nobody has used for long, and says how many before", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const deletions = yield* Deletions
        const retention = yield* Retention
        const sessions = yield* Sessions
        const turns = yield* Turns
        const workspaces = yield* Workspaces
        const create = (title: string) => sessions.create(principal, workspaceId, { title })
        const [open, fresh, archived, closed, parent] = yield* Effect.all([
          create("open"),
          create("fresh"),
          create("archived"),
          create("closed"),
          create("with a child in use")
        ])
        const { delegation } = yield* (yield* Delegations).spawn(principal, parent.id, {
          role: "scout",
          instructions: "Look."
        })
        const child = delegation.child_session_id
        for (const turn of (yield* turns.list(principal, child, {})).items) yield* turns.cancel(principal, turn.id)
        for (const { id } of [fresh, archived, parent]) yield* sessions.archive(principal, id)
        yield* sessions.close(principal, closed.id)
        for (const { id } of [open, archived, closed, parent]) yield* usedIn(2020, id)

        assert.deepInclude(yield* workspaces.get(principal, workspaceId), { retention: { sessions_days: null } })
        yield* retention.sweep
        assert.deepStrictEqual((yield* deletions.list(principal, workspaceId, {})).items, [])
        assert.deepInclude(yield* retention.preview(principal, workspaceId, 30), { sessions: 2, sessions_days: 30 })
        assert.strictEqual((yield* retention.preview(principal, workspaceId, 36_500)).sessions, 0)

        const changed = yield* workspaces.update(principal, workspaceId, { retention: { sessions_days: 30 } })
        assert.deepStrictEqual(changed.retention, { sessions_days: 30 })
        yield* retention.sweep
        const receipts = (yield* deletions.list(principal, workspaceId, {})).items
        assert.deepStrictEqual(
          receipts.map(({ deleted_by, session_id }) => [session_id, deleted_by]),
          [closed, archived].map(({ id }) => [id, { kind: "system", id: "retention" }])
        )
        const { items } = yield* (yield* WorkspaceEvents).page(principal, workspaceId, { limit: 500 })
        assert.sameMembers(
          items.filter(({ event }) => event.type === "session.deleted").map(({ event }) => event.session_id),
          [archived.id, closed.id]
        )
        for (const { id } of [open, fresh, parent]) yield* sessions.get(principal, id)

        // The tree goes when all of it is old.
        yield* sessions.close(principal, child)
        yield* usedIn(2020, child)
        assert.strictEqual((yield* retention.preview(principal, workspaceId, 30)).sessions, 2)
        yield* retention.sweep
        assert.lengthOf((yield* deletions.list(principal, workspaceId, {})).items, 4)
        yield* workspaces.update(principal, workspaceId, { retention: { sessions_days: null } })
        yield* usedIn(2020, fresh.id)
        yield* retention.sweep
        yield* sessions.get(principal, fresh.id)
      })
    )
  })
}
