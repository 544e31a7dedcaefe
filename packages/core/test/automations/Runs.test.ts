import { assert, describe, it } from "@effect/vitest"
import { AccountId, type AutomationId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { fromMillis } from "@reins/base/domain/Timestamp"
import * as Memberships from "@reins/core/access/Memberships"
import type { AutomationInput } from "@reins/core/automations/AutomationsApi"
import { BudgetStore } from "@reins/core/budgets/BudgetStore"
import { Connections } from "@reins/core/connections/Connections"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Projects } from "@reins/core/projects/Projects"
import { Turns } from "@reins/core/sessions/Turns"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { Oversight } from "@reins/core/store/Oversight"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Layer } from "effect"
import { begin, codeOf, end } from "../delegations/Children.js"
import { stranger } from "../identity/Principals.js"
import { daily, daysAgo, fire, given, makeDue, sessionOf, settled, work, working } from "./Automated.js"

/** Fires an automation anew for an occurrence that has had its run. */
const fireAgain = (id: AutomationId) =>
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    yield* run(sql`update automation_runs set occurrence = id where automation_id = ${id}`)
    yield* fire(id)
  })

/** The present behaviour of the policy of these tests, and the automations whose runs it has seen begin. */
const policy = { allows: true, audited: [] as Array<string> }

const forbidden = new ReinsError({ code: "forbidden", message: "The policy of the test forbids it." })

const overseen = Layer.succeed(Oversight, {
  before: ({ name }) => (name === "Automations.fire" && !policy.allows ? Effect.fail(forbidden) : Effect.void),
  inCommit: ({ about, name }) =>
    Effect.sync(() => {
      if (name === "Automations.fire") policy.audited = [about.id ?? ""]
    })
})

for (const { layer, name } of flowDatabases) {
  describe(`runs on ${name}`, () => {
    const rule = (text: string, test: Effect.Effect<void, unknown, Layer.Layer.Success<ReturnType<typeof services>>>) =>
      it.scopedLive(text, () => test.pipe(Effect.provide(services(layer))))

    const ended = (to: "failed" | "succeeded", id: AutomationId) =>
      Effect.gen(function* () {
        const { principal, runsOf } = yield* reader
        const [run] = yield* runsOf(id)
        const sessionId = yield* sessionOf(run ?? { session_id: null })
        yield* begin(principal, sessionId)
        yield* end(principal, sessionId, to)
      })
    let reader = given

    const again = Effect.gen(function* () {
      const made = yield* given
      reader = Effect.succeed(made)
      return made
    })

    rule(
      "while a run goes on, the next is skipped, or waits and takes later ones in, or begins beside it",
      Effect.gen(function* () {
        const { add, runsOf } = yield* again
        const states = (id: string) =>
          Effect.map(runsOf(id), (runs) =>
            runs.map(({ reason, state }) => (reason === null ? state : `${state} ${reason}`))
          )
        const skipping = yield* add({ overlap: "skip" })
        yield* fire(skipping.id)
        yield* fireAgain(skipping.id)
        assert.deepStrictEqual(yield* states(skipping.id), ["skipped overlap", "waiting"])

        const queueing = yield* add({ overlap: "queue" })
        yield* fire(queueing.id)
        const [first] = yield* runsOf(queueing.id)
        yield* fireAgain(queueing.id)
        yield* fireAgain(queueing.id)
        assert.deepStrictEqual(yield* states(queueing.id), ["skipped coalesced", "waiting", "waiting"])
        const { principal } = yield* reader
        const sessionId = yield* sessionOf(first ?? { session_id: null })
        yield* begin(principal, sessionId)
        yield* end(principal, sessionId, "succeeded")
        yield* work
        const [, second] = yield* runsOf(queueing.id)
        assert.isNotNull(second?.session_id)
        assert.notStrictEqual(second?.session_id, sessionId)

        const beside = yield* add({ overlap: "parallel", max_parallel: 2 })
        yield* fire(beside.id)
        yield* fireAgain(beside.id)
        yield* fireAgain(beside.id)
        assert.deepStrictEqual(yield* states(beside.id), ["skipped overlap", "waiting", "waiting"])
      })
    )

    rule(
      "an outage makes one late run, or none, and one that tells how many were missed",
      Effect.gen(function* () {
        const { add, get, runsOf } = yield* again
        const outage = (more: Partial<AutomationInput>) =>
          Effect.gen(function* () {
            const { id } = yield* add({ start_within_seconds: 60, ...more })
            yield* makeDue(id, daysAgo(9))
            yield* work
            // The late run is put off by up to five minutes, so that those of an outage do not begin at once.
            const { first, run, sql } = yield* Database
            const job = yield* first(
              sql<{ payload: string }>`select payload from jobs where subject_id = ${id} and state = 'queued'`
            )
            const isPutOff = job?.payload.includes("put_off") ?? false
            if (isPutOff) {
              assert.lengthOf(yield* runsOf(id), 0)
              yield* run(sql`update jobs set run_at = ${daysAgo(0)} where subject_id = ${id} and state = 'queued'`)
              yield* work
            }
            assert.strictEqual((yield* get(id)).next_due_at, daysAgo(-1))
            return (yield* runsOf(id)).map(({ due_at, missed, reason, state }) => ({ due_at, missed, reason, state }))
          })
        const missed = { due_at: daysAgo(9), reason: "missed", state: "skipped" } as const
        assert.deepStrictEqual(yield* outage({ missed: "run_once" }), [
          { due_at: daysAgo(0), missed: null, reason: null, state: "waiting" },
          { ...missed, missed: 9 }
        ])
        assert.deepStrictEqual(yield* outage({ missed: "skip" }), [{ ...missed, missed: 10 }])
      })
    )

    rule(
      "failed runs one after another pause it, and a success begins the count anew",
      Effect.gen(function* () {
        const { add, get, principal, automations } = yield* again
        const { id } = yield* add({ pause_after_failures: 2 })
        for (const [to, failures] of [
          ["failed", 1],
          ["succeeded", 0],
          ["failed", 1]
        ] as const) {
          yield* fireAgain(id)
          yield* ended(to, id)
          assert.deepInclude(yield* get(id), { state: "active", failures })
        }
        yield* fireAgain(id)
        yield* ended("failed", id)
        const paused = yield* get(id)
        assert.deepInclude(paused, { state: "paused", pause_reason: "failures", failures: 2, next_due_at: null })
        assert.match(paused.pause_message ?? "", /^2 runs one after another failed\. .* The agent crashed\.$/)
        const { all, sql } = yield* Database
        const mails = yield* all(sql<{ payload: string }>`select payload from jobs where kind = 'mail.send'
          and payload like '%automation_paused%'`)
        assert.deepStrictEqual(
          mails.map(({ payload }) => JSON.parse(payload)),
          [
            {
              template: "automation_paused",
              account_id: principal.accountId,
              automation_id: id,
              name: "Nightly",
              reason: "failures"
            }
          ]
        )
        assert.deepInclude(paused.last_run, { state: "failed", reason: "harness_crashed" })
        assert.deepInclude(yield* automations.resume(principal, id), { state: "active", failures: 0 })
      })
    )

    rule(
      "a session that is refused makes a failed run with the code, no session, and the next time",
      Effect.gen(function* () {
        const { add, get, principal, runsOf, sessionCount } = yield* again
        const connections = yield* Connections
        const { id } = yield* add({ pause_after_failures: null })
        const { items } = yield* connections.list(principal, (yield* reader).workspaceId, {})
        yield* Effect.forEach(items, (connection) => connections.disconnect(principal, connection.id))
        yield* fire(id)
        assert.deepInclude((yield* runsOf(id))[0], { state: "failed", reason: "connection_required", session_id: null })
        assert.deepInclude(yield* get(id), { state: "active", failures: 1, next_due_at: daysAgo(-1) })
        assert.strictEqual(yield* sessionCount, 0)
      })
    )

    rule(
      "an archived project pauses it",
      Effect.gen(function* () {
        const { add, get, principal, runsOf, workspaceId } = yield* again
        const projects = yield* Projects
        const project = yield* projects.create(principal, workspaceId, { name: "One", slug: "one" })
        yield* projects.publish(principal, project.id, { spec: {} })
        const { id } = yield* add({ target: { kind: "new_session", project_id: project.id, message: "Go." } })
        yield* projects.update(principal, project.id, { archived: true })
        yield* fire(id)
        assert.deepInclude((yield* runsOf(id))[0], { state: "failed", reason: "invalid_transition" })
        assert.deepInclude(yield* get(id), { state: "paused", pause_reason: "project_archived" })
      })
    )

    rule(
      "nobody's right outlives its owner: a viewer, a former member and a revoked key start nothing",
      Effect.gen(function* () {
        const { add, automations, get, principal, runsOf, sessionCount, workspaceId } = yield* again
        const db = yield* Database
        const { commit } = yield* Journal
        const other = yield* stranger
        const member = { workspace_id: workspaceId, account_id: other.accountId }
        yield* commit(Memberships.add(db, { ...member, role: "member", created_at: daysAgo(1) }))
        const input = {
          name: "Theirs",
          trigger: daily,
          target: { kind: "new_session", message: "Go." },
          start_within_seconds: 86_400
        } as const
        const theirs = yield* automations.create(other, workspaceId, input)
        assert.strictEqual(yield* codeOf(automations.pause(other, (yield* add()).id, {})), "forbidden")
        const key = yield* (yield* ApiKeys).create(principal, { name: "ci", scopes: ["write"] })
        const ofKey = yield* automations.create(
          { ...principal, scopes: ["write"], via: { kind: "api_key", keyId: key.id } },
          workspaceId,
          input
        )
        yield* commit(Memberships.setRole(db, { ...member, role: "viewer" }))
        yield* (yield* ApiKeys).revoke(principal, key.id)
        for (const { id } of [theirs, ofKey]) {
          yield* fire(id)
          assert.deepInclude((yield* runsOf(id))[0], {
            state: "skipped",
            reason: "owner_lost_access",
            session_id: null
          })
          assert.deepInclude(yield* get(id), { state: "paused", pause_reason: "owner_lost_access" })
        }
        assert.strictEqual(yield* sessionCount, 0)
        // Whoever resumes it is the one that it acts for.
        const resumed = yield* automations.resume(principal, theirs.id)
        assert.strictEqual(resumed.acts_for, AccountId.make(principal.accountId))
        yield* fireAgain(theirs.id)
        assert.deepInclude((yield* runsOf(theirs.id))[0], { state: "waiting" })
        yield* commit(Memberships.removeMembership(db, workspaceId, other.accountId))
        assert.strictEqual(yield* codeOf(automations.get(other, theirs.id)), "not_found")
      })
    )

    it.scopedLive("a policy that forbids it leaves a failed run, and what is allowed is audited in its commit", () =>
      Effect.gen(function* () {
        const { add, runsOf, sessionCount } = yield* again
        const { id } = yield* add({ pause_after_failures: null })
        policy.allows = false
        yield* fire(id)
        assert.deepInclude((yield* runsOf(id))[0], { state: "failed", reason: "forbidden", session_id: null })
        policy.allows = true
        yield* fireAgain(id)
        assert.deepInclude((yield* runsOf(id))[0], { state: "waiting" })
        assert.deepStrictEqual(policy.audited, [id])
        assert.strictEqual(yield* sessionCount, 1)
      }).pipe(Effect.provide(Layer.provideMerge(services(layer), overseen)))
    )

    rule(
      "a run that takes too long is cancelled, and has failed with timeout",
      Effect.gen(function* () {
        const { add, get, principal, runs, runsOf } = yield* again
        const { id } = yield* add({ max_minutes: 1 })
        yield* fire(id)
        const [run] = yield* runsOf(id)
        const { run: write, sql } = yield* Database
        yield* write(sql`update jobs set run_at = ${fromMillis(Date.now())} where kind = 'automation.expire'`)
        yield* work
        assert.deepInclude(yield* runs.get(principal, run?.id ?? ""), { state: "failed", reason: "timeout" })
        assert.deepInclude(yield* (yield* Turns).get(principal, run?.turn_id ?? ""), { state: "cancelled" })
        assert.strictEqual((yield* get(id)).failures, 1)
      })
    )

    rule(
      "the total budget is the limit of each run, and pauses the automation when it is used up",
      Effect.gen(function* () {
        const { add, get, runsOf } = yield* again
        const { first, run, sql } = yield* Database
        const budgets = yield* BudgetStore
        const { id } = yield* add({
          overlap: "parallel",
          max_parallel: 3,
          budget: { run: { max_tokens: 700 }, total: { max_tokens: 1000 } }
        })
        const newestBudget = Effect.gen(function* () {
          const [newest] = yield* runsOf(id)
          return newest?.session_id == null ? newest?.reason : (yield* budgets.find(newest.session_id))?.max_tokens
        })
        yield* fireAgain(id)
        assert.strictEqual(yield* newestBudget, 700)
        yield* fireAgain(id)
        assert.strictEqual(yield* newestBudget, 300)
        yield* fireAgain(id)
        assert.strictEqual(yield* newestBudget, "budget")
        const live = yield* runsOf(id)
        for (const { session_id, state } of live) {
          if (state === "skipped") continue
          yield* run(sql`update budgets set spent_tokens = 600 where subject_id = ${session_id}`)
          const { principal } = yield* reader
          yield* begin(principal, yield* sessionOf({ session_id }))
          yield* end(principal, yield* sessionOf({ session_id }), "succeeded")
        }
        assert.deepInclude(yield* get(id), { state: "active", spent_tokens: 1200 })
        yield* fireAgain(id)
        assert.strictEqual(yield* newestBudget, "budget")
        assert.deepInclude(yield* get(id), { state: "paused", pause_reason: "budget_exhausted" })
        assert.isUndefined(yield* first(sql`select id from jobs where kind = 'automation.fire' and state = 'queued'`))
      })
    )

    rule(
      "many that are due at once have one run each, whoever works, and 20 of a workspace begin in a minute",
      Effect.gen(function* () {
        const { add, runsOf, sessionCount } = yield* again
        const made = yield* Effect.forEach(Array.from({ length: 30 }), () => add())
        yield* Effect.forEach(made, ({ id }) => makeDue(id))
        yield* Effect.scoped(
          Effect.gen(function* () {
            // Each build of the layer is a worker of its own.
            for (let index = 0; index < 3; index++) yield* Layer.build(Layer.fresh(working))
            yield* settled
          })
        )
        const counts = yield* Effect.forEach(made, ({ id }) => Effect.map(runsOf(id), ({ length }) => length))
        assert.isTrue(counts.every((count) => count <= 1))
        const begun = counts.filter((count) => count === 1).length
        // Commits that overlap may each begin one more.
        assert.isTrue(begun >= 20 && begun <= 32, `${begun}`)
        assert.strictEqual(yield* sessionCount, begun)
        const { run, sql } = yield* Database
        yield* run(sql`update automation_runs set started_at = ${daysAgo(1)}`)
        yield* run(sql`update jobs set run_at = ${daysAgo(0)} where kind = 'automation.fire'
          and payload like '%put_off%' and state = 'queued'`)
        yield* work
        for (const { id } of made) assert.lengthOf(yield* runsOf(id), 1)
        assert.strictEqual(yield* sessionCount, 30)
      })
    )
  })
}
