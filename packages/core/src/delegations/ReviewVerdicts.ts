import { Effect } from "effect"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import { VerdictStore } from "../requests/conditions/VerdictStore.js"
import type { Delegation, Result } from "./Delegation.js"

/** The words of results that approve of or reject what was reviewed. Any other word judges nothing. */
const words: ReadonlyMap<string, "approve" | "reject"> = new Map([
  ["approve", "approve"],
  ["approved", "approve"],
  ["accepted", "approve"],
  ["passed", "approve"],
  ["reject", "reject"],
  ["rejected", "reject"],
  ["changes_requested", "reject"],
  ["failed", "reject"]
])

const wordOf = (verdict: string | null) =>
  words.get(
    (verdict ?? "")
      .trim()
      .toLowerCase()
      .replace(/[\s-]+/g, "_")
  )

/**
 * Gives the function that makes a verdict of a review, on the changeset that the child began with. The child cannot judge its own work, nor a
 * changeset that it was not given.
 */
export const makeJudge = Effect.gen(function* () {
  const changesets = yield* ChangesetStore
  const verdicts = yield* VerdictStore
  return Effect.fnUntraced(function* (
    delegation: Delegation,
    result: Pick<Result, "kind" | "verdict" | "summary" | "changeset_id">
  ) {
    const verdict = result.kind === "review" ? wordOf(result.verdict) : undefined
    const id = delegation.changeset_id
    if (verdict === undefined || id === null || (result.changeset_id ?? id) !== id) return
    const changeset = yield* changesets.find(id)
    if (changeset === undefined || changeset.subject_digest === null) return
    if (changeset.session_id === delegation.child_session_id) return
    yield* verdicts.add(changeset.session_id, {
      changeset_id: changeset.id,
      subject_digest: changeset.subject_digest,
      verdict,
      note: result.summary,
      from: "delegation",
      account_id: null,
      delegation_id: delegation.id
    })
  })
})
