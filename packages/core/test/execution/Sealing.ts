import { rmSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import type { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import { existingOf } from "@reins/core/store/Existing"
import { Leases } from "@reins/core/worktrees/Leases"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import type { Manifests } from "@reins/machine/harness/Manifests"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Effect, type Layer, Schedule } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, temporaryDirectory, withAgent } from "./Agent.js"

/** Waits until every change is in a snapshot. */
export const allSealed = Effect.flatMap(Snapshots, ({ unsealed }) =>
  Effect.repeat(unsealed, { until: ({ sessions }) => sessions === 0, schedule: Schedule.spaced("50 millis") })
)

/**
 * A session that works, is sealed by its job, and loses everything that it has on the disk, goes on from its snapshot: its files are as they were, its
 * changesets can be read, and the agent knows what was said.
 */
export const goesOnAfterLoss = (manifests?: typeof Manifests.layer, database?: Layer.Layer<Database | Bell>) =>
  Effect.gen(function* () {
    const path = join(yield* temporaryDirectory, "blobs")
    yield* withAgent(
      "alpha_gateway",
      ({ directory, gateway, principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const { url } = makeRemote(directory)
          const session = yield* (yield* Sessions).create(principal, workspaceId, { repository: { url } })
          const trees = yield* WorkingTrees
          const turn = Effect.fnUntraced(function* (
            text: string,
            ...steps: Parameters<typeof script> extends [string, ...infer S] ? S : never
          ) {
            const ended = yield* runTurn(session.id, script(text, ...steps))
            assert.strictEqual(ended.state, "succeeded", JSON.stringify(ended))
          })
          yield* turn(
            "The word is heliotrope.",
            {
              tool: "bash",
              cmd: "echo kept > kept.txt; echo secret > .env; git add -A; git commit -qm work; mkdir empty"
            },
            { say: "Noted." }
          )
          yield* allSealed

          // The machine burns: the agent is gone, and so is the disk.
          const row = yield* Effect.flatMap(SessionStore, (store) => existingOf("session", store.find)(session.id))
          yield* Effect.flatMap(Leases, (leases) => leases.reap(row))
          rmSync((yield* pathsOf(session.id)).root, { recursive: true, force: true })
          const snapshots = yield* Snapshots
          const restored = yield* trees.exclusive(session.id, snapshots.restore(session.id))
          assert.deepStrictEqual([restored.left_out, restored.skipped], [[], []])

          const files = yield* SessionFiles
          const { content } = yield* files.read(principal, session.id, "kept.txt")
          assert.strictEqual(content, "kept\n")
          const names = (yield* files.list(principal, session.id, "")).items.map((item) => item.path)
          assert.includeMembers([...names], ["empty", ".env"])
          const changesets = yield* Changesets
          const [changeset] = (yield* changesets.list(principal, session.id, { limit: 10 })).items
          const { diff } = yield* changesets.diff(principal, changeset?.id ?? "", {})
          assert.include(diff, "+kept")

          yield* turn(
            "What was the word?",
            { tool: "bash", cmd: "git log --format=%s -1 > log.txt" },
            { say: "It was." }
          )
          assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "heliotrope")
          assert.strictEqual((yield* files.read(principal, session.id, "log.txt")).content, "work\n")
          yield* allSealed
        }),
      { blobs: { kind: "directory", path } },
      manifests,
      database
    )
  })
