import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

export const WaitingKind = Schema.Literal(
  "forge_unreadable",
  "draft",
  "conflicts",
  "conflicts_unknown",
  "checks_unreadable",
  "checks_failing",
  "checks_red_on_base",
  "base_checks_unreadable",
  "checks_pending",
  "checks_incomplete",
  "no_check_reports",
  "reviews_unreadable",
  "reviews_incomplete",
  "changes_requested",
  "threads_unreadable",
  "threads_incomplete",
  "open_threads",
  "forge_blocks"
).annotations({
  identifier: "WaitingKind",
  description:
    "The kind of a thing that a merge request waits for. `forge_blocks`: the forge says that it would not merge, and `names` has its word."
})
export type WaitingKind = typeof WaitingKind.Type

export const WaitingFor = Schema.Struct({
  kind: field(WaitingKind, "What it is."),
  names: field(
    Schema.Array(Schema.String),
    "The names of the checks that it is about, at most 20, or the word of the forge; else empty."
  ),
  message: field(Schema.String, "A sentence for people.")
}).annotations({ identifier: "WaitingFor", description: "One thing that a merge request waits for." })
export type WaitingFor = typeof WaitingFor.Type

const CheckCount = Schema.Int.pipe(Schema.nonNegative())

export const CheckSum = Schema.Struct({
  state: field(
    Schema.Literal("none", "pending", "passing", "failing", "unreadable"),
    "`none`: no check has reported on the head. `unreadable`: the forge does not show them all, so nothing is known. Neither is a success."
  ),
  head_sha: field(Schema.String, "The commit that they are about."),
  passing: field(CheckCount, "The number of checks that have passed."),
  pending: field(CheckCount, "The number of checks that have not ended, or that wait for a person."),
  failing: field(CheckCount, "The number of checks that have failed or were cancelled, without those that may fail."),
  complete: field(
    Schema.Boolean,
    "False when the forge has more than the 300 checks that are read, or one that cannot be read."
  )
}).annotations({ identifier: "CheckSum", description: "The checks of the head as numbers." })

const sums = {
  head_is_ours: field(Schema.Boolean, "True when the head is a commit that a delivery of the session has pushed."),
  checks: field(CheckSum, "How the checks of the head stand, as numbers."),
  reviews: field(
    Schema.Struct({
      state: field(
        Schema.Literal("read", "unreadable"),
        "`unreadable`: the forge does not show them, or one cannot be read."
      ),
      approvals: field(CheckCount, "The number of people whose newest review approves this head."),
      changes_requested: field(
        CheckCount,
        "The number of people whose newest review asks for changes. One of them who may not write to the repository holds nothing up."
      )
    }),
    "How people judge it, by the newest review of each."
  ),
  threads: field(
    Schema.Struct({
      state: field(
        Schema.Literal("read", "unreadable"),
        "`unreadable`: the forge does not show them, or one cannot be read."
      ),
      open: field(
        CheckCount,
        "The number of threads about lines or files that are not resolved. One of people who may not write holds nothing up."
      )
    }),
    "The conversations about lines of it."
  ),
  conflicts: field(
    Schema.Literal("none", "conflicts", "unknown"),
    "Whether it merges with its base branch, as the forge says. `unknown`: the forge has not said yet."
  )
}

/** The same without names and words of the forge, for events. */
export const RequestSums = Schema.Struct(sums).annotations({
  identifier: "RequestSums",
  description: "What a forge showed of an open merge request, as sums."
})
export type RequestSums = typeof RequestSums.Type

export const RequestStanding = Schema.Struct({
  ...sums,
  waiting_for: field(Schema.Array(WaitingFor), "The things that are still in the way of a merge; empty for none.")
}).annotations({
  identifier: "RequestStanding",
  description: "What a forge showed of an open merge request at the last look that found a difference."
})
export type RequestStanding = typeof RequestStanding.Type
