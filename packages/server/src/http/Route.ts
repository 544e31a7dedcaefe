import type { HttpMethod } from "@effect/platform/HttpMethod"
import type { ReinsError } from "@reins/core/domain/ReinsError"
import type { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import type { Effect } from "effect"
import type { Exchange } from "./Exchange.js"
import type { ValidationFailed } from "./middleware/ErrorEnvelope.js"
import type { Reply } from "./Reply.js"

export type Failure = ReinsError | RequestInvalid | ValidationFailed

/** The decoded parts of a path that its pattern names. */
export type PathParams = Readonly<Record<string, string | undefined>>

/** Something that the service answers to. */
export interface Route {
  readonly method: HttpMethod
  /** A pattern such as `/api/sessions/:session_id`. */
  readonly path: `/${string}`
  /** A change is carried through even when its client has gone; a read is not. */
  readonly mutates: boolean
  readonly answer: (exchange: Exchange, params: PathParams) => Effect.Effect<Reply, Failure>
  /** Counts its requests, where that is wanted. */
  readonly meter?: Meter
}

export interface Meter {
  /** A request is being answered. */
  readonly began: () => void
  /** It is over, with the status of its answer; 499 when the client had gone first. */
  readonly ended: (status: number, seconds: number) => void
}
