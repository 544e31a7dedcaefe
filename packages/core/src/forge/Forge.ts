import { Data, type Effect } from "effect"
import type { MergeMethod } from "../domain/MergeRequest.js"
import type { Ask } from "./ForgeRequest.js"

/** The branch that holds the change, and the one that it goes into. Both are of the same repository. */
export interface Branches {
  readonly head: string
  readonly base: string
}

export interface NewMergeRequest extends Branches {
  readonly title: string
  readonly description: string
  readonly draft: boolean
}

/** A merge request as the forge has it. */
export interface RemoteMergeRequest {
  readonly number: number
  readonly webUrl: string
  readonly state: "open" | "merged" | "closed"
  readonly draft: boolean
  readonly description: string
  readonly headSha: string
}

/**
 * Why a forge did not do what it was asked for.
 *
 * - `unauthenticated`: it does not accept the token. `forbidden`: the token is good, but not for this.
 * - `not_found`: there is no such repository or merge request, or the token may not see it.
 * - `exists`: it holds a conflicting one already, as an open merge request for the same branches.
 * - `remote_head_changed`: the head is not the expected one. `not_mergeable`: it will not merge this, as it is.
 * - `rejected`: it declines the request. `rate_limited`: it was asked too often.
 * - `unavailable`: it cannot be reached, has failed, or answers what nobody understands. What was asked may have been done.
 */
export type ForgeErrorKind =
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "exists"
  | "remote_head_changed"
  | "not_mergeable"
  | "rejected"
  | "rate_limited"
  | "unavailable"

/**
 * `message` is for a person: what the forge said, shortened, without a secret, and what to do next. With `mayHaveHappened` a change
 * was asked for, and no answer tells what became of it.
 */
export class ForgeError extends Data.TaggedError("ForgeError")<{
  readonly kind: ForgeErrorKind
  readonly message: string
  readonly mayHaveHappened?: true
}> {}

/** The failure of a change that the forge may have made all the same, when it did not answer. */
export const unproven = (error: ForgeError): ForgeError =>
  error.kind === "unavailable"
    ? new ForgeError({
        kind: error.kind,
        message: `${error.message} It may have been done all the same.`,
        mayHaveHappened: true
      })
    : error

/** One repository on a forge, with a token. A forge asks its own host only and follows no redirect. */
export interface Forge {
  /** The open merge request of the two branches, or undefined when there is none. */
  readonly find: (branches: Branches) => Effect.Effect<RemoteMergeRequest | undefined, ForgeError>
  /** Fails with `exists` when the forge says that there may be one already: look again. */
  readonly create: (request: NewMergeRequest) => Effect.Effect<RemoteMergeRequest, ForgeError>
  /** Fails with `not_found` for a number that the forge does not have. */
  readonly get: (number: number) => Effect.Effect<RemoteMergeRequest, ForgeError>
  /** Merges if the head is exactly `expectedHead`; else fails with `remote_head_changed`. */
  readonly merge: (
    number: number,
    request: { readonly expectedHead: string; readonly method: MergeMethod }
  ) => Effect.Effect<void, ForgeError>
}

/** The web address of a forge, which the URLs of its repositories have, and the root of its API without a trailing slash. */
export interface ForgeAddress {
  readonly web: URL
  readonly api: string
}

/**
 * A kind of forge, as a plain value: all that is particular to it. Each kind is also a kind of connection, of the same name, with a token
 * and an optional `base_url`.
 */
export interface ForgeKind {
  /** As the API and the database name it. It never changes. */
  readonly kind: string
  /** The web address of a connection that names none. */
  readonly defaultUrl: string
  /** The path of its API below the web address, as in `/api/v1`. */
  readonly apiPath: string
  /** For a forge that has its API elsewhere on some hosts: the address of such a host, and undefined for every other one. */
  readonly addressOf?: (given: URL) => ForgeAddress | undefined
  /** The ways of merging that it can be asked for. */
  readonly mergeMethods: ReadonlySet<MergeMethod>
  /** True when a repository may lie in groups within groups; else its path is `owner/name`. */
  readonly nestsGroups: boolean
  /** The headers that carry the token. They are sent with every request. */
  readonly headers: (token: string) => Readonly<Record<string, string>>
  /** The path below its API that tells whose token it is, to try one out. */
  readonly userPath: string
  /** The client for one repository, by its path on the forge. `ask` sends the token and knows what every refusal means. */
  readonly open: (ask: Ask, repository: string) => Forge
}
