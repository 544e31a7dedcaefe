import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { Projects } from "@reins/core/projects/Projects"
import type { SessionActivity } from "@reins/core/sessions/rows/Session"
import { type SessionFilter, selectionOf } from "@reins/core/sessions/rows/SessionFilters"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Database } from "@reins/core/store/Database"
import { sealed } from "@reins/testing/changes/Fixture"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

for (const { layer, name } of flowDatabases) {
  describe(`filtered lists on ${name}`, () => {
    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect(
        "sessions are found by label, project, lifecycle and activity, in any combination and page by page",
        () =>
          Effect.gen(function* () {
            const { principal, workspaceId } = yield* ownerWithConnection
            const sessions = yield* Sessions
            const projects = yield* Projects
            const project = yield* projects.create(principal, workspaceId, {
              slug: "filtered",
              name: "Filtered",
              spec: {}
            })
            const long = "x".repeat(10_000)
            const labelSets = [{}, { team: "a" }, { team: "a", env: "p=q" }, { team: "b" }, { [long]: long }]
            for (let index = 0; index < 20; index++) {
              const { id } = yield* sessions.create(principal, workspaceId, {
                labels: labelSets[index % labelSets.length] ?? {},
                ...(index % 2 === 0 && { project_id: project.id }),
                ...(index % 3 === 0 && { message: "Work" })
              })
              if (index % 3 === 1) yield* sessions.archive(principal, id)
              if (index % 5 === 3) yield* sessions.update(principal, id, { labels: { team: "a" } })
            }
            const { items: all } = yield* sessions.list(principal, workspaceId, { limit: 200 })
            const labels = [undefined, "team=a", "team=b", "env=p=q", "team=", `${long}=${long}`]
            const lifecycles = [undefined, "open", "archived", "closed"] as const
            const activities: ReadonlyArray<SessionActivity | undefined> = [undefined, "idle", "queued", "attention"]
            for (const label of labels)
              for (const lifecycle of lifecycles)
                for (const activity of activities)
                  for (const project_id of [undefined, project.id]) {
                    const filter: SessionFilter = {
                      ...(label !== undefined && { label }),
                      ...(lifecycle !== undefined && { lifecycle }),
                      ...(activity !== undefined && { activity }),
                      ...(project_id !== undefined && { project_id })
                    }
                    const [wantedName = "", ...rest] = label?.split("=") ?? []
                    const expected = all.filter(
                      (session) =>
                        (label === undefined || session.labels[wantedName] === rest.join("=")) &&
                        (lifecycle === undefined || session.lifecycle === lifecycle) &&
                        (activity === undefined || session.activity === activity) &&
                        (project_id === undefined || session.project_id === project_id)
                    )
                    const found: Array<string> = []
                    let cursor: string | null | undefined
                    while (cursor !== null) {
                      const page: Effect.Effect.Success<ReturnType<typeof sessions.list>> = yield* sessions.list(
                        principal,
                        workspaceId,
                        { ...filter, limit: 3, ...(cursor !== undefined && { cursor }) }
                      )
                      found.push(...page.items.map(({ id }) => id))
                      cursor = page.next_cursor
                    }
                    const { label: _, ...shown } = filter
                    assert.deepStrictEqual(
                      found,
                      expected.map(({ id }) => id),
                      `${label?.slice(0, 20)} ${JSON.stringify(shown)}`
                    )
                  }
          })
      )

      it.effect("sessions are found by the exact address of their repository", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const make = (url?: string) =>
            sessions.create(principal, workspaceId, url === undefined ? {} : { repository: { url } })
          const [first, , other, second] = [
            yield* make("https://example.com/a.git"),
            yield* make(),
            yield* make("https://example.com/b.git"),
            yield* make("https://example.com/a.git")
          ]
          const found = (repository_url: string) =>
            Effect.map(sessions.list(principal, workspaceId, { repository_url, limit: 10 }), ({ items }) =>
              items.map(({ id }) => id)
            )
          assert.deepStrictEqual(yield* found("https://example.com/a.git"), [second.id, first.id])
          assert.deepStrictEqual(yield* found("https://example.com/b.git"), [other.id])
          assert.deepStrictEqual(yield* found("https://example.com/a"), [])
        })
      )

      it.effect(
        "turns, changesets, deliveries and delegations are found by their state, and projects that are archived",
        () =>
          Effect.gen(function* () {
            const { changeset, principal, session, workspaceId } = yield* sealed
            const sessions = yield* Sessions
            const turns = yield* Turns
            const { id, turn_id } = yield* sessions.create(principal, workspaceId, { message: "Work" })
            yield* turns.cancel(principal, turn_id ?? "")
            const { id: waiting } = yield* turns.retry(principal, turn_id ?? "")
            const ids = (page: { readonly items: ReadonlyArray<{ readonly id: string }> }) =>
              page.items.map((item) => item.id)
            assert.deepStrictEqual(ids(yield* turns.list(principal, id, { state: "queued" })), [waiting])
            assert.deepStrictEqual(ids(yield* turns.list(principal, id, { state: "cancelled" })), [turn_id ?? ""])
            const changesets = yield* Changesets
            assert.deepStrictEqual(ids(yield* changesets.list(principal, session.id, { state: "ready" })), [
              changeset.id
            ])
            assert.deepStrictEqual(ids(yield* changesets.list(principal, session.id, { state: "failed" })), [])
            const deliveries = yield* Deliveries
            const { delivery } = yield* deliveries.request(principal, changeset.id, { transport: "patch" })
            assert.deepStrictEqual(ids(yield* deliveries.list(principal, changeset.id, { state: "pending" })), [
              delivery.id
            ])
            assert.deepStrictEqual(ids(yield* deliveries.list(principal, changeset.id, { state: "succeeded" })), [])
            const delegations = yield* Delegations
            const { delegation } = yield* delegations.spawn(principal, id, { role: "scout", instructions: "Look." })
            assert.deepStrictEqual(ids(yield* delegations.list(principal, id, { state: "pending" })), [delegation.id])
            assert.deepStrictEqual(ids(yield* delegations.list(principal, id, { state: "failed" })), [])
            const projects = yield* Projects
            const make = (slug: string) => projects.create(principal, workspaceId, { slug, name: slug })
            const [used, old] = [yield* make("used"), yield* make("old")]
            yield* projects.update(principal, old.id, { archived: true })
            const archived = ids(yield* projects.list(principal, workspaceId, { archived: true }))
            const inUse = ids(yield* projects.list(principal, workspaceId, { archived: false }))
            assert.deepStrictEqual([archived.includes(old.id), archived.includes(used.id)], [true, false])
            assert.deepStrictEqual([inUse.includes(old.id), inUse.includes(used.id)], [false, true])
          })
      )

      it.effect("a filter that few of many sessions fit reads those few, by an index of its own", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const db = yield* Database
          const { sql } = db
          const projects = yield* Projects
          const sessions = yield* Sessions
          const project = yield* projects.create(principal, workspaceId, { slug: "rare", name: "Rare", spec: {} })
          // The oldest of all, so that whoever walks the sessions meets it last.
          const rare = yield* sessions.create(principal, workspaceId, {
            labels: { rare: "yes" },
            project_id: project.id,
            message: "Work"
          })
          const plain = yield* sessions.create(principal, workspaceId, { labels: { rare: "no" } })
          const many = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)`
          const columns = Object.keys((yield* db.first(sql`select * from sessions where id = ${plain.id}`)) ?? {})
          const copied = columns
            .map((column) => (column === "id" ? "'sess_7' || (1000000000 + n.i)" : column))
            .join(", ")
          yield* db.run(sql`${many} insert into sessions (${sql.literal(columns.join(", "))}) select ${sql.literal(copied)}
            from sessions, n where sessions.id = ${plain.id}`)
          yield* db.run(sql`insert into session_labels (workspace_id, label_digest, session_id)
            select ${workspaceId}, label_digest, sessions.id from session_labels, sessions
            where session_labels.session_id = ${plain.id} and sessions.id like 'sess_71%'`)
          // As many turns that have ended as there are sessions, and one that waits.
          const turn = (yield* db.first(sql`select * from turns where session_id = ${rare.id}`)) ?? {}
          const ended: Readonly<Record<string, string>> = {
            id: "'turn_7' || (1000000000 + n.i)",
            ordinal: "1000 + n.i",
            state: "'succeeded'",
            finished_at: "turns.created_at"
          }
          const copiedTurn = Object.keys(turn).map((column) => ended[column] ?? `turns.${column}`)
          yield* db.run(sql`${many} insert into turns (${sql.literal(Object.keys(turn).join(", "))})
            select ${sql.literal(copiedTurn.join(", "))} from turns, n where turns.session_id = ${rare.id}`)
          yield* db.run(sql`analyze`)
          const planOf = (filter: SessionFilter) => {
            const { from, where } = selectionOf(db, workspaceId, filter, { before: "zzzz", limit: 3 })
            const explain = sql.literal(db.dialect === "pg" ? "explain" : "explain query plan")
            return Effect.map(db.all(sql`${explain} select sessions.id from ${from} where ${where}`), (rows) =>
              JSON.stringify(rows)
            )
          }
          const indexes: ReadonlyArray<readonly [SessionFilter, RegExp]> = [
            [{ label: "rare=yes" }, /session_labels_pkey|autoindex_session_labels_1/],
            [{ label: "rare=no" }, /session_labels_(?:pkey|session)|autoindex_session_labels_1/],
            [{ project_id: project.id }, /sessions_project/],
            [{ lifecycle: "archived" }, /sessions_lifecycle/],
            [{ activity: "queued" }, /turns_unsettled/],
            [{ activity: "running" }, /turns_unsettled|turns_live/]
          ]
          for (const [filter, index] of indexes) {
            const plan = yield* planOf(filter)
            assert.match(plan, index, JSON.stringify(filter))
            assert.notMatch(plan, /Seq Scan on sessions|SCAN sessions(?! USING)/, JSON.stringify(filter))
          }
          for (const filter of [{ label: "rare=yes" }, { project_id: project.id }, { activity: "queued" as const }]) {
            const { items } = yield* sessions.list(principal, workspaceId, filter)
            assert.include(
              items.map(({ id }) => id),
              rare.id
            )
          }
        })
      )
    })
  })
}
