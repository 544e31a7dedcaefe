import type { Caller, Operator, Stranger } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect } from "effect"
import type { Commit } from "./Commit.js"

/** The resource that a command is about. One that makes a resource is about the one that it is made in. */
export interface Resource {
  /** The noun of the API, as `session`. */
  readonly type: string
  /** Null where only the command finds it, by a token or an address. */
  readonly id: string | null
  /** The id of the resource that it is a part of, where its own id does not tell. */
  readonly of?: string
}

/** The giver and the subject of a command. */
export interface Authority {
  readonly by: Caller
  readonly about: Resource
  /** False for a command that gives up a right of its caller. No policy keeps anybody from that. */
  readonly refusable?: false
}

/** A command as policy and audit see it. The name is that of its span, as `Sessions.close`. */
export interface Commanded extends Authority {
  readonly name: string
}

/** The policy does not allow the command. */
export type PolicyRefusal = ReinsError<"forbidden">

/**
 * The refusal that a command of an authority may meet. A policy narrows the rights of accounts. The operator and strangers use none, so it is not
 * asked about their commands.
 */
export type RefusalOf<Z extends Authority> = Z extends { readonly refusable: false }
  ? never
  : Z["by"] extends Operator | Stranger
    ? never
    : PolicyRefusal

/** The policy and the audit of every command. The default allows all and writes nothing. */
export class Oversight extends Context.Reference<Oversight>()("@reins/core/store/Oversight", {
  defaultValue: (): Oversees => ({ before: () => Effect.void, inCommit: () => Effect.void })
}) {}

export interface Oversees {
  /**
   * Runs before anything else of a command, its preparation too. It knows only the ids that the caller gave. So it answers alike for a
   * resource that the caller may not see, and for one that does not exist.
   */
  readonly before: (command: Commanded) => Effect.Effect<void, PolicyRefusal>
  /**
   * Runs in the commit of a command, after its effect and before its answer is stored. What it writes stands with the effect, or not at all. The
   * commit may run again.
   */
  readonly inCommit: (command: Commanded) => Effect.Effect<void, never, Commit>
}
