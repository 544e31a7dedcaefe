import { assert, layer } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { Effect, Logger } from "effect"
import { servicesByDatabase } from "../Databases.js"
import { Caller, change, codeOf, send } from "../Service.js"
import { newSession } from "../Sessions.js"

/** The names that each database has for a row whose value is there already, and for a table that is not there. */
const codes = {
  SQLite: { duplicate: "SQLITE_CONSTRAINT_UNIQUE", missing: "SQLITE_ERROR" },
  PostgreSQL: { duplicate: "23505", missing: "42P01" }
}

const lines: Array<string> = []
const logger = Logger.make(({ annotations, message }) => {
  lines.push(JSON.stringify([message, ...annotations]))
})
const logs = Logger.replace(Logger.defaultLogger, logger)

for (const { database, layer: service } of servicesByDatabase({}, logs)) {
  layer(service, { excludeTestServices: true })(`a statement that fails on ${database}`, (it) => {
    it.effect("is logged with the database's name for what went wrong, and without any value", () =>
      Effect.gen(function* () {
        const { bearer: headers } = yield* Caller
        const { run, sql } = yield* Database
        const sessions = [yield* newSession, yield* newSession]
        yield* run(sql`create unique index one_of_a_title on sessions (title) where title <> 'test'`)
        const title = "canary 8c1f of a title"
        const replies = yield* Effect.forEach(sessions, ({ sessionId }) =>
          change("PATCH", `/api/sessions/${sessionId}`, { headers, body: { title } })
        )
        assert.deepStrictEqual(
          replies.map(({ status }) => status),
          [200, 500]
        )
        yield* run(sql`alter table projects rename to gone`)
        const missing = yield* send("GET", "/api/projects/proj_01jz0000000000000000000000", { headers })
        assert.deepStrictEqual([missing.status, codeOf(missing)], [500, "internal_error"])
        const told = lines.splice(0).filter((line) => line.includes("request failed unexpectedly"))
        assert.strictEqual(told.length, 2)
        assert.include(told[0], codes[database].duplicate)
        assert.include(told[1], codes[database].missing)
        if (database === "PostgreSQL") assert.include(told[0], "one_of_a_title")
        for (const text of [...told, ...replies.map((reply) => reply.text).slice(1)]) assert.notInclude(text, "canary")
      })
    )
  })
}
