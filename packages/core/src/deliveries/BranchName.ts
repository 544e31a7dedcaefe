import { refNameRule } from "@reins/base/domain/RefName"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Array as Arr, ParseResult, Schema } from "effect"

/** The refusal of a field of the body that should name a branch. */
export const notBranch = (field: string, given: unknown): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", field],
    issue: new ParseResult.Type(Schema.String.ast, given, `Input should be a valid branch name: ${refNameRule}`),
    input: given
  })

/**
 * The names that a delivery takes where none is asked for, the best first. A remote with a branch `reins` can have none below `reins/`, so each
 * further name has dashes in the place of slashes, from one slash further to the left on.
 */
export const defaultBranches = (
  prefix: string,
  sessionId: string,
  changesetId: string
): Arr.NonEmptyReadonlyArray<string> => {
  const parts = Arr.append(Arr.append(prefix.split("/"), sessionId), changesetId)
  return Arr.map(parts, (_, index) => {
    const kept = parts.length - 1 - index
    return [...parts.slice(0, kept), parts.slice(kept).join("-")].join("/")
  })
}
