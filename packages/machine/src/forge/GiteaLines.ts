import { type OddElement, readEach } from "@reins/base/base/ForeignList"
import { adorns } from "@reins/base/base/ForeignText"
import { Effect, Schema } from "effect"
import { actsBy, notShown, SaidComment, tooManyComments } from "./Acting.js"
import { CommitSha, orNull, Path } from "./ForeignParts.js"
import { type Ask, decodeAnswer, ForgeError } from "./Forge.js"
import { allPages, type Get, listIn, mostComments } from "./Viewing.js"

const Review = Schema.Struct({
  id: Schema.Int,
  comments_count: Schema.optionalWith(Schema.Int, { default: () => 0 })
})

const LineComment = Schema.Struct({
  ...SaidComment.fields,
  path: Path,
  commit_id: adorns(CommitSha),
  position: orNull(Schema.Int),
  original_position: orNull(Schema.Int)
})

/** The comments about lines of pull requests. Gitea and Forgejo keep them in reviews, and group those about one line. */
export const giteaLines = (ask: Ask, root: string) => {
  const { changed, read } = actsBy(ask)
  const commentsOf = Effect.fnUntraced(function* (number: number, review: number) {
    const answer = yield* read({ method: "GET", path: `${root}/pulls/${number}/reviews/${review}/comments` })
    return readEach(LineComment)(yield* listIn(answer))
  })
  const page: Get["page"] = (call) =>
    Effect.map(ask.marked(call, undefined), ({ answer, hasNext }) => ({ body: answer?.body, hasNext }))
  const all = Effect.fnUntraced(function* (number: number) {
    const reviews = yield* allPages(page, {
      path: (page) => `${root}/pulls/${number}/reviews?limit=50&page=${page}`,
      size: 10,
      most: mostComments,
      schema: Review
    }).pipe(Effect.catchTag("Refusal", (refusal) => Effect.fail(notShown(refusal))))
    if (!reviews.complete) return yield* tooManyComments
    const found: Array<typeof LineComment.Type> = []
    const odd: Array<OddElement> = [...reviews.odd]
    // The newest come first, because a comment of ours is looked for.
    for (const { comments_count, id } of reviews.value.toReversed()) {
      if (comments_count === 0) continue
      const comments = yield* commentsOf(number, id)
      found.push(...comments.items)
      odd.push(...comments.odd)
    }
    return { items: found, odd }
  })
  return {
    all,
    /** Writes a comment beside another one, in a review of its own. */
    answer: Effect.fnUntraced(function* (number: number, id: number, body: string) {
      const first = (yield* all(number)).items.find((comment) => comment.id === id)
      if (first === undefined) return yield* threadGone
      const { commit_id, original_position, path, position } = first
      const place = { path, body, new_position: position ?? 0, old_position: original_position ?? 0 }
      const review = yield* changed({
        method: "POST",
        path: `${root}/pulls/${number}/reviews`,
        body: { event: "COMMENT", body: "", ...(commit_id !== null && { commit_id }), comments: [place] }
      })
      const written = yield* commentsOf(number, (yield* decodeAnswer(Review)(review)).id)
      return written.items.at(-1) ?? (yield* hidden)
    })
  }
}

const threadGone = new ForgeError({
  kind: "not_found",
  message: "The forge no longer has this thread: answer in another one, or to the whole merge request."
})

const hidden = new ForgeError({
  kind: "unavailable",
  message: "The forge took the comment but does not show it yet.",
  mayHaveHappened: true
})
