import { Data, type ParseResult } from "effect"

/** A part of a request is malformed in a way that only a service can see. The answer is 422, as for every malformed request. */
export class RequestInvalid extends Data.TaggedError("RequestInvalid")<{
  /** The place of the part, as in `["body", "credential"]`. The path of the issue begins there. */
  readonly loc: ReadonlyArray<string | number>
  readonly issue: ParseResult.ParseIssue
  /** The value that was given at `loc`. */
  readonly input: unknown
}> {}
