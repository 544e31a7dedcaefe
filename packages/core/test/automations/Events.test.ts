import { assert, describe, it } from "@effect/vitest"
import type { AutomationId, SessionId } from "@reins/base/domain/Ids"
import * as Memberships from "@reins/core/access/Memberships"
import { expireJob, fireJob, startJob } from "@reins/core/automations/AutomationJobs"
import { AutomationStore } from "@reins/core/automations/AutomationStore"
import type { AutomationInput } from "@reins/core/automations/AutomationsApi"
import { eventRuns } from "@reins/core/automations/EventRuns"
import * as Follower from "@reins/core/events/Follower"
import { WorkspaceEvents } from "@reins/core/events/WorkspaceEvents"
import * as Worker from "@reins/core/jobs/Worker"
import { Messages } from "@reins/core/sessions/Messages"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Layer, Logger } from "effect"
import { begin, end } from "../delegations/Children.js"
import { stranger } from "../identity/Principals.js"
import { daysAgo, given, sessionOf } from "./Automated.js"

const working = Layer.merge(
  Worker.layer(Effect.all([fireJob, startJob, expireJob])),
  Follower.layerOf([eventRuns])
).pipe(Layer.provide(Logger.remove(Logger.defaultLogger)))

type Given = Effect.Effect.Success<typeof given>

/** Works until every automation has read all events of its workspace, and nothing of automations is due. */
const work = (made: Given) =>
  Effect.provide(
    Effect.gen(function* () {
      const { all, first, sql } = yield* Database
      const events = yield* WorkspaceEvents
      const { following } = yield* AutomationStore
      const isDone = Effect.gen(function* () {
        const { head } = yield* events.ends(made.workspaceId)
        const behind = yield* all(
          sql<{ key: string }>`select key from followers where name = 'automations' and position < ${head}`
        )
        const live = new Set((yield* following).map(({ generation, id }) => `${id}:${generation}`))
        const due = yield* first(
          sql`select id from jobs where kind = 'automation.start' and state in ('queued', 'running') limit 1`
        )
        return due === undefined && !behind.some(({ key }) => live.has(key))
      })
      yield* Effect.repeat(Effect.delay(isDone, "10 millis"), { until: (done) => done })
    }),
    working
  )

/** An automation that failed turns make due. */
const onFailures = (made: Given, more: Partial<AutomationInput> = {}, trigger: object = {}) =>
  made.add({
    overlap: "parallel",
    max_parallel: 5,
    pause_after_failures: null,
    ...more,
    trigger: { kind: "event", types: ["turn.failed"], pick: ["/type", "/payload/turn/state"], ...trigger }
  })

/** A session of a person whose turn fails. */
const failing = (made: Given, more: object = {}) =>
  Effect.gen(function* () {
    const session = yield* made.sessions.create(made.principal, made.workspaceId, { message: "Try.", ...more })
    yield* fail(made, session.id)
    return session
  })

const fail = (made: Given, sessionId: SessionId) =>
  Effect.zipRight(begin(made.principal, sessionId), end(made.principal, sessionId, "failed"))

/** Lets the turn of the newest run of an automation fail. */
const failRun = (made: Given, id: AutomationId) =>
  Effect.gen(function* () {
    const [run] = yield* made.runsOf(id)
    yield* fail(made, yield* sessionOf(run ?? { session_id: null }))
  })

const statesOf = (made: Given, id: string) =>
  Effect.map(made.runsOf(id), (runs) => runs.map(({ reason, state }) => `${state} ${reason}`).reverse())

for (const { layer, name } of flowDatabases) {
  describe(`events that start work, on ${name}`, () => {
    const rule = (text: string, test: Effect.Effect<void, unknown, Layer.Layer.Success<ReturnType<typeof services>>>) =>
      it.scopedLive(text, () => test.pipe(Effect.provide(services(layer))), 120_000)

    rule(
      "an event begins one run of each automation that wants it, with what it picks as data",
      Effect.gen(function* () {
        const made = yield* given
        const wanting = yield* onFailures(made)
        const labelled = yield* onFailures(made, {}, { label: "kind=deps" })
        const filtered = yield* onFailures(made, {}, { filter: [{ pointer: "/payload/turn/reason", is: "timeout" }] })
        assert.isNull(wanting.next_due_at)
        yield* failing(made)
        yield* work(made)
        yield* work(made)
        const [run, ...more] = yield* made.runsOf(wanting.id)
        assert.lengthOf(more, 0)
        assert.deepInclude(run, { kind: "event", state: "waiting", reason: null })
        const { items } = yield* (yield* Messages).list(
          made.principal,
          yield* sessionOf(run ?? { session_id: null }),
          {}
        )
        const [part] = items[0]?.content ?? []
        assert.include(
          part?.type === "text" ? part.text : "",
          '"/type": "turn.failed"\n"/payload/turn/state": "failed"'
        )
        assert.lengthOf(yield* made.runsOf(labelled.id), 0)
        assert.lengthOf(yield* made.runsOf(filtered.id), 0)
        yield* failing(made, { labels: { kind: "deps" } })
        yield* work(made)
        assert.lengthOf(yield* made.runsOf(labelled.id), 1)
        assert.lengthOf(yield* made.runsOf(wanting.id), 2)
      })
    )

    rule(
      "a loop of two automations ends after three runs, and one whose own run fails does not begin again",
      Effect.gen(function* () {
        const made = yield* given
        const first = yield* onFailures(made, {}, { label: "by=person" })
        const ping = yield* onFailures(
          made,
          { target: { kind: "new_session", message: "Ping.", labels: { by: "ping" } } },
          { label: "by=pong" }
        )
        const pong = yield* onFailures(
          made,
          { target: { kind: "new_session", message: "Pong.", labels: { by: "pong" } } },
          { label: "by=ping" }
        )
        yield* failing(made, { labels: { by: "ping" } })
        for (const id of [pong.id, ping.id, pong.id]) {
          yield* work(made)
          yield* failRun(made, id)
        }
        yield* work(made)
        assert.deepStrictEqual(yield* statesOf(made, pong.id), ["failed harness_crashed", "failed harness_crashed"])
        assert.deepStrictEqual(yield* statesOf(made, ping.id), ["failed harness_crashed", "skipped loop"])
        assert.lengthOf(yield* made.runsOf(first.id), 0)

        const own = yield* onFailures(
          made,
          { target: { kind: "new_session", message: "Again.", labels: { by: "own" } } },
          { label: "by=own" }
        )
        yield* failing(made, { labels: { by: "own" } })
        yield* work(made)
        yield* failRun(made, own.id)
        yield* work(made)
        assert.deepStrictEqual(yield* statesOf(made, own.id), ["failed harness_crashed", "skipped loop"])
      })
    )

    rule(
      "an automation that was paused, deleted or given another trigger takes no event, and makes up for none",
      Effect.gen(function* () {
        const made = yield* given
        const { automations, principal } = made
        const one = yield* onFailures(made)
        yield* automations.pause(principal, one.id, {})
        yield* failing(made)
        yield* work(made)
        yield* automations.resume(principal, one.id)
        yield* work(made)
        assert.lengthOf(yield* made.runsOf(one.id), 0)
        yield* failing(made)
        yield* work(made)
        assert.lengthOf(yield* made.runsOf(one.id), 1)
        yield* automations.update(principal, one.id, { trigger: { kind: "event", types: ["turn.succeeded"] } })
        yield* failing(made)
        yield* work(made)
        assert.lengthOf(yield* made.runsOf(one.id), 1)
        yield* automations.update(principal, one.id, { trigger: { kind: "event", types: ["turn.*"] } })
        yield* work(made)
        assert.lengthOf(yield* made.runsOf(one.id), 1)
        yield* automations.remove(principal, one.id)
        yield* failing(made)
        yield* work(made)
        assert.lengthOf(yield* made.runsOf(one.id), 1)
        yield* (yield* AutomationStore).purge
        const { all, sql } = yield* Database
        assert.lengthOf(yield* all(sql`select key from followers where name = 'automations'`), 0)
      })
    )

    rule(
      "an event starts nothing for an account that may no longer start work",
      Effect.gen(function* () {
        const made = yield* given
        const db = yield* Database
        const { commit } = yield* Journal
        const account = yield* stranger
        const member = { workspace_id: made.workspaceId, account_id: account.accountId }
        yield* commit(Memberships.add(db, { ...member, role: "member", created_at: daysAgo(1) }))
        const theirs = yield* made.automations.create(account, made.workspaceId, {
          name: "Theirs",
          trigger: { kind: "event", types: ["turn.failed"] },
          target: { kind: "new_session", message: "Look." }
        })
        yield* commit(Memberships.setRole(db, { ...member, role: "viewer" }))
        yield* failing(made)
        yield* work(made)
        assert.deepStrictEqual(yield* statesOf(made, theirs.id), ["skipped owner_lost_access"])
        assert.deepInclude(yield* made.get(theirs.id), { state: "paused", pause_reason: "owner_lost_access" })
      })
    )
  })
}
