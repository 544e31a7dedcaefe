import { assert, describe, it } from "@effect/vitest"
import { maxAutomations } from "@reins/core/automations/Automations"
import type { RunRefusal } from "@reins/core/automations/Rehearsal"
import { Connections } from "@reins/core/connections/Connections"
import { Jobs } from "@reins/core/jobs/Jobs"
import { Messages } from "@reins/core/sessions/Messages"
import { Database } from "@reins/core/store/Database"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { begin, codeOf, end } from "../delegations/Children.js"
import { daily, daysAgo, fire, given, inAnHour, makeDue, sessionOf, work } from "./Automated.js"

for (const { layer, name } of flowDatabases) {
  describe(`automations on ${name}`, () => {
    it.scopedLive("an automation is made with its next time, changed, paused, resumed and deleted", () =>
      Effect.gen(function* () {
        const { add, automations, get, principal, runs, workspaceId } = yield* given
        const made = yield* add({ name: "Deps" })
        assert.deepInclude(made, {
          name: "Deps",
          state: "active",
          overlap: "skip",
          failures: 0,
          version: 1,
          last_run: null
        })
        assert.strictEqual(made.acts_for, principal.accountId)
        assert.deepStrictEqual(made.actions, ["update", "delete", "pause", "start_run"])
        assert.strictEqual(made.next_due_at, daysAgo(-1))
        const jitter = Date.parse(made.next_run_at ?? "") - Date.parse(made.next_due_at ?? "")
        assert.isTrue(jitter >= 0 && jitter <= 60_000, `${jitter}`)
        const later = { ...daily, expression: "0 3 1 1 *" }
        const changed = yield* automations.update(principal, made.id, { trigger: later, expected_version: 1 })
        assert.match(changed.next_due_at ?? "", /-01-01T03:00:00\.000Z$/)
        assert.strictEqual(
          yield* codeOf(automations.update(principal, made.id, { name: "x", expected_version: 1 })),
          "version_conflict"
        )
        const paused = yield* automations.pause(principal, made.id, { reason: "Holidays." })
        assert.deepInclude(paused, {
          state: "paused",
          pause_reason: "by_hand",
          pause_message: "Holidays.",
          next_due_at: null
        })
        assert.deepStrictEqual(paused.actions, ["update", "delete", "resume", "start_run"])
        assert.strictEqual(yield* codeOf(automations.pause(principal, made.id, {})), "invalid_transition")
        const list = yield* automations.list(principal, workspaceId, { state: "paused" })
        assert.deepStrictEqual(list.items, [paused])
        const resumed = yield* automations.resume(principal, made.id)
        assert.deepInclude(resumed, { state: "active", pause_reason: null, next_due_at: changed.next_due_at })
        const run = yield* runs.start(principal, made.id)
        yield* automations.remove(principal, made.id)
        assert.strictEqual(yield* codeOf(get(made.id)), "not_found")
        assert.strictEqual((yield* runs.get(principal, run.id)).id, run.id)
        assert.deepStrictEqual(
          (yield* runs.list(principal, made.id, {})).items.map(({ id }) => id),
          [run.id]
        )
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a request that can never work is refused at its place", () =>
      Effect.gen(function* () {
        const { add, automations, principal, workspaceId } = yield* given
        const placeOf = (trigger: Parameters<typeof add>[0]) =>
          Effect.map(Effect.flip(add(trigger)), (error) => ("loc" in error ? error.message : error.code))
        const schedule = (changes: object) => placeOf({ trigger: { ...daily, ...changes } })
        assert.match(
          yield* schedule({ expression: "* * * * *" }),
          /^body\.trigger\.expression: .* 5 minutes are the least$/
        )
        assert.match(yield* schedule({ expression: "0 0 31 2 *" }), /^body\.trigger\.expression: .* never comes$/)
        assert.match(yield* schedule({ timezone: "EST" }), /^body\.trigger\.timezone: /)
        assert.match(
          yield* placeOf({ trigger: { kind: "once", at: daysAgo(1) } }),
          /^body\.trigger\.at: .* not in the future$/
        )
        const elsewhere = { kind: "session", session_id: "sess_01h00000000000000000000000", message: "Go." } as never
        assert.match(yield* placeOf({ target: elsewhere }), /^body\.target\.session_id: /)
        const preview = automations.preview(principal, workspaceId, { expression: "0 9 * *", timezone: "UTC" })
        assert.match((yield* Effect.flip(preview)).message, /^query\.expression: .* has 4 fields/)
        const never = automations.preview(principal, workspaceId, { expression: "0 9 31 4 *", timezone: "UTC" })
        assert.match((yield* Effect.flip(never)).message, /^query\.expression: The expression never comes/)
        for (let index = 0; index < maxAutomations; index++) yield* add()
        assert.strictEqual(yield* placeOf({}), "quota_exhausted")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("an automation that no run of could begin is refused when it is made, in the words of the run", () =>
      Effect.gen(function* () {
        const { add, automations, get, principal, runs, sessionCount, workspaceId } = yield* given
        const before = yield* sessionCount
        const target = (more: object) => ({ target: { kind: "new_session", message: "Go.", ...more } }) as never
        const gone = {
          project_id: "prj_01h00000000000000000000000",
          connection_id: "con_01h00000000000000000000000"
        }
        const refused: ReadonlyArray<readonly [more: object, code: RunRefusal["code"]]> = [
          [target({ project_id: gone.project_id }), "not_found"],
          [target({ connection_id: gone.connection_id }), "not_found"],
          [target({ harness: { provider_id: "nope" } }), "provider_disabled"],
          [{ deliver: {} }, "invalid_transition"],
          [{ deliver: { merge_request: {} }, trigger: { kind: "event", types: ["turn.failed"] } }, "invalid_transition"]
        ]
        for (const [more, code] of refused) {
          const refusal = yield* Effect.flip(add(more))
          assert.strictEqual("code" in refusal && refusal.code, code, JSON.stringify(more))
        }
        const { items } = yield* automations.list(principal, workspaceId, {})
        assert.lengthOf(items, 0)
        // One that is there keeps its target when another one is refused, and nothing of a rehearsal stays.
        const { id } = yield* add()
        const other = automations.update(principal, id, target({ harness: { provider_id: "nope" } }))
        assert.strictEqual((yield* Effect.flip(other))._tag, "ReinsError")
        assert.strictEqual((yield* get(id)).version, 1)
        assert.strictEqual(yield* sessionCount, before)
        assert.lengthOf((yield* runs.list(principal, id, {})).items, 0)
        // Without a connection a schedule is refused, and a hook can be set up before.
        const connections = yield* Connections
        for (const { id: connection } of (yield* connections.list(principal, workspaceId, {})).items)
          yield* connections.disconnect(principal, connection)
        const refusal = yield* Effect.flip(add())
        const said = yield* Effect.flip(runs.start(principal, id))
        assert.deepStrictEqual([refusal.message, "code" in refusal && refusal.code], [said.message, said.code])
        assert.strictEqual((yield* add({ trigger: { kind: "event", types: ["turn.failed"] } })).state, "active")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("an occurrence makes one run with a session and a turn, and the job of the next one", () =>
      Effect.gen(function* () {
        const { add, get, principal, runs, runsOf, sessionCount, sessions } = yield* given
        const { id } = yield* add({ target: { kind: "new_session", message: "Go.", labels: { kind: "deps" } } })
        yield* fire(id)
        const [run, ...others] = yield* runsOf(id)
        if (run === undefined) return assert.fail("no run")
        assert.lengthOf(others, 0)
        assert.deepInclude(run, { kind: "schedule", state: "waiting", due_at: daysAgo(0), reason: null })
        // The automation was looked at just before the run was made.
        const lateMs = Date.parse(run.created_at) - Date.parse(run.due_at)
        assert.include([Math.floor(lateMs / 1000), Math.floor(lateMs / 1000) - 1], run.late_seconds)
        const session = yield* sessions.get(principal, yield* sessionOf(run))
        assert.deepInclude(session, { title: "Nightly", labels: { kind: "deps" }, activity: "queued" })
        const [message] = (yield* (yield* Messages).list(principal, session.id, {})).items
        assert.deepInclude(message, { content: [{ type: "text", text: "Go." }], turn_id: run.turn_id })
        assert.deepInclude(message?.author, { kind: "account", id: principal.accountId })
        assert.strictEqual((yield* get(id)).next_due_at, daysAgo(-1))
        // The ticket of the job is void now, also when it comes again.
        yield* fire(id, daysAgo(0))
        assert.lengthOf(yield* runsOf(id), 1)
        assert.strictEqual(yield* sessionCount, 1)
        yield* begin(principal, session.id)
        assert.strictEqual((yield* runs.get(principal, run.id)).state, "running")
        yield* end(principal, session.id, "succeeded", "Done.")
        const ended = yield* runs.get(principal, run.id)
        assert.deepInclude(ended, { state: "succeeded", reason: null, changeset_id: null })
        assert.isNotNull(ended.finished_at)
        assert.deepInclude(yield* get(id), { failures: 0 })
        assert.strictEqual((yield* get(id)).last_run?.state, "succeeded")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("one time makes one run, and the automation is done; another trigger makes it active again", () =>
      Effect.gen(function* () {
        const { add, automations, get, principal, runsOf } = yield* given
        const { id } = yield* add({ trigger: { kind: "once", at: inAnHour() } })
        const past = daysAgo(0)
        const { run, sql } = yield* Database
        yield* run(sql`update automations set due = ${JSON.stringify({ kind: "once", at: past })} where id = ${id}`)
        yield* fire(id, past)
        assert.deepInclude(yield* get(id), { state: "done", next_due_at: null, next_run_at: null })
        assert.deepInclude((yield* runsOf(id))[0], { kind: "once", state: "waiting", due_at: past })
        assert.strictEqual(yield* codeOf(automations.resume(principal, id)), "invalid_transition")
        const again = yield* automations.update(principal, id, { trigger: daily })
        assert.deepInclude(again, { state: "active", next_due_at: daysAgo(-1) })
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a target session gets a message for each run, and its run ends with that turn", () =>
      Effect.gen(function* () {
        const { add, get, principal, runsOf, sessions, workspaceId } = yield* given
        const session = yield* sessions.create(principal, workspaceId, {})
        const { id } = yield* add({ target: { kind: "session", session_id: session.id, message: "Look again." } })
        yield* fire(id)
        yield* begin(principal, session.id)
        yield* end(principal, session.id, "succeeded")
        assert.deepInclude((yield* runsOf(id))[0], { state: "succeeded", session_id: session.id })
        yield* sessions.close(principal, session.id)
        yield* fire(id, daysAgo(0))
        assert.lengthOf(yield* runsOf(id), 1)
        yield* (yield* Database).run((yield* Database).sql`delete from automation_runs where automation_id = ${id}`)
        yield* fire(id, daysAgo(0))
        assert.deepInclude((yield* runsOf(id))[0], { state: "failed", reason: "session_gone" })
        assert.deepInclude(yield* get(id), { state: "paused", pause_reason: "session_gone" })
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a run by hand begins at once, also while paused; it can be cancelled and made again", () =>
      Effect.gen(function* () {
        const { add, automations, principal, runs } = yield* given
        const { id } = yield* add()
        yield* automations.pause(principal, id, {})
        const run = yield* runs.start(principal, id)
        assert.deepInclude(run, { kind: "hand", state: "waiting", late_seconds: 0 })
        assert.strictEqual(yield* codeOf(runs.retry(principal, run.id)), "invalid_transition")
        assert.deepInclude(yield* runs.start(principal, id), { state: "skipped", reason: "overlap" })
        assert.deepInclude(yield* runs.cancel(principal, run.id), { state: "cancelled", reason: "user_cancelled" })
        assert.strictEqual(yield* codeOf(runs.cancel(principal, run.id)), "invalid_transition")
        const again = yield* runs.retry(principal, run.id)
        assert.deepInclude(again, { kind: "retry", retry_of_run_id: run.id, state: "waiting" })
        assert.notStrictEqual(again.session_id, run.session_id)
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("the jobs of times that are void leave nothing behind", () =>
      Effect.gen(function* () {
        const { add, automations, principal, runsOf } = yield* given
        const { id } = yield* add()
        yield* makeDue(id)
        yield* automations.update(principal, id, { trigger: { ...daily, expression: "0 3 1 1 *" } })
        yield* work
        assert.lengthOf(yield* runsOf(id), 0)
        const { all, sql } = yield* Database
        const waiting = yield* all(sql<{ id: string }>`select id from jobs
          where kind = 'automation.fire' and state = 'queued'`)
        assert.lengthOf(waiting, 1)
        yield* Effect.forEach(waiting, (job) => Effect.flatMap(Jobs, (jobs) => jobs.get(principal, job.id)))
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
