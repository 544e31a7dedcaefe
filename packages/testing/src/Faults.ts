import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { ParseResult } from "effect"

/** Each fault of a refused request: its place and its message. */
export const faultsOf = ({ issue, loc }: RequestInvalid) =>
  ParseResult.ArrayFormatter.formatIssueSync(issue).map(({ _tag, message, path }) => ({
    loc: [...loc, ...path],
    isMissing: _tag === "Missing",
    msg: message
  }))
