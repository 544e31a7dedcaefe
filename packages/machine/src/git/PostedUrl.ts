import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect, ParseResult, Schema } from "effect"
import type { Git } from "./Git.js"

/** Refuses the URL of a repository, at its place in a request, that git would never contact. It needs no network. */
export const checkPosted = (
  git: Git["Type"],
  loc: ReadonlyArray<string>,
  repository: { readonly url: string } | undefined
): Effect.Effect<void, RequestInvalid> => {
  const refusal = repository === undefined ? undefined : git.refusal(repository.url)
  if (repository === undefined || refusal === undefined) return Effect.void
  const issue = new ParseResult.Type(Schema.String.ast, repository.url, refusal)
  return Effect.fail(new RequestInvalid({ loc: [...loc, "url"], issue, input: repository.url }))
}
