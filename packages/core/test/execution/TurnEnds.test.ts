import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Connections } from "@reins/core/connections/Connections"
import { Manifests } from "@reins/core/harness/Manifests"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Usages } from "@reins/core/sessions/Usages"
import { processesOf } from "@reins/testing/executor/Processes"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, isTurnEnd, say, withAgent } from "./Agent.js"

const filesBelow = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

it.scopedLive(
  "a gateway that refuses, fails or breaks off fails the turn with a reason, and the session goes on",
  () =>
    withAgent("alpha_gateway", ({ principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        const refused = yield* runTurn(session.id, script("Try.", { error: 401 }))
        assert.deepStrictEqual(
          [refused.state, refused.reason],
          ["failed", "credential_invalid"],
          JSON.stringify(refused)
        )
        const wrong = yield* runTurn(session.id, script("Try.", { error: 400, message: "no such model" }))
        assert.deepStrictEqual([wrong.state, wrong.reason], ["failed", "upstream_error"], JSON.stringify(wrong))
        assert.include(wrong.reason_message, "no such model")
        const broken = yield* runTurn(session.id, script("Try.", { say: "I begin and", drop: true }))
        assert.deepStrictEqual([broken.state, broken.reason], ["failed", "upstream_error"], JSON.stringify(broken))
        const fine = yield* runTurn(session.id, say("Here again."))
        assert.strictEqual(fine.state, "succeeded", JSON.stringify(fine))
      })
    ),
  180_000
)

it.scopedLive(
  "a gateway that hangs ends the turn at its deadline",
  () =>
    withAgent(
      "alpha_gateway",
      ({ principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const session = yield* (yield* Sessions).create(principal, workspaceId, {})
          const hung = yield* runTurn(session.id, script("Try.", { hang: true }))
          assert.deepStrictEqual([hung.state, hung.reason], ["failed", "timeout"], JSON.stringify(hung))
          const fine = yield* runTurn(session.id, say("Here again."))
          assert.strictEqual(fine.state, "succeeded", JSON.stringify(fine))
        }),
      { turnDeadlineMs: 3000 }
    ),
  120_000
)

it.scopedLive(
  "an agent that is killed in mid-turn fails the turn, leaves nothing behind, and the next turn resumes",
  () =>
    withAgent("alpha_gateway", ({ eventsUntil, gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const session = yield* sessions.create(principal, workspaceId, {})
        yield* runTurn(session.id, say("Remember the word marzipan."))
        const { turn_id: turnId } = yield* (yield* Messages).send(principal, session.id, {
          content: script("Wait.", { tool: "bash", cmd: "tail -s 37 -f /dev/null" }, { say: "never" })
        })
        yield* eventsUntil(session.id, (event) => event.turn_id === turnId && event.type === "tool.started")
        const { executor } = yield* sessions.get(principal, session.id)
        const lease = executor.lease_id ?? ""
        const running = processesOf(lease)
        assert.isNotEmpty(running)
        assert.notInclude(
          execFileSync("ps", ["-ww", "-o", "args=", "-p", running.join(",")], { encoding: "utf8" }),
          canary
        )
        process.kill(Math.min(...running), "SIGKILL")
        yield* eventsUntil(session.id, (event) => event.turn_id === turnId && isTurnEnd(event))
        const killed = yield* (yield* Turns).get(principal, turnId ?? "")
        assert.deepStrictEqual([killed.state, killed.reason], ["failed", "harness_crashed"], JSON.stringify(killed))
        assert.isEmpty(processesOf(lease))
        const next = yield* runTurn(session.id, say("I know."))
        assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
        const seen = gateway.requests.filter((request) => request.tools.length > 0).at(-1)
        assert.isTrue(seen?.messages.some((message) => message.text.includes("marzipan")))
      })
    ),
  180_000
)

it.scopedLive(
  "a running turn that is cancelled ends cancelled with no process of it left, and the queue goes on",
  () =>
    withAgent("alpha_gateway", ({ eventsUntil, principal, workspaceId }) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const turns = yield* Turns
        const messages = yield* Messages
        const session = yield* sessions.create(principal, workspaceId, {})
        const first = yield* messages.send(principal, session.id, {
          content: script("Wait.", { tool: "bash", cmd: "tail -s 37 -f /dev/null" }, { say: "never" })
        })
        const second = yield* messages.send(principal, session.id, { content: say("My turn.") })
        yield* eventsUntil(session.id, (event) => event.turn_id === first.turn_id && event.type === "tool.started")
        assert.strictEqual((yield* turns.cancel(principal, first.turn_id ?? "")).state, "cancelling")
        const lease = (yield* sessions.get(principal, session.id)).executor.lease_id ?? ""
        const cancelled = processesOf(lease)
        assert.isNotEmpty(cancelled)
        yield* eventsUntil(session.id, (event) => event.turn_id === second.turn_id && isTurnEnd(event))
        assert.strictEqual((yield* turns.get(principal, first.turn_id ?? "")).state, "cancelled")
        assert.strictEqual((yield* turns.get(principal, second.turn_id ?? "")).state, "succeeded")
        // The agent of the second turn is kept for a third.
        assert.notIncludeMembers([...processesOf(lease)], [...cancelled])
        assert.lengthOf(processesOf(lease), 1)
      })
    ),
  180_000
)

/** The canary as it stands in the base64 of a text that holds it, depending on how many bytes are before it. */
const inBase64 = [0, 1, 2].map((before) =>
  Buffer.from("x".repeat(before) + canary)
    .toString("base64")
    .slice(Math.ceil((before * 4) / 3), Math.floor(((before + canary.length) * 4) / 3))
)
const spellings = [canary, Buffer.from(canary).toString("hex"), ...inBase64]

const holdsCanary = (content: Buffer): boolean => spellings.some((spelling) => content.includes(spelling))

/** The arguments and the environment of a process, as anybody who may look at it sees them. Empty for one that has ended. */
const shownOf = (pid: number): Buffer => {
  try {
    return Buffer.concat(["environ", "cmdline"].map((name) => readFileSync(`/proc/${pid}/${name}`)))
  } catch {
    return Buffer.alloc(0)
  }
}

const printEnvironment = "env; env | base64 -w0"

for (const [kind, providerId] of [
  ["alpha_gateway", "alpha"],
  ["beta", "beta"]
] as const) {
  it.scopedLive(
    `a credential is in no file below the data directory, in no event and in no process of ${providerId}, even if it prints its environment`,
    () =>
      withAgent(
        kind,
        ({ dataDir, eventsUntil, gateway, principal, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const sessions = yield* Sessions
            const session = yield* sessions.create(principal, workspaceId, { harness: { provider_id: providerId } })
            const { turn_id: turnId } = yield* (yield* Messages).send(principal, session.id, {
              content: script(
                "Wait.",
                { tool: "bash", cmd: printEnvironment },
                { tool: "bash", cmd: `${printEnvironment}; tail -s 37 -f /dev/null` },
                { say: "never" }
              )
            })
            const printed = yield* eventsUntil(session.id, ({ type }) => type === "tool.completed")
            assert.include(JSON.stringify(printed), "REINS_LEASE=")
            let tools = 0
            yield* eventsUntil(session.id, ({ type }) => type === "tool.started" && ++tools === 2)
            const running = processesOf((yield* sessions.get(principal, session.id)).executor.lease_id ?? "")
            assert.isNotEmpty(running)
            assert.isTrue(running.some((pid) => shownOf(pid).includes("REINS_API_KEY")))
            assert.isEmpty(running.filter((pid) => holdsCanary(shownOf(pid))))
            yield* (yield* Turns).cancel(principal, turnId ?? "")
            yield* eventsUntil(session.id, (event) => event.turn_id === turnId && isTurnEnd(event))

            const cancelled = yield* (yield* Turns).get(principal, turnId ?? "")
            assert.strictEqual(cancelled.state, "cancelled", JSON.stringify(cancelled))
            assert.isTrue(gateway.requests.every((request) => request.authorized))
            yield* runTurn(session.id, script("Try.", { error: 401 }))
            const events = JSON.stringify(yield* eventsUntil(session.id, (event) => event.type === "turn.failed"))
            for (const spelling of spellings) assert.notInclude(events, spelling)
            const answered = gateway.requests.filter(
              ({ path, step }) => path !== "/v1/models" && step.error === undefined
            )
            const { total } = yield* (yield* Usages).session(principal, session.id)
            assert.isAtLeast(answered.length, 2)
            assert.deepInclude(total, {
              input_tokens: 1000 * answered.length,
              cached_tokens: 100 * answered.length,
              output_tokens: 20 * answered.length
            })
            const files = filesBelow(dataDir)
            assert.isAbove(files.length, 10)
            assert.isEmpty(files.filter((file) => holdsCanary(readFileSync(file))))
          }),
        {},
        Manifests.layer
      ),
    180_000
  )
}

it.scopedLive(
  "beta runs a turn through the same driver, and says plainly what it lacks without a connection",
  () =>
    withAgent(
      "beta",
      ({ connectionId, principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const sessions = yield* Sessions
          const session = yield* sessions.create(principal, workspaceId, { harness: { provider_id: "beta" } })
          const turn = yield* runTurn(session.id, say("Hello from the other side."))
          assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
          yield* (yield* Connections).disconnect(principal, connectionId)
          const bare = yield* sessions.create(principal, workspaceId, { harness: { provider_id: "beta" } })
          const lacking = yield* runTurn(bare.id, say("Hello?"))
          assert.deepStrictEqual(
            [lacking.state, lacking.reason],
            ["failed", "credential_invalid"],
            JSON.stringify(lacking)
          )
          assert.include(lacking.reason_message, "beta")
        }),
      {},
      Manifests.layer
    ),
  180_000
)
