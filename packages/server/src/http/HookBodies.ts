import { clientNetwork } from "@reins/base/base/ClientNetwork"
import { limited } from "@reins/base/base/Limited"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { announcesBody } from "./BodyType.js"
import type { Exchange } from "./Exchange.js"
import { HookPlaces } from "./HookPlaces.js"
import { readBody, refusalOfLength, type TooLarge } from "./middleware/BodyLimit.js"
import { smallBytes } from "./middleware/BodyMemory.js"

/** The time that a body has to arrive. */
const arrivalMs = 10_000

const places = new HookPlaces()

/** The refusals of a body that does not come, or has no place. */
export type BodyRefused = TooLarge | ReinsError<"request_timeout" | "waiting_capacity">

/** The body of a call, of whose caller nobody knows anything yet. */
interface Incoming<E> {
  readonly exchange: Exchange
  readonly limit: number
  /** The time that it may wait for its place. */
  readonly patienceMs: number
  /** True where its hook is there. A body for a hook that there is not is read, and forgotten. */
  readonly isKnown: Effect.Effect<boolean, E>
}

/** Does something with the body of a call. A larger one waits for its place first, and holds it until its work is done. */
export const withHookBody = <A, E, E2>(
  { exchange, isKnown, limit, patienceMs }: Incoming<E2>,
  use: (body: Buffer) => Effect.Effect<A, E>
): Effect.Effect<A, E | E2 | BodyRefused> =>
  Effect.suspend(() => {
    if (!announcesBody(exchange)) return use(Buffer.alloc(0))
    const refusal = refusalOfLength(exchange, limit)
    if (refusal !== undefined) return Effect.fail(refusal)
    const read = (isKept: boolean) => Effect.flatMap(arrived(exchange, readBody(exchange, limit, isKept)), use)
    const length = exchange.header("content-length")
    const bytes = length === undefined ? limit : Number(length)
    if (bytes <= smallBytes) return read(true)
    const network = clientNetwork(exchange.clientAddress)
    return Effect.flatMap(isKnown, (known) =>
      known ? closing(exchange, places.hold({ network, bytes, patienceMs }, read(true))) : read(false)
    )
  })

const arrived = <A, E>(exchange: Exchange, body: Effect.Effect<A, E>) =>
  limited(body, (body) => Effect.timeoutFail(body, { duration: arrivalMs, onTimeout: () => tooSlow })).pipe((read) =>
    closing(exchange, read)
  )

/** Closes the connection after a failure, because a rest of the body stays unread. */
const closing = <A, E>(exchange: Exchange, read: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.tapError(read, () =>
    Effect.sync(() => {
      exchange.headers["connection"] = "close"
    })
  )

const tooSlow = new ReinsError({
  code: "request_timeout",
  message: `The body did not come within ${arrivalMs / 1000} seconds. Send it again.`
})
