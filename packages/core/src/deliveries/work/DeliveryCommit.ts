import { CoreConfig } from "@reins/base/base/CoreConfig"
import { foreignName } from "@reins/base/base/ForeignText"
import { Bench } from "@reins/machine/bench/Bench"
import { DateTime, Effect } from "effect"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"
import type { MadeCommit } from "../MadeCommits.js"
import { type DeliveryAttempt, deliverySteps } from "./DeliverySteps.js"
import { makeSigning } from "./Signing.js"

/** The place and the content of a commit. */
export interface CommitTerms {
  readonly tree: string
  readonly parents: ReadonlyArray<string>
}

/**
 * Gives the function that makes a commit of a delivery and writes it down. A repeated attempt makes the same commit, because its time is that
 * of the capture. It is written down before any push, so that a later attempt knows its own commit on the remote.
 */
export const makeMaterialize = Effect.gen(function* () {
  const { changes } = yield* Bench
  const trees = yield* WorkingTrees
  const steps = yield* deliverySteps
  const { gitCommitter: committer } = yield* CoreConfig
  const signing = yield* makeSigning
  return Effect.fnUntraced(function* (work: DeliveryAttempt, { parents, tree }: CommitTerms) {
    // The session may have come to this node for this delivery, and its files have not.
    yield* trees.requireOwned(work.session.id)
    const { author, title, trailers } = work.delivery
    const ear = yield* signing(work)
    const order = {
      session: work.session.id,
      tree,
      parents,
      message: commitMessage(title, trailers),
      date: DateTime.unsafeMake(work.changeset.sealed_at ?? work.changeset.created_at),
      committer,
      signs: work.delivery.signs,
      ...(author !== null && { author: { ...author, name: foreignName(author.name, longestName) } })
    }
    const commit = yield* changes
      .commit(order, ear)
      .pipe(Effect.catchTag("GitError", steps.failWith(work, "materialize")))
    yield* steps.done(work, "materialize", { commit, parents, tree })
    const made: MadeCommit = { commit, parents, tree }
    return made
  })
})

const longestSubject = 500
const longestName = 200
const longestTrailer = 1_000

/** The message of a commit. A title is its subject, so it is one line, and no trailer stands in it. */
export const commitMessage = (title: string | null, trailers: ReadonlyArray<string>): string => {
  const subject = foreignName(title ?? "", longestSubject) || "Changes by a coding session"
  return [subject, trailers.map((trailer) => foreignName(trailer, longestTrailer)).join("\n")].join("\n\n")
}
