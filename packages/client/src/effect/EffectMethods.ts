import type { Effect } from "effect"
import { derive, type EndpointName, type EndpointOf, type GroupName, type Input, type Success } from "../Contract.js"
import type { ReinsClientError } from "../ReinsClientError.js"
import type { CallOptions, Transport } from "../Transport.js"

type Endpoint = EndpointOf<GroupName>

/** The method of an endpoint. Each time that its effect runs is a call of its own, with an idempotency key of its own. */
export type EffectMethod<E extends Endpoint> =
  Partial<Input<E>> extends Input<E>
    ? (input?: Input<E>, options?: CallOptions) => Effect.Effect<Success<E>, ReinsClientError>
    : (input: Input<E>, options?: CallOptions) => Effect.Effect<Success<E>, ReinsClientError>

/** Every endpoint of the API, by group. */
export type EffectMethods = {
  readonly [Group in GroupName]: {
    readonly [E in EndpointOf<Group> as EndpointName<E>]: EffectMethod<E>
  }
}

export const effectMethods = (transport: Transport): EffectMethods =>
  derive<EffectMethods>(
    (route) =>
      (input: object = {}, options?: CallOptions) =>
        transport.call(route, input, options)
  )
