import { Data, type ParseResult } from "effect"

/** A part of a request is malformed in a way that only a service can see. The answer is 422, as for every malformed request. */
export class RequestInvalid extends Data.TaggedError("RequestInvalid")<{
  /** The place of the part, as in `["body", "credential"]`. The path of the issue begins there. */
  readonly loc: ReadonlyArray<string | number>
  readonly issue: ParseResult.ParseIssue
  /** The value that was given at `loc`. */
  readonly input: unknown
}> {
  /** The place and what is wrong with it, as far as the service has words for that. Values are left out, since they may be secrets. */
  override get message() {
    const place = this.loc.join(".")
    return this.issue._tag === "Type" && this.issue.message !== undefined
      ? `${place}: ${this.issue.message}`
      : `${place} is not valid.`
  }
}
