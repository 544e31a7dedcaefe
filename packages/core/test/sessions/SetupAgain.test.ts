import { existsSync, lstatSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { SessionId } from "@reins/base/domain/Ids"
import { systemActor } from "@reins/core/access/Access"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Database } from "@reins/core/store/Database"
import { existingOf } from "@reins/core/store/Existing"
import { Journal } from "@reins/core/store/Journal"
import { Leases } from "@reins/core/worktrees/Leases"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { bareRemote } from "@reins/testing/git/Fixture"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { temporaryDirectory, withAgent } from "../execution/Agent.js"
import { allSealed } from "../execution/Sealing.js"
import { setupEnds, setups, sh } from "./Setups.js"

/** Leaves a tool in the home, an ignored directory that no snapshot takes, and a file that the agent deletes. */
const install = sh(
  "install",
  "mkdir -p ~/.tool node_modules && echo tool > ~/.tool/version && truncate -s 40M node_modules/large && ln -s large node_modules/link && echo made > generated.txt"
)

/** The machine of a session burns: its agent is gone, and so are its files. */
const burn = Effect.fnUntraced(function* (id: SessionId) {
  const sessions = yield* SessionStore
  const leases = yield* Leases
  const trees = yield* WorkingTrees
  const { commit } = yield* Journal
  yield* leases.reap(yield* existingOf("session", sessions.find)(id))
  rmSync((yield* pathsOf(id)).root, { recursive: true, force: true })
  yield* trees.exclusive(id, (yield* Snapshots).restore(id))
  yield* commit(leases.lose(id, systemActor("test"), "machine_lost"))
})

const leftOut = Effect.flatMap(Database, ({ first, sql }) =>
  Effect.map(first(sql<{ manifest: string }>`select manifest from snapshots`), (row) =>
    JSON.parse(row?.manifest ?? "null").left_out.map(({ path }: { readonly path: string }) => path)
  )
)

describe("a session that comes back from a snapshot", () => {
  it.scopedLive(
    "has what its setup had left again before its next turn, run anew or copied, and keeps what its agent did",
    () =>
      Effect.gen(function* () {
        const path = join(yield* temporaryDirectory, "blobs")
        yield* withAgent(
          "alpha_gateway",
          (given) =>
            Effect.gen(function* () {
              const { dataDir, directory, eventsUntil, gateway, runTurn } = given
              const { pathsOf, project, session } = yield* setups(given)
              const url = bareRemote(directory, { ".gitignore": "node_modules\n", "a.txt": "a\n" })
              const id = yield* session(yield* project({ repository: { url }, setup: [install] }))
              const { home, setupOwed, workTree } = pathsOf(id)
              const work = Effect.fnUntraced(function* (text: string, cmd: string) {
                const turn = yield* runTurn(id, script(text, { tool: "bash", cmd }, { say: "Done." }))
                assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
                yield* allSealed
              })
              const assertSetUp = () => {
                assert.strictEqual(readFileSync(join(home, ".tool/version"), "utf8"), "tool\n")
                assert.strictEqual(lstatSync(join(workTree, "node_modules/large")).size, 40 * 1024 * 1024)
                assert.isTrue(lstatSync(join(workTree, "node_modules/link")).isSymbolicLink())
                assert.strictEqual(readFileSync(join(workTree, "a.txt"), "utf8"), "changed\n")
                assert.isFalse(existsSync(join(workTree, "generated.txt")))
                assert.isFalse(existsSync(setupOwed))
              }
              yield* work("The word is heliotrope.", "echo changed > a.txt; rm generated.txt")
              assert.deepStrictEqual(yield* leftOut, ["node_modules"])

              // The other machine has never run this setup.
              yield* burn(id)
              rmSync(join(dataDir, "setups"), { recursive: true })
              assert.isFalse(existsSync(join(home, ".tool")))
              // A snapshot that is taken before the setup does not forget what the session lacks.
              const snapshots = yield* Snapshots
              yield* (yield* WorkingTrees).exclusive(id, snapshots.sealAnew(id))
              assert.deepStrictEqual(yield* leftOut, ["node_modules"])
              yield* work("What was the word?", "true")
              assertSetUp()
              assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "heliotrope")

              yield* burn(id)
              yield* work("Again.", "true")
              assertSetUp()
              let turns = 0
              const events = yield* eventsUntil(id, ({ type }) => type === "turn.succeeded" && ++turns === 3)
              assert.deepStrictEqual(setupEnds(events), [
                "setup.succeeded by commands",
                "setup.succeeded by commands",
                "setup.succeeded by copy"
              ])
            }),
          { blobs: { kind: "directory", path } }
        )
      }),
    120_000
  )
})
