import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import type { Effect } from "effect"
import type { Principal } from "@reins/core/domain/Principal"
import type { ReinsError } from "@reins/core/domain/ReinsError"
import type { Api } from "@reins/core/api/Api"

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer G, infer _E, infer _R> ? G : never

export type GroupName = HttpApiGroup.HttpApiGroup.Name<Groups>
export type EndpointOf<Group extends GroupName> = HttpApiGroup.HttpApiGroup.EndpointsWithName<Groups, Group>

/** The decoded parts of a request, as one object: what is given by name in the path, the query and the body. */
export interface Call<E extends HttpApiEndpoint.HttpApiEndpoint.Any> {
  readonly path: HttpApiEndpoint.HttpApiEndpoint.PathParsed<E>
  readonly query: HttpApiEndpoint.HttpApiEndpoint.UrlParams<E>
  readonly body: HttpApiEndpoint.HttpApiEndpoint.Payload<E>
}

/** One function for each endpoint of a group. It only moves values: from the request to a service, and its result back. */
export type Handlers<Group extends GroupName, Context = { readonly principal: Principal }> = {
  readonly [E in EndpointOf<Group> as HttpApiEndpoint.HttpApiEndpoint.Name<E>]: (
    call: Call<E> & Context
  ) => Effect.Effect<HttpApiEndpoint.HttpApiEndpoint.Success<E>, ReinsError>
}
