import type { HttpMethod } from "@effect/platform/HttpMethod"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { Effect } from "effect"
import type { Exchange } from "./Exchange.js"
import type { ValidationFailed } from "./middleware/ErrorEnvelope.js"
import type { Reply } from "./Reply.js"

/** The failures that have an answer of their own, with every code, because each route has others. Any other failure is a defect. */
export type Failure = ReinsError | RequestInvalid | ValidationFailed

/** The decoded parts of a path that its pattern names. */
export type PathParams = Readonly<Record<string, string | undefined>>

/** A path and a method that the service answers. */
export interface Route {
  readonly method: HttpMethod
  /** A pattern such as `/api/sessions/:session_id`. */
  readonly path: `/${string}`
  /** True for a change, which is finished even when its client has gone. A read is not. */
  readonly mutates: boolean
  readonly answer: (exchange: Exchange, params: PathParams) => Effect.Effect<Reply, Failure>
  /** Gives a failure, also one before the route was asked, the form that the protocol of the route has; the envelope of the API when absent. */
  readonly inItsForm?: (failure: Reply) => Reply
  /** Counts the requests of the route, if they are to be counted. */
  readonly meter?: Meter
}

export interface Meter {
  /** A request is being answered. */
  readonly began: () => void
  /** The request is over, with the status of its answer; 499 when the client had gone first. */
  readonly ended: (status: number, seconds: number) => void
}
