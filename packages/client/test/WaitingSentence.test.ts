import { assert, describe, it } from "@effect/vitest"
import { type MergeRequest, waitingSentence } from "../src/index.js"

type Standing = NonNullable<MergeRequest["standing"]>
type Waiting = Standing["waiting_for"][number]

const wait = (kind: Waiting["kind"], ...names: Array<string>): Waiting => ({ kind, names, message: "Something else." })

const open = (
  waiting_for: ReadonlyArray<Waiting>,
  checks: Standing["checks"]["state"] = "passing",
  open = 0
): Pick<MergeRequest, "reason_message" | "standing" | "state"> => ({
  state: "open",
  reason_message: null,
  standing: {
    head_is_ours: true,
    checks: { state: checks, head_sha: "1", passing: 0, pending: 0, failing: 0, complete: true },
    reviews: { state: "read", approvals: 0, changes_requested: 1 },
    threads: { state: "read", open },
    conflicts: "none",
    waiting_for
  }
})

describe("waitingSentence", () => {
  it("says where a merge request stands", () => {
    const at = (state: MergeRequest["state"], reason_message: string | null = null) =>
      waitingSentence({ state, reason_message, standing: null })
    assert.strictEqual(at("pending"), "It is being opened on the forge.")
    assert.strictEqual(at("open"), "The forge has not been read yet.")
    assert.strictEqual(at("merged"), "It is merged.")
    assert.strictEqual(at("closed"), "It was closed without a merge.")
    assert.strictEqual(at("failed", "There is no such branch."), "It could not be opened. There is no such branch.")
  })

  it("names all that an open one waits for", () => {
    assert.strictEqual(waitingSentence(open([])), "Nothing is in the way of a merge.")
    assert.include(waitingSentence(open([], "none")), "No check has reported.")
    assert.strictEqual(waitingSentence(open([wait("checks_failing", "a")])), "It waits for the failed check a.")
    assert.strictEqual(
      waitingSentence(
        open([wait("checks_pending", "a", "b"), wait("changes_requested"), wait("open_threads")], "pending", 2)
      ),
      "It waits for the running checks a and b, a reviewer who asks for changes and 2 open threads."
    )
  })

  it("takes the words of the server for a kind that it does not know", () => {
    // Boundary: a newer server has more kinds.
    const unknown = wait("toString" as Waiting["kind"])
    assert.strictEqual(waitingSentence(open([unknown])), "It waits for Something else.")
  })
})
