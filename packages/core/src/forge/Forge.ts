import { Data, Effect, Schema } from "effect"
import type { MergeMethod } from "../domain/MergeRequest.js"

/** The branch that holds the change, and the one that it goes into. Both are of the same repository. */
export interface Branches {
  /** The name without `refs/heads/`. */
  readonly head: string
  /** The name without `refs/heads/`. */
  readonly base: string
}

/** A merge request that is to be opened. */
export interface NewMergeRequest extends Branches {
  /** One line. */
  readonly title: string
  /** Markdown; may be empty. */
  readonly description: string
  /** True for one that nobody may merge yet, in the way of the forge. */
  readonly draft: boolean
}

/** A merge request as the forge has it. */
export interface RemoteMergeRequest {
  /** The number that people see. */
  readonly number: number
  /** Where people read it. */
  readonly webUrl: string
  /** `closed` without having been merged. */
  readonly state: "open" | "merged" | "closed"
  /** True while nobody may merge it. */
  readonly draft: boolean
  /** Empty when there is none. */
  readonly description: string
  /** The commit that its branch stands at; empty when the forge does not say. */
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

/** A forge did not do what it was asked for. */
export class ForgeError extends Data.TaggedError("ForgeError")<{
  /** The reason. */
  readonly kind: ForgeErrorKind
  /** Says to a person what the forge said, shortened and without a secret, and what to do next. */
  readonly message: string
  /** Set when a change was asked for and no answer tells what became of it. */
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

/** A request to a forge. */
export interface ForgeCall {
  /** The method of HTTP. */
  readonly method: "GET" | "POST" | "PUT"
  /** Below the root of its API, with the query. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: Readonly<Record<string, unknown>>
}

/**
 * Sends a request with the token of the connection. Gives back an answer below 400 as JSON, or undefined when it has no body. An answer that
 * only the client of a forge can read is a `Refusal`; every other failure is a `ForgeError` already.
 */
export type Ask = (call: ForgeCall) => Effect.Effect<unknown, ForgeError | Refusal>

/** An answer of 400 and above that says nothing of the credential, of a limit or of the health of the forge. */
export class Refusal extends Data.TaggedError("Refusal")<{
  /** 400 and above. */
  readonly status: number
  /** The words of the forge, on one line of at most 400 characters, without the token. */
  readonly said: string
}> {}

/** Decodes what a forge answered; an answer of another shape is `unavailable`. */
export const understood =
  <A, I>(schema: Schema.Schema<A, I>) =>
  (answer: unknown): Effect.Effect<A, ForgeError> =>
    Effect.mapError(
      Schema.decodeUnknown(schema)(answer),
      () =>
        new ForgeError({
          kind: "unavailable",
          message: "The forge answers in a form that is not known: check the base URL of the connection."
        })
    )

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
  /** Its path is that of the forge on its host. */
  readonly web: URL
  /** As in `https://git.example/api/v1`. */
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
