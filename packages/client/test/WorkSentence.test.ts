import { readFileSync } from "node:fs"
import { type WorkItem, workSentence } from "@reins/client"
import { assert, describe, it } from "vitest"

const examples = new URL("../../server/src/http/openapi/examples.json", import.meta.url)
const [example]: ReadonlyArray<WorkItem> = JSON.parse(readFileSync(examples, "utf8"))[
  "GET /api/workspaces/{workspace_id}/work"
].answer.items

/** The item of the document in another state. */
const item = (changed: Partial<WorkItem>): WorkItem => ({ ...(example as WorkItem), ...changed })

const request = (changed: Partial<NonNullable<WorkItem["merge_request"]>>) => ({
  merge_request: { ...(example?.merge_request as NonNullable<WorkItem["merge_request"]>), ...changed }
})

const wanted: ReadonlyArray<readonly [WorkItem, string]> = [
  [item({}), "Asks you: change 2 files"],
  [item({ state: "running" }), "Works"],
  [item({ state: "queued" }), "Waits for its turn"],
  [item({ state: "review" }), "A change waits for your review: 3 files, +26 -1"],
  [item({ state: "needs_changes" }), "#42 into main has a failed check"],
  [
    item({
      state: "needs_changes",
      ...request({
        waits_for: ["conflicts", "checks_failing", "open_threads"],
        checks: { passing: 0, failing: 2, pending: 0 },
        threads: 1
      })
    }),
    "#42 into main has conflicts with its base branch, 2 failed checks and an open thread"
  ],
  [item({ state: "in_review" }), "#42 into main is open"],
  [item({ state: "merged", ...request({ number: null }) }), "Its merge request is merged"],
  [item({ state: "handed_over", left: "conditions_given_up" }), "Its merge request is no longer merged by itself"],
  [
    item({
      state: "failed",
      delivery: null,
      merge_request: null,
      turn: { id: "turn_1", state: "failed", reason: "timeout", reason_message: "It took too long." }
    }),
    "The turn failed: It took too long"
  ],
  [item({ state: "idle", turn: null }), "Nothing was said yet"],
  // A newer server has words that this client does not know.
  [item({ state: "toString" as never }), "toString"],
  [item({ state: "needs_changes", ...request({ waits_for: ["new_need" as never] }) }), "#42 into main has new need"]
]

describe("the sentence of a session in a list of what waits", () => {
  for (const [given, sentence] of wanted)
    it(`${given.state}: ${sentence}`, () => assert.strictEqual(workSentence(given), sentence))
})
