import { assert, describe, it } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import { SessionId } from "@reins/base/domain/Ids"
import { Messages } from "@reins/core/sessions/Messages"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { begin, end } from "../delegations/Children.js"
import { newAgent, type ToolValue, valueOf } from "./CallingAgent.js"

/** An agent that has delegated a work, and the session of that work. */
const given = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const parent = yield* newAgent(principal, workspaceId)
  const made = valueOf(yield* parent.call("delegate", { name: "writer", instructions: "Write it." }))
  const say = (content: string, delegation_id = "writer") => parent.call("message", { delegation_id, content })
  const child = made.session_id
  const heard = Effect.map((yield* Messages).list(principal, child, { limit: 100 }), ({ items }) =>
    items.flatMap(({ content, role }) => (role === "user" ? [JSON.stringify(content)] : []))
  )
  return { child, heard, made, parent, principal, say, workspaceId }
})

const childOf = (made: ToolValue) => SessionId.make(made.session_id)

type Given = Effect.Effect.Success<typeof given>

/** The ways in which a delegation ends. */
const finishes = {
  succeeded: ({ made, principal }: Given) =>
    Effect.zipRight(begin(principal, childOf(made)), end(principal, childOf(made), "succeeded", "Done.")),
  failed: ({ made, principal }: Given) =>
    Effect.zipRight(begin(principal, childOf(made)), end(principal, childOf(made), "failed")),
  cancelled: ({ parent }: Given) => parent.call("cancel", { delegation_id: "writer" })
}

for (const { layer, name } of flowDatabases) {
  describe(`a further prompt to a delegation on ${name}`, () => {
    const withServices = Effect.provide(services(layer))

    it.scopedLive(
      "one that has not begun and one that is at work hear it, and the same words again are said once",
      () =>
        Effect.gen(function* () {
          const { heard, made, principal, say } = yield* given
          const early = valueOf(yield* say("Mind the tests."))
          assert.deepInclude(early, { existing: false, state: "pending" })
          yield* begin(principal, childOf(made))
          const first = valueOf(yield* say("And the docs."))
          assert.deepInclude(first, { existing: false, state: "active" })
          const again = valueOf(yield* say("And the docs."))
          assert.deepInclude(again, { existing: true, message_id: first["message_id"] })
          const words = yield* heard
          assert.lengthOf(words, 3)
          assert.lengthOf(
            words.filter((each) => each.includes("And the docs.")),
            1
          )
        }).pipe(withServices)
    )

    for (const how of ["succeeded", "failed", "cancelled"] as const)
      it.scopedLive(`one that is ${how} hears nothing more, and the model is told what to do instead`, () =>
        Effect.gen(function* () {
          const had = yield* given
          yield* finishes[how](had)
          const refused = yield* had.say("One more thing.")
          assert.isTrue(refused.is_error)
          assert.strictEqual(
            refused.text,
            `The work "writer" has ended: it is ${how}, and its agent reads no more messages. ` +
              "Call wait for its result, and delegate what is left under another name."
          )
          assert.lengthOf(yield* had.heard, 1)
          // The way that the refusal names works.
          const waited = yield* had.parent.call("wait", { delegation_ids: ["writer"] })
          assert.deepInclude(valueOf(waited), { pending: false })
          assert.include(waited.text, `"state":"${how}"`)
          assert.include((yield* had.parent.call("cancel", { delegation_id: "writer" })).text, `"state":"${how}"`)
          const next = valueOf(yield* had.parent.call("delegate", { name: "writer 2", instructions: "Go on." }))
          assert.deepInclude(next, { existing: false, state: "pending" })
        }).pipe(withServices)
      )

    it.scopedLive("one that nobody has, and one of another session, are told of in the same words", () =>
      Effect.gen(function* () {
        const { made, parent, principal, workspaceId } = yield* given
        const other = yield* newAgent(principal, workspaceId)
        const unknown = "del_01k0000000000000000000000a"
        for (const id of [unknown, made.delegation_id, "writer"])
          for (const [tool, input] of [
            ["message", { delegation_id: id, content: "Hello." }],
            ["wait", { delegation_ids: [id] }],
            ["cancel", { delegation_id: id }],
            ["read_diff", { delegation_id: id }],
            ["apply_changeset", { delegation_id: id }]
          ] as const) {
            const refused = yield* other.call(tool, input)
            assert.isTrue(refused.is_error, `${tool} ${id}`)
            assert.strictEqual(
              refused.text,
              `This session has no delegation ${JSON.stringify(id)}. Delegate the work first, or give the delegation_id of an answer.`
            )
          }
        assert.isFalse((yield* parent.call("wait", { delegation_ids: ["writer"], seconds: 0 })).is_error)
      }).pipe(withServices)
    )

    it.scopedLive("one whose queue is full says so, and the same words are said once it has room", () =>
      Effect.gen(function* () {
        const { heard, made, principal, say } = yield* given
        yield* begin(principal, childOf(made))
        assert.isFalse((yield* say("One.")).is_error)
        const full = yield* say("Two.")
        assert.isTrue(full.is_error)
        assert.include(full.text, "quota_exhausted")
        yield* end(principal, childOf(made), "succeeded")
        yield* begin(principal, childOf(made))
        assert.deepInclude(valueOf(yield* say("Two.")), { existing: false })
        assert.lengthOf(yield* heard, 3)
      }).pipe(Effect.provide(services(layer, { limits: { ...defaultLimits, queuedTurns: 1 } })))
    )
  })
}
