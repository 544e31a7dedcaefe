import { Effect, Schema } from "effect"
import { actsBy, notShown, tooManyComments } from "./Acting.js"
import { type Ask, decodeAnswer, ForgeError } from "./Forge.js"
import { allPages, mostComments } from "./Viewing.js"

const Review = Schema.Struct({
  id: Schema.Int,
  comments_count: Schema.optionalWith(Schema.Int, { default: () => 0 })
})

const LineComment = Schema.Struct({
  id: Schema.Int,
  body: Schema.optional(Schema.NullOr(Schema.String)),
  path: Schema.String,
  commit_id: Schema.optional(Schema.NullOr(Schema.String)),
  position: Schema.optional(Schema.NullOr(Schema.Int)),
  original_position: Schema.optional(Schema.NullOr(Schema.Int)),
  html_url: Schema.optional(Schema.NullOr(Schema.String))
})

const Comments = Schema.Array(LineComment)

/** The comments about lines of pull requests. Gitea and Forgejo keep them in reviews, and group those about one line. */
export const giteaLines = (ask: Ask, root: string) => {
  const { changed, read } = actsBy(ask)
  const commentsOf = (number: number, review: number) =>
    Effect.flatMap(
      read({ method: "GET", path: `${root}/pulls/${number}/reviews/${review}/comments` }),
      decodeAnswer(Comments)
    )
  const all = Effect.fnUntraced(function* (number: number) {
    const reviews = yield* allPages(ask, {
      path: (page) => `${root}/pulls/${number}/reviews?limit=50&page=${page}`,
      size: 10,
      most: mostComments,
      schema: Review
    }).pipe(Effect.catchTag("Refusal", (refusal) => Effect.fail(notShown(refusal))))
    if (!reviews.complete) return yield* tooManyComments
    const found: Array<typeof LineComment.Type> = []
    // The newest come first, because a comment of ours is looked for.
    for (const { comments_count, id } of reviews.value.toReversed())
      if (comments_count > 0) found.push(...(yield* commentsOf(number, id)))
    return found
  })
  return {
    all,
    /** Writes a comment beside another one, in a review of its own. */
    answer: Effect.fnUntraced(function* (number: number, id: number, body: string) {
      const first = (yield* all(number)).find((comment) => comment.id === id)
      if (first === undefined) return yield* threadGone
      const { commit_id, original_position, path, position } = first
      const place = { path, body, new_position: position ?? 0, old_position: original_position ?? 0 }
      const review = yield* changed({
        method: "POST",
        path: `${root}/pulls/${number}/reviews`,
        body: { event: "COMMENT", body: "", ...(commit_id != null && { commit_id }), comments: [place] }
      })
      const written = yield* commentsOf(number, (yield* decodeAnswer(Review)(review)).id)
      return written.at(-1) ?? (yield* hidden)
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
