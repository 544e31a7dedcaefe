import { Data, type ParseResult } from "effect"

/** A part of a request that only a service can check is malformed. It is answered with 422, like every malformed request. */
export class RequestInvalid extends Data.TaggedError("RequestInvalid")<{
  /** Where it stands, as in `["body", "credential"]`; the path of the issue goes on from there. */
  readonly loc: ReadonlyArray<string | number>
  readonly issue: ParseResult.ParseIssue
  /** The value that was given at `loc`. */
  readonly input: unknown
}> {}
