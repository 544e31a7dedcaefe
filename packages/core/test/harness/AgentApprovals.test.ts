import { assert, it, layer } from "@effect/vitest"
import { Manifests } from "@reins/machine/harness/Manifests"
import { optionalProviders } from "@reins/machine/harness/OptionalManifests"
import {
  type ApprovalKind,
  approvalKinds,
  approvalRecordings,
  type RecordedApproval
} from "@reins/testing/harness/ApprovalRecordings"
import { of, place, runTurn, services, turnInput } from "@reins/testing/harness/Turns"
import { Effect } from "effect"

/** The texts that a person has to see before they answer. */
const needed: Readonly<Record<ApprovalKind, ReadonlyArray<string>>> = {
  edit: ["src/a.ts", "let a = 1", "let a = 2"],
  command: ["npm test > out.txt"],
  fetch: ["https://example.com/page"],
  mcp: ["tickets", "close", "7", "done"]
}

const stepsOf = (kind: ApprovalKind, { after, before, options, toolCall }: RecordedApproval): ReadonlyArray<object> => {
  const ofKind = (sent: object) => ({ ...sent, toolCallId: kind })
  const [meanwhile] = after
  return [
    ...before.map((update) => ({ update: ofKind(update) })),
    {
      ask: "session/request_permission",
      params: { toolCall: ofKind(toolCall), options },
      ...(meanwhile !== undefined && { meanwhile: ofKind(meanwhile) })
    }
  ]
}

for (const [id, { agent, kinds: recorded }] of Object.entries(approvalRecordings)) {
  const asked = approvalKinds.flatMap((kind) => {
    const recording = recorded[kind]
    return recording.origin === "recorded" ? [{ kind, recording }] : []
  })
  layer(services, { excludeTestServices: true })(`an approval of ${id} (${agent})`, (it) => {
    it.scoped(`shows ${asked.map(({ kind }) => kind).join(", ")}`, () =>
      Effect.gen(function* () {
        const steps = asked.flatMap(({ kind, recording }) => stepsOf(kind, recording))
        const input = turnInput(yield* place, JSON.stringify(steps), {
          ask: () => Effect.succeed(null)
        })
        const questions = of(yield* runTurn(input), "asked")
        assert.lengthOf(questions, asked.length)
        for (const [at, { kind }] of asked.entries()) {
          const { description, title } = questions[at] ?? assert.fail(kind)
          for (const each of needed[kind]) assert.include(`${title}\n${description}`, each, kind)
          // A list shows titles alone.
          if (kind === "edit") assert.include(title, "a.ts")
        }
      })
    )
  })
}

it.effect("the recordings are of every agent, in the version that its manifest pins", () =>
  Effect.gen(function* () {
    const pinned = (yield* Manifests).list.flatMap(({ provider_id, runtime }) =>
      runtime === null ? [] : [[provider_id, `${runtime.agent.name} ${runtime.agent.version}`] as const]
    )
    assert.deepStrictEqual(
      Object.fromEntries(Object.entries(approvalRecordings).map(([id, { agent }]) => [id, agent])),
      Object.fromEntries(pinned)
    )
  }).pipe(Effect.provide(Manifests.layerIn({ enabled: optionalProviders })))
)
