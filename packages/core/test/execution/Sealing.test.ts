import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Logger, LogLevel, Schedule } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, say, temporaryDirectory, withAgent } from "./Agent.js"
import { allSealed, goesOnAfterLoss } from "./Sealing.js"

describe("sealing", () => {
  for (const { layer, name } of flowDatabases)
    it.scopedLive(
      `a session goes on from its snapshot when its disk is lost, on ${name}`,
      () => goesOnAfterLoss(undefined, name === "SQLite" ? undefined : layer),
      120_000
    )

  it.scopedLive(
    "a turn ends as it does and the next one begins while the store is away, and all is sealed when it is back",
    () =>
      Effect.gen(function* () {
        const path = join(yield* temporaryDirectory, "blobs")
        yield* withAgent(
          "alpha_gateway",
          ({ principal, runTurn, workspaceId }) =>
            Effect.gen(function* () {
              writeFileSync(path, "in the way")
              const session = yield* (yield* Sessions).create(principal, workspaceId, {})
              for (const text of ["One.", "Two."]) {
                const turn = yield* runTurn(session.id, say(text))
                assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
              }
              const { unsealed } = yield* Snapshots
              yield* Effect.repeat(unsealed, {
                until: ({ error }) => error !== null,
                schedule: Schedule.spaced("50 millis")
              })
              assert.strictEqual((yield* unsealed).sessions, 1)
              rmSync(path)
              // The job waits for its next try; the next turn need not.
              const third = yield* runTurn(session.id, say("Three."))
              assert.strictEqual(third.state, "succeeded", JSON.stringify(third))
              yield* allSealed
              const db = yield* Database
              const rows = yield* db.all(db.sql<{ turn_id: string }>`select turn_id from snapshots`)
              assert.deepStrictEqual(
                rows.map(({ turn_id }) => turn_id),
                [third.id]
              )
            }),
          { blobs: { kind: "directory", path } }
        )
      }).pipe(Effect.provide(Logger.minimumLogLevel(LogLevel.Error))),
    120_000
  )

  it.scopedLive(
    "the changesets of a closed session outlive its disk",
    () =>
      Effect.gen(function* () {
        const path = join(yield* temporaryDirectory, "blobs")
        yield* withAgent(
          "alpha_gateway",
          ({ directory, eventsUntil, principal, runTurn, workspaceId }) =>
            Effect.gen(function* () {
              const { url } = makeRemote(directory)
              const sessions = yield* Sessions
              const session = yield* sessions.create(principal, workspaceId, { repository: { url } })
              yield* runTurn(session.id, script("Go.", { tool: "bash", cmd: "echo kept > kept.txt" }, { say: "Done." }))
              yield* (yield* SessionExecutors).release(principal, session.id, {})
              yield* eventsUntil(session.id, ({ type }) => type === "executor.released")
              yield* sessions.close(principal, session.id)
              const row = Effect.flatMap(SessionStore, (store) => store.find(session.id))
              yield* Effect.repeat(row, {
                until: (found) => found?.tree.state === "removed",
                schedule: Schedule.spaced("50 millis")
              })
              yield* allSealed
              const trees = yield* WorkingTrees
              rmSync((yield* pathsOf(session.id)).root, { recursive: true, force: true })
              yield* trees.exclusive(session.id, (yield* Snapshots).restore(session.id))
              const changesets = yield* Changesets
              const [changeset] = (yield* changesets.list(principal, session.id, { limit: 10 })).items
              assert.include((yield* changesets.diff(principal, changeset?.id ?? "", {})).diff, "+kept")
            }),
          { blobs: { kind: "directory", path } }
        )
      }),
    120_000
  )
})
