import { baseBranchOf } from "@reins/core/requests/MergeRequestTerms"
import type { MergeRequestInput } from "@reins/core/requests/RequestsApi"
import { Effect, Either } from "effect"
import { assert, describe, it } from "vitest"

const baseOf = (base_ref: string | null, input: MergeRequestInput = {}): string | null =>
  Either.getOrNull(Effect.runSync(Effect.either(baseBranchOf({ tree: { base_ref } }, { target_ref: "work" }, input))))

describe("the branch that a merge request goes into", () => {
  it("is the one that the session started from, and a tag or a commit is none", () => {
    const rows: ReadonlyArray<readonly [string | null, string | null]> = [
      ["main", "main"],
      ["refs/heads/main", "main"],
      ["release/1.0", "release/1.0"],
      ["v1", "v1"],
      ["refs/tags/v1", null],
      ["refs/pull/1/head", null],
      ["a".repeat(40), null],
      ["work", null],
      [null, null]
    ]
    for (const [ref, base] of rows) assert.strictEqual(baseOf(ref), base, String(ref))
  })

  it("is the one that is asked for, if that can be a branch", () => {
    const rows: ReadonlyArray<readonly [string, string | null]> = [
      ["dev", "dev"],
      ["refs/heads/dev", "dev"],
      ["refs/tags/v1", null],
      ["work", null],
      ["refs/heads/work", null],
      ["a..b", null]
    ]
    for (const [base_branch, base] of rows)
      assert.strictEqual(baseOf("refs/tags/v1", { base_branch }), base, base_branch)
  })
})
