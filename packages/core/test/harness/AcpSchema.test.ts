import type * as acp from "@agentclientprotocol/sdk/unstable"
import { assert, it } from "@effect/vitest"
import * as AcpSchema from "@reins/machine/harness/acp/AcpSchema"
import { Either, Schema } from "effect"

it("a schema that would refuse what the protocol allows does not compile", () => {
  // @ts-expect-error the protocol lets an agent leave the usage out
  const strict = AcpSchema.reading<acp.PromptResponse>()(Schema.Struct({ usage: Schema.Unknown, used: Schema.Number }))
  const read: acp.PromptResponse = { stopReason: "end_turn" }
  assert.isFalse(Schema.is(strict)(read))
  assert.isTrue(Schema.is(AcpSchema.PromptResult)(read))
})

it("what deviates from the protocol is read all the same", () => {
  const deviations: ReadonlyArray<readonly [Schema.Schema.AnyNoContext, unknown]> = [
    [AcpSchema.PromptResult, { stopReason: "out_of_coffee", usage: null, more: 1 }],
    [AcpSchema.SessionResult, { sessionId: null, models: { currentModelId: "large" } }],
    [AcpSchema.SessionNotification, { sessionId: "s", update: { sessionUpdate: "of_tomorrow", anything: [] } }],
    [AcpSchema.ToolCall, { toolCallId: "t", kind: "dance", status: "paused", _meta: null }],
    [AcpSchema.PermissionRequest, { options: [{ optionId: "o", kind: "reject_for_a_week" }] }]
  ]
  for (const [schema, value] of deviations)
    assert.isTrue(Either.isRight(Schema.decodeUnknownEither(schema)(value)), JSON.stringify(value))
})
