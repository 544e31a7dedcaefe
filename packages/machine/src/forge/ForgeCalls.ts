/** A merge request as the forge has it. */
export interface RemoteMergeRequest {
  /** The number that people see. */
  readonly number: number
  /** The address of its page for people, of http or https. Null where the forge names none. */
  readonly webUrl: string | null
  /** `closed` without having been merged. */
  readonly state: "open" | "merged" | "closed"
  /** True while nobody may merge it. */
  readonly draft: boolean
  /** Empty when there is none. */
  readonly description: string
  /** The commit that its branch stands at; empty when the forge does not say. */
  readonly headSha: string
  /** The branch that it is to be merged into. Absent where the forge does not tell. */
  readonly baseBranch?: string
  /** True when its branch is in another repository. Absent where the forge does not tell. */
  readonly isFork?: boolean
}

/**
 * The reason that a forge did not do what it was asked.
 * - `unauthenticated`: it does not accept the token.
 * - `forbidden`: the token is valid, but not for this.
 * - `not_found`: the repository or merge request does not exist, or the token may not see it.
 * - `exists`: it already holds a conflicting one, such as an open merge request for the same branches.
 * - `remote_head_changed`: the head is not the expected one.
 * - `not_mergeable`: it does not merge this in its present state.
 * - `rejected`: it declines the request.
 * - `rate_limited`: it was asked too often.
 * - `unavailable`: it cannot be reached, has failed, or gives an answer that cannot be read. The request may have taken effect.
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

/** A request to a forge. */
export interface ForgeCall {
  /** The method of HTTP. */
  readonly method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT"
  /** The path below the root of the API, with the query. */
  readonly path: string
  /** The body, which is sent as JSON. */
  readonly body?: Readonly<Record<string, unknown>>
  /** True for the GraphQL address of a forge that has one beside its API; `path` is empty then. */
  readonly graphql?: true
}

/** The budget of a token as the forge tells it. */
export interface ForgeLimit {
  readonly limit: number
  readonly remaining: number
  /** The time at which the budget is whole again, in milliseconds since 1970. */
  readonly resetAt: number
}
