import { statSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { EventLog } from "@reins/core/events/EventLog"
import { Sessions } from "@reins/core/sessions/Sessions"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { pauseReaders } from "@reins/testing/git/PausingRemote"
import { within } from "@reins/testing/MachineTime"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Context, Effect, Fiber, Layer, Option, Schedule } from "effect"
import { makeRemote, temporaryDirectory } from "../execution/Agent.js"

for (const { layer, name } of flowDatabases) {
  describe(`working trees on ${name}`, () => {
    it.scopedLive("one process at a time makes a workspace, and the next one finds it made", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const here = yield* WorkingTrees
        const elsewhere = Context.get(yield* Layer.build(Layer.fresh(WorkingTrees.layer)), WorkingTrees)
        const { url } = makeRemote(yield* temporaryDirectory)
        const remote = pauseReaders(url)
        const { id } = yield* (yield* Sessions).create(principal, workspaceId, { repository: { url } })
        const made = yield* Effect.fork(here.make(id))
        const letThrough = yield* Effect.sync(remote.reader).pipe(
          Effect.flatMap(Effect.fromNullable),
          Effect.retry(Schedule.spaced("20 millis")),
          within(30)
        )
        const { gitDir } = yield* pathsOf(id)
        const begun = () => statSync(gitDir).ino
        const before = begun()
        assert.deepStrictEqual(yield* Effect.timeoutOption(elsewhere.make(id), "1 second"), Option.none())
        assert.strictEqual(begun(), before)
        letThrough()
        const row = yield* Fiber.join(made)
        assert.deepStrictEqual(yield* elsewhere.make(id), row)
        const { content } = yield* (yield* SessionFiles).read(principal, id, "package.json")
        assert.include(content, "sum")
        const { items } = yield* (yield* EventLog).page(principal, id, { after: 0, limit: 100 })
        assert.lengthOf(
          items.filter(({ type }) => type === "workspace.restored"),
          1
        )
      }).pipe(Effect.provide(services(layer, { allowLocalRepositories: true })))
    )
  })
}
