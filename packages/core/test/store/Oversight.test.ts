import { assert, layer as suite } from "@effect/vitest"
import { isPrincipal, operator, stranger } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { PasswordChanges } from "@reins/core/identity/PasswordChanges"
import type { Bell } from "@reins/core/store/Bell"
import type { Command } from "@reins/core/store/Command"
import { Database } from "@reins/core/store/Database"
import { Idempotency } from "@reins/core/store/Idempotency"
import { Journal } from "@reins/core/store/Journal"
import { type Commanded, Oversight } from "@reins/core/store/Oversight"
import { countRows, goodPassword, identity, newAccount, newClient, newEmail } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Deferred, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { principalOf } from "../identity/Principals.js"

/** The present behaviour of the policy and the audit of these tests. */
const behaviour = { forbidden: new Set<string>(), auditDies: false, racesToLose: 0 }

const forbidden = new ReinsError({ code: "forbidden", message: "The policy of the test forbids it." })

const callerOf = ({ by }: Commanded): string => (isPrincipal(by) ? by.accountId : by.via.kind)

/** Makes PostgreSQL end the transaction as one that cannot be ordered. */
const loseRace = `do $$ begin raise exception 'lost' using errcode = '40001'; end $$`

/** An audit log as a table of its own, and a policy that forbids commands by name, on a database. */
const overseen = (database: Layer.Layer<Database | Bell>) =>
  Layer.provideMerge(
    Layer.effect(
      Oversight,
      Effect.gen(function* () {
        const db = yield* Database
        const { sql } = db
        yield* db.run(sql`create table audit (command text, caller text, type text, subject text)`)
        return {
          before: ({ name }) =>
            Effect.suspend(() => (behaviour.forbidden.has(name) ? Effect.fail(forbidden) : Effect.void)),
          inCommit: Effect.fnUntraced(function* (commanded: Commanded) {
            const { about, name } = commanded
            const row = { command: name, caller: callerOf(commanded), type: about.type, subject: about.id }
            yield* db.run(sql`insert into audit ${sql.insert(row)}`)
            if (behaviour.auditDies) return yield* Effect.dieMessage("the audit log is full")
            if (behaviour.racesToLose-- > 0) yield* db.run(sql.unsafe(loseRace))
          })
        }
      })
    ),
    database
  )

const audited = (command: string) =>
  Effect.flatMap(Database, (db) =>
    db.all(db.sql<{ caller: string; type: string; subject: string | null }>`
      select caller, type, subject from audit where command = ${command}`)
  )

let names = 0
/** A command by the operator that writes a row under its own name, with a step of the test behind it. */
const writing = <A, E>(then: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const db = yield* Database
    const name = `test.${++names}`
    const insert = Effect.suspend(() =>
      db.run(db.sql`insert into throttle_hits ${db.sql.insert({ id: name, subject: name, hit_at: "2026-01-01" })}`)
    )
    const authority = { by: operator, about: { type: "test", id: name } } as const
    return { name, command: (yield* Journal).command(name, authority, Effect.zipRight(insert, then)) }
  })

/** The rows of a command: its effect, its place in the audit log, and the answer of its request. */
const rowsOf = (name: string) =>
  Effect.all({
    effects: countRows("throttle_hits", "subject", name),
    audited: countRows("audit", "command", name),
    answers: countRows("idempotency", "key", name)
  })

const answering = <A>(name: string, command: Command<A, ReinsError>, encode: (result: A) => string = () => "done") =>
  Effect.flatMap(Idempotency, (idempotency) =>
    idempotency.run({
      scope: "test",
      key: name,
      fingerprint: "POST /",
      sealed: false,
      command,
      encode: (result) => ({ status: 200, body: encode(result) }),
      encodeError: (error) => ({ status: error.status, body: error.code })
    })
  )

/** Runs an effect under another policy or audit. */
const during = <A, E, R>(change: Partial<typeof behaviour>, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const before = { ...behaviour }
      Object.assign(behaviour, change)
      return before
    }),
    () => effect,
    (before) => Effect.sync(() => Object.assign(behaviour, before))
  )

const nothing = { effects: 0, audited: 0, answers: 0 }
const everything = { effects: 1, audited: 1, answers: 1 }

for (const { layer, name: database } of databases) {
  suite(identity(overseen(layer)), { excludeTestServices: true })(`Oversight on ${database}`, (it) => {
    it.effect("a command leaves who gave it and what about: the operator, an account and a stranger", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const email = newEmail()
        const account = yield* accounts.createVerified({ email, password: Redacted.make(goodPassword) })
        yield* (yield* ApiKeys).create(principalOf(account), { name: "key" })
        yield* (yield* LoginSessions).login({ email, password: goodPassword }, newClient())
        const own = { type: "account", subject: account.id }
        assert.deepInclude(yield* audited("Accounts.createVerified"), {
          caller: "operator",
          type: "account",
          subject: null
        })
        assert.deepInclude(yield* audited("ApiKeys.create"), { caller: account.id, ...own })
        assert.deepInclude(yield* audited("LoginSessions.open"), { caller: "stranger", ...own })
      })
    )

    it.effect("effect, row and answer stand together", () =>
      Effect.gen(function* () {
        const { command, name } = yield* writing(Effect.void)
        yield* answering(name, command)
        assert.deepStrictEqual(yield* rowsOf(name), everything)
        assert.isTrue((yield* answering(name, command)).replayed)
        assert.deepStrictEqual(yield* rowsOf(name), everything)

        const unasked = yield* writing(Effect.void)
        yield* unasked.command
        assert.deepStrictEqual(yield* rowsOf(unasked.name), { ...everything, answers: 0 })
      })
    )

    it.effect("none stands when the effect fails or dies, or the row or the answer cannot be written", () =>
      Effect.gen(function* () {
        const busy = new ReinsError({ code: "waiting_capacity", message: "busy" })
        const failing = yield* writing(busy)
        assert.strictEqual(yield* Effect.flip(answering(failing.name, failing.command)), busy)
        assert.deepStrictEqual(yield* rowsOf(failing.name), nothing)

        const dying = yield* writing(Effect.dieMessage("bug"))
        assert.isTrue(Exit.isFailure(yield* Effect.exit(answering(dying.name, dying.command))))
        assert.deepStrictEqual(yield* rowsOf(dying.name), nothing)

        const unaudited = yield* writing(Effect.void)
        const attempt = Effect.exit(answering(unaudited.name, unaudited.command))
        assert.isTrue(Exit.isFailure(yield* during({ auditDies: true }, attempt)))
        assert.deepStrictEqual(yield* rowsOf(unaudited.name), nothing)

        const unanswered = yield* writing(Effect.void)
        const unencodable = answering(unanswered.name, unanswered.command, () => {
          throw new Error("cannot be encoded")
        })
        assert.isTrue(Exit.isFailure(yield* Effect.exit(unencodable)))
        assert.deepStrictEqual(yield* rowsOf(unanswered.name), nothing)
      })
    )

    it.effect("none stands when the command is interrupted in its commit", () =>
      Effect.gen(function* () {
        const wrote = yield* Deferred.make<void>()
        const { command, name } = yield* writing(Effect.zipRight(Deferred.succeed(wrote, undefined), Effect.never))
        const fiber = yield* Effect.fork(answering(name, command))
        yield* Deferred.await(wrote)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* rowsOf(name), nothing)
      })
    )

    if (database === "PostgreSQL")
      it.effect("a commit that is rolled back and runs again leaves one row", () =>
        Effect.gen(function* () {
          const { command, name } = yield* writing(Effect.void)
          yield* during({ racesToLose: 2 }, answering(name, command))
          assert.deepStrictEqual(yield* rowsOf(name), everything)
        })
      )

    it.effect("the policy refuses before a preparation has run, and leaves nothing", () =>
      Effect.gen(function* () {
        const principal = principalOf(yield* newAccount)
        let prepared = 0
        const preparation = Effect.sync(() => {
          prepared++
          return Effect.void
        })
        const command = (yield* Journal).prepared(
          "test.forbidden",
          { by: principal, about: { type: "test", id: "refused" } },
          preparation
        )
        const refused = Effect.flip(answering("refused", command))
        assert.strictEqual(yield* during({ forbidden: new Set(["test.forbidden"]) }, refused), forbidden)
        assert.strictEqual(prepared, 0)
        assert.deepStrictEqual(yield* rowsOf("refused"), nothing)
        // The refusal is not stored, so the same request is answered once the policy allows it.
        assert.isFalse((yield* answering("refused", command)).replayed)
        assert.strictEqual(prepared, 1)
      })
    )

    it.effect("no policy stops the operator, a stranger, or somebody who gives up a right", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const principal = principalOf(account)
        const keys = yield* ApiKeys
        const key = yield* keys.create(principal, { name: "key" })
        const free = ["Accounts.createVerified", "PasswordChanges.reset", "ApiKeys.revoke", "LoginSessions.logout"]
        yield* during(
          { forbidden: new Set([...free, "ApiKeys.create"]) },
          Effect.gen(function* () {
            assert.strictEqual(yield* Effect.flip(keys.create(principal, { name: "key" })), forbidden)
            yield* newAccount
            yield* (yield* PasswordChanges).reset({ email: account.email }, newClient())
            yield* keys.revoke(principal, key.id)
            yield* (yield* LoginSessions).logout(principal)
          })
        )
      })
    )
  })
}

suite(identity(databases[0]?.layer ?? assert.fail("no database")), { excludeTestServices: true })("Oversight", (it) => {
  it.effect("the default does nothing, and a command tells whoever runs it who gives it", () =>
    Effect.gen(function* () {
      const { before, inCommit } = yield* Oversight
      const authority = { by: stranger, about: { type: "test", id: null } } as const
      const { commanded } = (yield* Journal).command("test", authority, Effect.void)
      assert.deepStrictEqual(commanded, { ...authority, name: "test" })
      assert.strictEqual(before(commanded), Effect.void)
      assert.strictEqual(inCommit(commanded), Effect.void)
    })
  )
})
