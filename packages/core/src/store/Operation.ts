import type { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import type { OperationErrors } from "@reins/base/domain/OperationErrors"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { Effect } from "effect"
import type { Command } from "./Command.js"

// An operation is the work of an endpoint, without the way in which it is asked. HTTP is one door to it. A program that embeds the core needs none.

type Any = HttpApiEndpoint.HttpApiEndpoint.Any

type Part<Name extends string, Value> = [Value] extends [never] ? unknown : { readonly [K in Name]: Value }

/** The argument of an operation: the decoded path, query and body, as far as the endpoint has them. */
export type OperationParts<E extends Any> = Part<"path", HttpApiEndpoint.HttpApiEndpoint.PathParsed<E>> &
  Part<"query", HttpApiEndpoint.HttpApiEndpoint.UrlParams<E>> &
  Part<"body", HttpApiEndpoint.HttpApiEndpoint.Payload<E>>

type Failure<Errors extends OperationErrors, Operation> =
  | (Operation extends keyof Errors ? ReinsError<Errors[Operation][number]> : never)
  | RequestInvalid

/** A mutation is a command, so that its answer commits with it. */
type Answer<E extends Any, F> = E extends { readonly method: "GET" }
  ? Effect.Effect<HttpApiEndpoint.HttpApiEndpoint.Success<E>, F>
  : Command<HttpApiEndpoint.HttpApiEndpoint.Success<E>, F>

/**
 * The operations of a group, by the names of their endpoints. Each fails with the codes that the room lists for it, and with what is wrong with its
 * request. `Without` names the endpoints that only a door can answer, because they need more of a request than its parts.
 */
export type Operations<
  Group extends HttpApiGroup.HttpApiGroup.Any,
  Errors extends OperationErrors,
  Without extends string = never
> = {
  readonly [E in HttpApiGroup.HttpApiGroup.Endpoints<Group> as Exclude<
    HttpApiEndpoint.HttpApiEndpoint.Name<E>,
    Without
  >]: (
    call: { readonly principal: Principal } & OperationParts<E>
  ) => Answer<E, Failure<Errors, `${HttpApiGroup.HttpApiGroup.Name<Group>}.${HttpApiEndpoint.HttpApiEndpoint.Name<E>}`>>
}
