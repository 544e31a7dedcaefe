import type { HttpApiEndpoint } from "@effect/platform"
import { assert, it } from "@effect/vitest"
import { Api } from "@reins/core/Api"
import { operations, sweeps } from "@reins/core/Rooms"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { PreparedQuery, type Query } from "@reins/core/store/Query"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Layer } from "effect"

/** The statements that were run, with the values of the last time. */
const ran = new Map<string, ReadonlyArray<unknown>>()

const note = (query: Query<object>): void => {
  const [text, values] = query instanceof PreparedQuery ? [query.prepared.text, query.parameters] : query.compile()
  if (/^\s*(?:with|select|update|delete|insert)\b/i.test(text)) ran.set(text, values)
}

const noted = (database: (typeof databases)[number]["layer"]) =>
  Layer.provideMerge(
    Layer.effect(
      Database,
      Effect.map(Database, (db) =>
        Database.make(
          db.sql,
          db.dialect,
          {
            ...db,
            all: (query) =>
              Effect.zipRight(
                Effect.sync(() => note(query)),
                db.all(query)
              ),
            run: (query) =>
              Effect.zipRight(
                Effect.sync(() => note(query)),
                db.run(query)
              ),
            runLast: (query) =>
              Effect.zipRight(
                Effect.sync(() => note(query)),
                db.runLast(query)
              )
          },
          db.clock
        )
      )
    ),
    database
  )

/** Queries that change the statements of a list. */
const variants: ReadonlyArray<Readonly<Record<string, unknown>>> = [
  {},
  { limit: 50, after: 1 },
  { lifecycle: "closed" },
  { activity: "idle" },
  { activity: "running" },
  { state: "open" },
  { state: "pending" },
  { label: "k=v" },
  { q: "word" },
  { q: "t" },
  { project_id: "prj_1", repository_url: "https://example.com/r", parent_session_id: "sess_1" },
  { care: "handed_over" },
  { after_days: 1 }
]

/** Tables that stay small: of the installation, or of one row each node, release or agreement. */
const small = new Set(["agreements", "nodes", "enabled_providers"])

/** Asks whether there is any row. */
const asksForAny = /\(select 1 from budgets limit 1\)/

/**
 * The tables of a plan that are read from one end to the other. SQLite takes every table for one of a million rows while it has no statistics, so that it
 * scans where no index serves.
 */
const scansOf = (plan: ReadonlyArray<string>, text: string, ofFew: ReadonlySet<string>): ReadonlyArray<string> => {
  const made = new Set(
    plan.flatMap((line) => /^(?:MATERIALIZE|CO-ROUTINE) (\S+)/.exec(line)?.[1]?.replace(/^"|"$/g, "") ?? [])
  )
  return plan.flatMap((line) => {
    const [, name = ""] = /^SCAN (\S+)/.exec(line) ?? []
    const index = / USING (?:COVERING )?INDEX (\S+)/.exec(line)?.[1] ?? ""
    const isTable = name !== "" && !made.has(name) && !/^(?:CONSTANT|\(?subquery|json_each)/i.test(name)
    const isMeant = small.has(name) || ofFew.has(index) || (name === "budgets" && asksForAny.test(text))
    return isTable && !isMeant && !/VIRTUAL TABLE INDEX \d+:M/.test(line) ? [line] : []
  })
}

it.scopedLive(
  "no list, read, search and purge scans a table, by the plans of the statements that they really run",
  () =>
    Effect.gen(function* () {
      const db = yield* Database
      const { principal, workspaceId } = yield* ownerWithConnection
      const { id: sessionId } = yield* (yield* Sessions).create(principal, workspaceId, { title: "a word" })
      const { message, turn_id: turnId } = yield* (yield* Messages).send(principal, sessionId, { content: "Go." })
      const known: Readonly<Record<string, string>> = {
        workspace_id: workspaceId,
        session_id: sessionId,
        turn_id: turnId ?? "",
        message_id: message.id
      }
      // An index with a condition has few rows, and whoever reads all of it wants them all.
      const conditional = yield* db.all(
        db.sql<{ name: string }>`select name from sqlite_master where type = 'index' and sql like '% where %'`
      )
      const ofFew = new Set(conditional.map(({ name }) => name))
      ran.clear()
      // Boundary: the operations are called by name.
      const all = (yield* operations) as unknown as Record<
        string,
        Record<string, ((call: object) => Effect.Effect<unknown, unknown>) | undefined>
      >
      let called = 0
      for (const { endpoints, identifier } of Object.values(Api.groups))
        for (const { method, name, path } of Object.values(
          endpoints as Record<
            string,
            HttpApiEndpoint.HttpApiEndpoint.Any & { method: string; path: string; name: string }
          >
        )) {
          const operation = all[identifier]?.[name]
          if (method !== "GET" || operation === undefined) continue
          const ids = [...path.matchAll(/:(\w+)/g)].map(([, id = ""]) => [id, known[id] ?? `${id}_of_nobody`] as const)
          for (const query of variants) {
            called++
            // Some ask for more than this call has. Their statements count all the same.
            yield* Effect.exit(
              Effect.suspend(() => operation({ principal, path: Object.fromEntries(ids), query, body: {} }))
            )
          }
        }
      for (const [, sweep] of sweeps) yield* Effect.flatten(sweep)
      assert.isAbove(called, 500)
      assert.isAbove(ran.size, 80)
      const wrong: Array<string> = []
      for (const [text, values] of ran) {
        const plan = yield* db.all(db.sql.unsafe<{ detail: string }>(`explain query plan ${text}`, [...values]))
        const lines = plan.map(({ detail }) => detail)
        const scans = scansOf(lines, text, ofFew)
        if (scans.length > 0) wrong.push(`${scans.join(", ")}: ${text.replaceAll(/\s+/g, " ").slice(0, 400)}`)
      }
      assert.deepStrictEqual(wrong, [])
    }).pipe(Effect.provide(services(noted(databases[0]?.layer ?? assert.fail("no database")))))
)
