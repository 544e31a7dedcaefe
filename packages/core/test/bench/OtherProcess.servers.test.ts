import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { existingOf } from "@reins/core/store/Existing"
import { Leases } from "@reins/core/worktrees/Leases"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { benchIn } from "@reins/testing/bench/OtherProcess"
import { processesOf } from "@reins/testing/executor/Processes"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { Effect, Fiber } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, temporaryDirectory, withAgent } from "../execution/Agent.js"
import { allSealed } from "../execution/Sealing.js"

/** An installation whose sessions are on a bench in another process, which has a data directory of its own. */
const withBench = <A, E, R>(
  body: (
    given: Parameters<Parameters<typeof withAgent>[1]>[0] & {
      readonly remote: ReturnType<typeof makeRemote>
      readonly benchData: string
    }
  ) => Effect.Effect<A, E, R>,
  config: Parameters<typeof withAgent>[2] = {}
) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const benchData = join(directory, "bench-data")
    const remote = makeRemote(directory)
    return yield* withAgent(
      "alpha_gateway",
      (given) => body({ ...given, remote, benchData }),
      config,
      smallAgents,
      undefined,
      benchIn(directory, benchData)
    )
  })

it.scopedLive(
  "a turn runs on a bench in another process, and the core opens no file of the session",
  () =>
    withBench(({ benchData, dataDir, eventsUntil, gateway, principal, remote, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const session = yield* (yield* Sessions).create(principal, workspaceId, { repository: { url: remote.url } })
        const turn = yield* runTurn(
          session.id,
          script(
            "Mend the sum.",
            { tool: "write", path: "sum.js", content: "export const sum = (a, b) => a + b\n" },
            { say: "It adds now." }
          )
        )
        assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))

        // The second turn goes on in the agent that the bench has kept.
        const second = yield* runTurn(session.id, script("Say it.", { say: "Again." }))
        assert.strictEqual(second.state, "succeeded", JSON.stringify(second))
        assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "It adds now.")

        const { content } = yield* (yield* SessionFiles).read(principal, session.id, "sum.js")
        assert.strictEqual(content, "export const sum = (a, b) => a + b\n")
        const ready = yield* eventsUntil(session.id, ({ type }) => type === "changeset.ready")
        const changesetId = ready.at(-1)?.changeset_id ?? ""
        const { diff } = yield* (yield* Changesets).diff(principal, changesetId, {})
        assert.include(diff, "+export const sum = (a, b) => a + b")

        yield* (yield* Deliveries).request(principal, changesetId, { target_ref: "mended" })
        yield* eventsUntil(session.id, ({ type }) => type === "delivery.succeeded")
        assert.include(remote.git("show", "mended:sum.js"), "a + b")

        // The bench has the files, and the core has locks and nothing else.
        const { gitDir, workTree } = sessionPaths(benchData, session.id)
        assert.include(readFileSync(join(workTree, "sum.js"), "utf8"), "a + b")
        assert.isTrue(existsSync(gitDir))
        const left = readdirSync(sessionPaths(dataDir, session.id).root)
        assert.deepStrictEqual(
          left.filter((name) => !/\.lock(?:\.holder)?$/.test(name)),
          []
        )
      })
    ),
  300_000
)

it.scopedLive(
  "a turn that is cancelled ends on the other side too, and its attachments and failures cross over",
  () =>
    withBench(({ eventsUntil, gateway, principal, remote, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const files = yield* SessionFiles
        const session = yield* sessions.create(principal, workspaceId, { repository: { url: remote.url } })
        const refused = yield* Effect.flip(files.upload(principal, session.id, { path: "../out.txt", content: "no" }))
        assert.strictEqual(refused._tag, "RequestInvalid")
        const { upload_id } = yield* files.upload(principal, session.id, { path: "notes.txt", content: "read me" })
        const beside = yield* files.upload(principal, session.id, { name: "beside.txt", content: "read me too" })

        const working = yield* Effect.fork(
          runTurn(session.id, script("Wait.", { tool: "bash", cmd: "sleep 600" }, { say: "Never." }), [
            upload_id,
            beside.upload_id
          ])
        )
        yield* eventsUntil(session.id, ({ type }) => type === "tool.started")
        const asked = JSON.stringify(gateway.requests.at(-1)?.messages)
        assert.include(asked, "notes.txt")
        assert.match(asked, /home\/attachments\/[0-9a-f]{16}\/beside\.txt/)
        const row = yield* (yield* SessionStore).find(session.id)
        const lease = row?.executor.lease?.id ?? ""
        assert.isNotEmpty(processesOf(lease))
        yield* (yield* Turns).cancel(principal, row?.turns.active?.id ?? "")
        const turn = yield* Fiber.join(working)
        assert.deepStrictEqual([turn.state, turn.reason], ["cancelled", "user_cancelled"], JSON.stringify(turn))
        assert.deepStrictEqual(processesOf(lease), [])

        const nowhere = yield* sessions.create(principal, workspaceId, { repository: { url: `${remote.url}-gone` } })
        const failed = yield* runTurn(nowhere.id, script("Say it.", { say: "Never." }))
        assert.strictEqual(failed.state, "failed", JSON.stringify(failed))
        assert.include(failed.reason_message ?? "", "The workspace could not be made.")
      })
    ),
  300_000
)

it.scopedLive(
  "a session is sealed and restored on a bench in another process, and only bytes cross over",
  () =>
    Effect.gen(function* () {
      const blobs = join(yield* temporaryDirectory, "blobs")
      yield* withBench(
        ({ benchData, dataDir, gateway, principal, remote, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const session = yield* (yield* Sessions).create(principal, workspaceId, { repository: { url: remote.url } })
            const files = yield* SessionFiles
            const first = yield* runTurn(
              session.id,
              script(
                "The word is heliotrope.",
                {
                  tool: "bash",
                  cmd: "echo kept > kept.txt; echo secret > .env; git add -A; git commit -qm work; mkdir empty"
                },
                { say: "Noted." }
              )
            )
            assert.strictEqual(first.state, "succeeded", JSON.stringify(first))
            yield* files.upload(principal, session.id, { path: "notes.txt", content: "read me" })
            yield* allSealed

            // The machine of the bench burns: its agent is gone, and so is its disk.
            const row = yield* Effect.flatMap(SessionStore, (store) => existingOf("session", store.find)(session.id))
            yield* (yield* Leases).reap(row)
            rmSync(sessionPaths(benchData, session.id).root, { recursive: true })
            const trees = yield* WorkingTrees
            const restored = yield* trees.exclusive(session.id, (yield* Snapshots).restore(session.id))
            assert.deepStrictEqual([restored.left_out, restored.skipped], [[], []])

            assert.strictEqual((yield* files.read(principal, session.id, "kept.txt")).content, "kept\n")
            const { items } = yield* files.list(principal, session.id, "")
            assert.includeMembers(
              items.map(({ path }) => path),
              ["empty", ".env", "notes.txt"]
            )
            const changesets = yield* Changesets
            const [changeset] = (yield* changesets.list(principal, session.id, { limit: 10 })).items
            assert.include((yield* changesets.diff(principal, changeset?.id ?? "", {})).diff, "+kept")
            const second = yield* runTurn(session.id, script("What was the word?", { say: "It was." }))
            assert.strictEqual(second.state, "succeeded", JSON.stringify(second))
            assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "heliotrope")

            // A store that has lost the blobs cannot give them, and says so across the socket.
            yield* allSealed
            const again = yield* Effect.flatMap(SessionStore, (store) => existingOf("session", store.find)(session.id))
            yield* (yield* Leases).reap(again)
            rmSync(sessionPaths(benchData, session.id).root, { recursive: true })
            rmSync(blobs, { recursive: true })
            const failed = yield* Effect.flip(trees.exclusive(session.id, (yield* Snapshots).restore(session.id)))
            assert.strictEqual(failed._tag, "SnapshotError")

            yield* trees.forget(session.id)
            for (const data of [benchData, dataDir]) assert.isFalse(existsSync(sessionPaths(data, session.id).root))
          }),
        { blobs: { kind: "directory", path: blobs } }
      )
    }),
  300_000
)
