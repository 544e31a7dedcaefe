import { ParseResult, Schema } from "effect"
import { RequestInvalid } from "../domain/RequestInvalid.js"

/** The name of a branch that was given as `refs/heads/<name>` or by its name alone. */
export const branchName = (given: string): string => given.replace(/^refs\/heads\//, "")

/** The refusal of a field of the body that should name a branch. */
export const notBranch = (field: string, given: unknown): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", field],
    issue: new ParseResult.Type(Schema.String.ast, given, "Input should be a valid branch name"),
    input: given
  })
