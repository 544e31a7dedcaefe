import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Connections } from "@reins/core/connections/Connections"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Usages } from "@reins/core/sessions/usage/Usages"
import { Manifests } from "@reins/machine/harness/Manifests"
import { processesOf } from "@reins/testing/executor/Processes"
import { variants } from "@reins/testing/Variants"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, isTurnEnd, say, withAgent } from "../test/execution/Agent.js"

const filesBelow = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

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

/** The part of a tool's output that an event adds. Output is told in pieces. */
const outputOf = ({ payload }: { readonly payload: unknown }): string => {
  const { output_appended, output_text } = payload as Readonly<Record<string, string | null | undefined>>
  return output_appended ?? output_text ?? ""
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
            assert.include(printed.map(outputOf).join(""), "REINS_LEASE=")
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
            const told = yield* eventsUntil(session.id, (event) => event.type === "turn.failed")
            // A secret that lies between two pieces of output stands in none of them.
            const events = JSON.stringify(told) + told.map(outputOf).join("")
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
    300_000
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
  300_000
)

/** Clients of models are known to give up after five minutes. */
const patience = "330 seconds"

variants(() => {
  for (const [kind, providerId] of [
    ["alpha_gateway", "alpha"],
    ["beta", "beta"]
  ] as const)
    it.scopedLive(
      `the real agent of ${providerId} waits for its model as long as a person takes to raise a budget`,
      () =>
        withAgent(
          kind,
          ({ eventsUntil, gateway, principal, workspaceId }) =>
            Effect.gen(function* () {
              const sessions = yield* Sessions
              const { id } = yield* sessions.create(principal, workspaceId, {
                harness: { provider_id: providerId, model: "scripted-1" },
                budget: { max_tokens: 1 }
              })
              const content = script("Go on.", { tool: "bash", cmd: "true" }, { say: "Done." })
              yield* (yield* Messages).send(principal, id, { content })
              yield* eventsUntil(id, ({ type }) => type === "turn.action_required")
              const calls = gateway.requests.length
              yield* Effect.sleep(patience)
              assert.lengthOf(gateway.requests, calls)
              yield* sessions.update(principal, id, { budget: null })
              const events = yield* eventsUntil(id, isTurnEnd)
              assert.strictEqual(events.at(-1)?.type, "turn.succeeded", JSON.stringify(events.at(-1)))
            }),
          { turnDeadlineMs: 600_000 },
          Manifests.layer
        ),
      700_000
    )
})
