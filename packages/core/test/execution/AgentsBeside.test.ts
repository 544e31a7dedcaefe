import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import type { SessionInput } from "@reins/core/sessions/creation/SessionsApi"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { processesOf } from "@reins/testing/executor/Processes"
import { pauseReaders } from "@reins/testing/git/PausingRemote"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Fiber, Schedule } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, makeRemote, say, withAgent } from "./Agent.js"

type Given = Parameters<Parameters<typeof withAgent>[1]>[0]

/** Sessions whose clones wait until the test lets them go on. */
const pausing = ({ dataDir, directory, eventsUntil, principal, workspaceId }: Given) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const store = yield* SessionStore
    const messages = yield* Messages
    const turns = yield* Turns

    const begin = Effect.fnUntraced(function* (input: SessionInput = {}, base_ref?: string) {
      const { url } = makeRemote(mkdtempSync(join(directory, "remote-")))
      const remote = pauseReaders(url)
      const session = yield* sessions.create(principal, workspaceId, {
        prewarm: false,
        ...input,
        repository: { url, ...(base_ref !== undefined && { base_ref }) }
      })
      const row = Effect.flatMap(store.find(session.id), Effect.fromNullable).pipe(Effect.orDie)
      let agents: ReadonlyArray<number> = []
      return {
        id: session.id,
        workTree: sessionPaths(dataDir, session.id).workTree,
        row,
        agents: Effect.map(row, ({ executor: { lease } }) => (lease === null ? [] : processesOf(lease.id))),
        /** Waits until the clone waits and the agent runs, and gives the agent with the effect that lets the clone go on. */
        beside: Effect.gen(function* () {
          let goOn: (() => void) | undefined
          yield* Effect.promise(() =>
            eventually("the clone waits", () => {
              goOn ??= remote.reader()
              return goOn !== undefined
            })
          )
          const { lease } = (yield* row).executor
          yield* Effect.promise(() =>
            eventually("the agent runs", () => {
              agents = processesOf(lease?.id ?? "")
              return agents.length === 1
            })
          )
          assert.strictEqual((yield* row).tree.state, "preparing")
          return { agent: agents[0] ?? 0, goOn: Effect.sync(() => goOn?.()) }
        })
      }
    })
    const send = (id: string, content: string) =>
      Effect.map(messages.send(principal, id, { content }), ({ turn_id }) => turn_id ?? "")
    const ended = (id: string, turnId: string) =>
      Effect.zipRight(
        eventsUntil(id, (event) => event.turn_id === turnId && isTurnEnd(event)),
        turns.get(principal, turnId)
      )
    return { begin, send, ended }
  })

it.scopedLive(
  "a first turn starts its agent beside the clone, which the agent sees once it is whole",
  () =>
    withAgent("alpha_gateway", (given) =>
      Effect.gen(function* () {
        const { begin, ended, send } = yield* pausing(given)
        const { agents, beside, id, workTree } = yield* begin()
        const turn = yield* send(id, script("Read.", { tool: "bash", cmd: "cat sum.js > seen.txt" }, { say: "Done." }))
        const { agent, goOn } = yield* beside
        assert.deepStrictEqual(readdirSync(workTree), [])
        yield* goOn
        const { reason_message, state } = yield* ended(id, turn)
        assert.strictEqual(state, "succeeded", reason_message ?? "")
        assert.deepStrictEqual(yield* agents, [agent])
        assert.include(readFileSync(join(workTree, "seen.txt"), "utf8"), "export const sum")
      })
    ),
  60_000
)

it.scopedLive(
  "neither a clone nor an agent that fails leaves anything of the other",
  () =>
    withAgent("alpha_gateway", (given) =>
      Effect.gen(function* () {
        const { begin, ended, send } = yield* pausing(given)
        const turns = yield* Turns

        // A branch that is not there fails the clone when the remote has told its branches.
        const unmade = yield* begin({}, "nowhere")
        const failing = yield* send(unmade.id, say("One."))
        yield* Effect.flatMap(unmade.beside, ({ goOn }) => goOn)
        const failed = yield* ended(unmade.id, failing)
        assert.deepInclude(failed, { state: "failed", reason: "executor_unavailable" })
        assert.deepStrictEqual(yield* unmade.agents, [])
        assert.strictEqual((yield* unmade.row).executor.lease?.state, "lost")

        const cancelled = yield* begin()
        const leaving = yield* send(cancelled.id, say("One."))
        yield* cancelled.beside
        yield* turns.cancel(given.principal, leaving)
        assert.strictEqual((yield* ended(cancelled.id, leaving)).state, "cancelled")
        assert.deepStrictEqual(yield* cancelled.agents, [])

        const killed = yield* begin()
        const lasting = yield* send(killed.id, say("One."))
        const { agent, goOn } = yield* killed.beside
        process.kill(agent, "SIGKILL")
        yield* goOn
        assert.strictEqual((yield* ended(killed.id, lasting)).state, "succeeded")
        assert.notDeepEqual(yield* killed.agents, [agent])
      })
    ),
  60_000
)

it.scopedLive(
  "an agent that has put something in the way of the clone is ended, and the turn starts another",
  () =>
    withAgent("alpha_gateway", (given) =>
      Effect.gen(function* () {
        const { begin, ended, send } = yield* pausing(given)
        const { agents, beside, id, workTree } = yield* begin()
        const turn = yield* send(id, say("One."))
        const { agent, goOn } = yield* beside
        mkdirSync(join(workTree, "sum.js"))
        writeFileSync(join(workTree, "sum.js", "mine.txt"), "in the way")
        yield* goOn
        assert.strictEqual((yield* ended(id, turn)).state, "succeeded")
        assert.notDeepEqual(yield* agents, [agent])
        assert.include(readFileSync(join(workTree, "sum.js"), "utf8"), "export const sum")
      })
    ),
  60_000
)

it.scopedLive(
  "an agent is started beside the clone of a session that is made, and of one that is activated",
  () =>
    withAgent(
      "alpha_gateway",
      (given) =>
        Effect.gen(function* () {
          const { eventsUntil, principal } = given
          const { begin, ended, send } = yield* pausing(given)
          const executors = yield* SessionExecutors
          const made = yield* begin({ prewarm: true })
          const activated = yield* begin()
          yield* executors.activate(principal, activated.id, {})
          for (const session of [made, activated]) {
            const { agent, goOn } = yield* session.beside
            assert.strictEqual((yield* session.row).agent.native_digest, "live")
            // A turn that comes meanwhile waits for the same workspace and the same agent.
            const turn = yield* Effect.fork(
              Effect.flatMap(send(session.id, say("One.")), (id) => ended(session.id, id))
            )
            yield* eventsUntil(session.id, ({ type }) => type === "turn.preparing")
            yield* goOn
            assert.strictEqual((yield* Fiber.join(turn)).state, "succeeded")
            assert.deepStrictEqual(yield* session.agents, [agent])
          }

          // Nothing is left of one that is closed before its clone is there.
          const closed = yield* begin({ prewarm: true })
          const { goOn } = yield* closed.beside
          const leaseId = (yield* closed.row).executor.lease?.id ?? ""
          yield* (yield* Sessions).close(principal, closed.id)
          yield* goOn
          const stateOf = Effect.map(closed.row, ({ tree }) => tree.state)
          yield* Effect.repeat(stateOf, {
            until: (state) => state === "removed",
            schedule: Schedule.spaced("20 millis")
          })
          assert.deepStrictEqual(processesOf(leaseId), [])
        }),
      { prewarm: true }
    ),
  60_000
)
