import { assert, describe, it } from "@effect/vitest"
import { EventLog } from "@reins/core/events/EventLog"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { Projects } from "@reins/core/projects/Projects"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { turnJobKind } from "@reins/core/sessions/turns/TurnQueue"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Journal } from "@reins/core/store/Journal"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

const runner = { kind: "system", id: "runner" } as const

/** A session of a project version of the setting, whose first turn was interrupted while a second one waits. */
const interrupted = (auto_acknowledge: boolean) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* ownerWithConnection
    const turns = yield* Turns
    const turnStore = yield* TurnStore
    const journal = yield* Journal
    const project = yield* (yield* Projects).create(principal, workspaceId, {
      slug: `unattended-${auto_acknowledge}`,
      name: "Unattended",
      spec: { auto_acknowledge }
    })
    const session = yield* (yield* Sessions).create(principal, workspaceId, { project_id: project.id })
    // The session is held by the version that it was made from, whatever is published later.
    yield* (yield* Projects).publish(principal, project.id, { spec: { auto_acknowledge: !auto_acknowledge } })
    const messages = yield* Messages
    const first = (yield* messages.send(principal, session.id, { content: "One." })).turn_id
    const second = (yield* messages.send(principal, session.id, { content: "Two." })).turn_id
    if (first === undefined || second === undefined) return yield* Effect.dieMessage("no turn")
    for (const state of ["preparing", "running", "interrupted"] as const)
      yield* journal.commit(turnStore.move(first, state, runner))
    const { items } = yield* (yield* EventLog).page(principal, session.id, { after: 0, limit: 1000 })
    const claims = yield* (yield* JobClaims).claim(turnJobKind, 10, { workerId: "w", bootId: "b" })
    return {
      second,
      first: yield* turns.get(principal, first),
      activity: (yield* (yield* Sessions).get(principal, session.id)).activity,
      last: items.slice(-2).map(({ actor, type }) => [type, actor.kind, actor.id]),
      due: claims.map(({ subject }) => subject.id)
    }
  })

for (const { layer, name } of flowDatabases) {
  describe(`an interrupted turn on ${name}`, () => {
    it.effect("is acknowledged in the same commit where the session's version says so, and the next one is due", () =>
      Effect.gen(function* () {
        const { activity, due, first, last, second } = yield* interrupted(true)
        assert.strictEqual(first.state, "interrupted")
        assert.strictEqual(first.acknowledged_at, first.finished_at)
        assert.deepStrictEqual(last, [
          ["turn.interrupted", "system", "runner"],
          ["turn.acknowledged", "system", "turns"]
        ])
        assert.include(due, second)
        assert.strictEqual(activity, "queued")
      }).pipe(Effect.provide(services(layer)))
    )

    it.effect("holds the queue elsewhere", () =>
      Effect.gen(function* () {
        const { activity, due, first, last, second } = yield* interrupted(false)
        assert.isNull(first.acknowledged_at)
        assert.deepStrictEqual(last.at(-1), ["turn.interrupted", "system", "runner"])
        assert.notInclude(due, second)
        assert.strictEqual(activity, "attention")
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
