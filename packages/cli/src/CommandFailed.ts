import { Data } from "effect"

/** The command cannot do what it was asked for. `message` says why, and what to do next. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly message: string }> {}
