import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Changesets } from "@reins/core/changes/Changesets"
import { EventLog } from "@reins/core/events/EventLog"
import { Sessions } from "@reins/core/sessions/Sessions"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { eventOf, installation, remote, workspace } from "@reins/testing/changes/Fixture"
import { put } from "@reins/testing/git/Fixture"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Deferred, Effect } from "effect"

for (const { layer, name } of flowDatabases) {
  describe(`the generation of a workspace, on ${name}`, () => {
    suiteOver(installation(layer), { excludeTestServices: true })((it) => {
      it.scoped("changes with the files, comes back with them, and is the tree of the changeset that captures it", () =>
        Effect.gen(function* () {
          const { principal, session, workTree } = yield* workspace((yield* remote()).url)
          const changesets = yield* Changesets
          const generation = Effect.map(changesets.changes(principal, session.id), (changes) => changes.generation)
          const first = yield* generation
          put(workTree, "a.txt", "changed\n")
          const second = yield* generation
          assert.notStrictEqual(second, first)
          put(workTree, "a.txt", "one\n")
          assert.strictEqual(yield* generation, first)
          put(workTree, "a.txt", "changed\n")
          const asked = yield* changesets.capture(principal, session.id, { expected_generation: second ?? "" })
          yield* eventOf(session.id, asked.event_watermark, "changeset.ready", "changeset.failed")
          const captured = yield* changesets.get(principal, asked.changeset.id)
          assert.deepStrictEqual([captured.state, captured.tree], ["ready", second])
        })
      )

      it.scoped("guards a capture: what was not read is not captured, and nothing is left of the request", () =>
        Effect.gen(function* () {
          const { principal, session, workTree } = yield* workspace((yield* remote()).url)
          const changesets = yield* Changesets
          const { generation } = yield* changesets.changes(principal, session.id)
          put(workTree, "late.txt", "late\n")
          const capture = changesets.capture(principal, session.id, { expected_generation: generation ?? "" })
          const refused = yield* Effect.flip(capture)
          const now = yield* changesets.changes(principal, session.id)
          assert.instanceOf(refused, ReinsError)
          assert.strictEqual(refused.code, "stale_subject")
          assert.deepEqual<unknown>(refused.details, {
            generation: now.generation,
            expected_generation: generation
          })
          assert.deepStrictEqual((yield* changesets.list(principal, session.id, {})).items, [])
        })
      )

      it.scoped("guards it until the files are read: a change before that makes the changeset fail and say so", () =>
        Effect.gen(function* () {
          const { principal, session, workTree } = yield* workspace((yield* remote()).url)
          const changesets = yield* Changesets
          const trees = yield* WorkingTrees
          const { generation } = yield* changesets.changes(principal, session.id)
          const isHeld = yield* Deferred.make<void>()
          const mayGo = yield* Deferred.make<void>()
          const holding = Effect.zipRight(Deferred.succeed(isHeld, undefined), Deferred.await(mayGo))
          yield* Effect.fork(trees.exclusive(session.id, holding))
          yield* Deferred.await(isHeld)
          const asked = yield* changesets.capture(principal, session.id, { expected_generation: generation ?? "" })
          put(workTree, "late.txt", "late\n")
          yield* Deferred.succeed(mayGo, undefined)
          yield* eventOf(session.id, asked.event_watermark, "changeset.ready", "changeset.failed")
          const { diagnostics, state } = yield* changesets.get(principal, asked.changeset.id)
          assert.strictEqual(state, "failed")
          assert.match(diagnostics.join(" "), /workspace has changed since its changes were read/)
        })
      )

      it.scoped("is that of the last changeset when there is no workspace any more", () =>
        Effect.gen(function* () {
          const { change, principal, session } = yield* workspace((yield* remote()).url)
          const changesets = yield* Changesets
          const { tree } = yield* change({ "a.txt": "changed\n" })
          const { event_watermark: after } = yield* (yield* EventLog).page(principal, session.id, {
            after: 0,
            limit: 1
          })
          yield* (yield* Sessions).close(principal, session.id)
          yield* eventOf(session.id, after, "executor.released", "executor.lost")
          yield* (yield* WorkingTrees).remove(session.id)
          const changes = yield* changesets.changes(principal, session.id)
          assert.deepInclude(changes, { live: false, generation: tree })
        })
      )
    })
  })
}
