import { readFileSync } from "node:fs"
import { Schema } from "effect"

/** The kinds of call that agents ask leave for. `mcp` is the call of a tool of a server. */
export const approvalKinds = ["edit", "command", "fetch", "mcp"] as const
export type ApprovalKind = (typeof approvalKinds)[number]

const Fields = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/** A permission request, with the messages about its call before it, and with those that came before its answer. */
const Recorded = Schema.Struct({
  origin: Schema.Literal("recorded"),
  before: Schema.Array(Fields),
  toolCall: Fields,
  options: Schema.Array(Fields),
  after: Schema.Array(Fields)
})
export type RecordedApproval = typeof Recorded.Type

/** An agent that cannot make such a call. */
const None = Schema.Struct({ origin: Schema.Literal("none"), why: Schema.NonEmptyString })

const Kind = Schema.Union(Recorded, None)

const Recordings = Schema.Record({
  key: Schema.String,
  value: Schema.Struct({
    agent: Schema.String,
    kinds: Schema.Struct({ edit: Kind, command: Kind, fetch: Kind, mcp: Kind })
  })
})

/**
 * The ways in which the real agents ask for leave, by the id of their provider. Each was recorded on Linux on x64, with a model that follows a script, in
 * the mode in which the agent asks. The working tree is `/w`, and each call has the id `c1`.
 */
export const approvalRecordings = Schema.decodeUnknownSync(Schema.parseJson(Recordings))(
  readFileSync(new URL("../../recordings/acp/approvals.json", import.meta.url), "utf8")
)
