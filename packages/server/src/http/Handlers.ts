import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { Api } from "@reins/core/Api"
import type { ErrorsOf } from "@reins/core/OperationErrors"
import type { Command } from "@reins/core/store/Command"
import type { OperationParts } from "@reins/core/store/Operation"
import type { Effect } from "effect"
import type { Exchange } from "./Exchange.js"
import type { Reply } from "./Reply.js"

/** The endpoints that anybody may call, as `group.endpoint`. The API annotates them too, and the router checks that the two agree. */
export const publicEndpoints = [
  "accounts.register",
  "accounts.login",
  "accounts.verifyEmail",
  "accounts.resetPassword",
  "shared.getSession",
  "shared.listMessages",
  "shared.listChangesets",
  "shared.getDiff",
  "shared.getWatermark"
] as const

type IsPublic<
  Group extends string,
  E
> = `${Group}.${HttpApiEndpoint.HttpApiEndpoint.Name<E>}` extends (typeof publicEndpoints)[number] ? true : false

/** The argument of a handler: the caller, and the decoded path, query and body as far as the endpoint has them. */
export type Call<Group extends string, E extends HttpApiEndpoint.HttpApiEndpoint.Any> = {
  readonly exchange: Exchange
} & (IsPublic<Group, E> extends true ? unknown : { readonly principal: Principal }) &
  OperationParts<E>

/** The mutations that run again when they are repeated. The API annotates them too, and the router checks that the two agree. */
export const repeatedEndpoints = ["login", "logout", "wait"] as const

/** A handler fails with the codes that its operation lists, and with what is wrong with the request. */
type Failure<Name extends string> = ReinsError<ErrorsOf<Name>> | RequestInvalid

/** A read may answer with a reply of its own, as a stream does. A mutation is a command, so that its answer commits with it. */
type Answer<Group extends string, E extends HttpApiEndpoint.HttpApiEndpoint.Any> = E extends { readonly method: "GET" }
  ? Effect.Effect<
      HttpApiEndpoint.HttpApiEndpoint.Success<E> | Reply,
      Failure<`${Group}.${HttpApiEndpoint.HttpApiEndpoint.Name<E>}`>
    >
  : HttpApiEndpoint.HttpApiEndpoint.Name<E> extends (typeof repeatedEndpoints)[number]
    ? Effect.Effect<
        HttpApiEndpoint.HttpApiEndpoint.Success<E>,
        Failure<`${Group}.${HttpApiEndpoint.HttpApiEndpoint.Name<E>}`>
      >
    : Command<
        HttpApiEndpoint.HttpApiEndpoint.Success<E>,
        Failure<`${Group}.${HttpApiEndpoint.HttpApiEndpoint.Name<E>}`>
      >

/** One function for each endpoint of a group. It only moves values: from the request to a service, and the result back. */
export type HandlersOf<Group extends HttpApiGroup.HttpApiGroup.Any> = {
  readonly [E in HttpApiGroup.HttpApiGroup.Endpoints<Group> as HttpApiEndpoint.HttpApiEndpoint.Name<E>]: (
    call: Call<HttpApiGroup.HttpApiGroup.Name<Group>, E>
  ) => Answer<HttpApiGroup.HttpApiGroup.Name<Group>, E>
}

export type AllHandlersOf<Groups extends HttpApiGroup.HttpApiGroup.Any> = {
  readonly [Name in HttpApiGroup.HttpApiGroup.Name<Groups>]: HandlersOf<
    HttpApiGroup.HttpApiGroup.WithName<Groups, Name>
  >
}

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer G, infer _E, infer _R> ? G : never

export type GroupName = HttpApiGroup.HttpApiGroup.Name<Groups>

/** The handlers of one group of the API. */
export type Handlers<Name extends GroupName> = AllHandlersOf<Groups>[Name]

export type AllHandlers = AllHandlersOf<Groups>
