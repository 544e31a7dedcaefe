import * as Follower from "@reins/core/events/Follower"
import { couriers } from "@reins/core/webhooks/Couriers"
import { DeliveryQueue } from "@reins/core/webhooks/DeliveryQueue"
import { WebhookStore } from "@reins/core/webhooks/WebhookStore"
import { Webhooks } from "@reins/core/webhooks/Webhooks"
import type { WebhookEndpointInput } from "@reins/core/webhooks/WebhooksApi"
import { Outbound } from "@reins/machine/outbound/Outbound"
import type { databases } from "@reins/testing/store/Databases"
import { Effect, Layer } from "effect"
import { Webhook } from "standardwebhooks"
import { events, newSession } from "../events/Sessions.js"
import { newReceiver, type Received } from "./Receiver.js"

/** The services of webhooks, which reach receivers on loopback. */
export const services = (database: (typeof databases)[number]["layer"]) =>
  Layer.mergeAll(Webhooks.layer, DeliveryQueue.layer).pipe(
    Layer.provideMerge(WebhookStore.layer),
    Layer.provideMerge(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })),
    Layer.provideMerge(events(database))
  )

/** Sends what was committed, as a process of a server does. */
export const sending = Follower.layerOf([couriers])

export const numbersTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

/** Somebody with a session, a receiver and an endpoint that leads there. */
export const newEndpoint = (input: Partial<WebhookEndpointInput> = {}) =>
  Effect.gen(function* () {
    const webhooks = yield* Webhooks
    const person = yield* newSession
    const receiver = yield* newReceiver
    const endpoint = yield* webhooks.create(person.principal, person.workspaceId, { url: receiver.url, ...input })
    return { ...person, receiver, endpoint, webhooks }
  })

/** Reads again and again until the value is as wanted. */
export const eventually = <A, E, R>(
  read: Effect.Effect<A, E, R>,
  isThere: (value: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.flatMap(read, (value) =>
    isThere(value)
      ? Effect.succeed(value)
      : Effect.delay(
          Effect.suspend(() => eventually(read, isThere)),
          "10 millis"
        )
  )

/** The message of a delivery, as the public library reads it. Throws for another secret. */
export const verified = (secret: string, { body, headers }: Received) =>
  new Webhook(secret).verify(body, {
    "webhook-id": String(headers["webhook-id"]),
    "webhook-timestamp": String(headers["webhook-timestamp"]),
    "webhook-signature": String(headers["webhook-signature"])
  })

/** The `seq` of what a session was sent, without what came again. */
export const firsts = (received: ReadonlyArray<Received>, sessionId: string): ReadonlyArray<number> => [
  ...new Set(received.filter((each) => each.sessionId === sessionId).map(({ seq }) => seq))
]
