import { assert, it, layer as withLayer } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { defectFields, failedStatementOf } from "@reins/core/store/FailedStatement"
import { databases } from "@reins/testing/store/Databases"
import { Cause, Effect, Exit, Option } from "effect"

const secret = "canary-9f3"

/** The defect of a statement that is refused for what it holds: a second account with the address of the first. */
const refused = Effect.gen(function* () {
  const db = yield* Database
  const insert = (id: string) =>
    db.run(
      db.sql`insert into accounts ${db.sql.insert({ id, email: `${secret}@example.com`, display_name: secret, password_hash: secret, state: "active", created_at: secret, updated_at: secret })}`
    )
  yield* insert("acct_1")
  const exit = yield* Effect.exit(insert("acct_2"))
  return Exit.isFailure(exit) ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined
})

for (const { layer, name } of databases) {
  withLayer(layer)(`a statement that ${name} refused`, (it) => {
    it.effect("is told by the names of the database, and without anything that it held", () =>
      Effect.gen(function* () {
        const defect = yield* refused
        const fields = defectFields(defect)
        assert.strictEqual(fields["database_code"], failedStatementOf(defect)?.code)
        assert.match(fields["database_code"] ?? "", /^(?:23505|SQLITE_CONSTRAINT\w*)$/)
        assert.notInclude(JSON.stringify(fields), secret)
      })
    )
  })
}

it("any other defect is told whole", () => {
  assert.include(defectFields(new Error("what happened")).cause, "what happened")
})
