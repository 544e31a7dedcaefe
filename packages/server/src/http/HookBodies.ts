import { clientNetwork } from "@reins/core/base/ClientNetwork"
import { limited } from "@reins/core/base/Limited"
import { ReinsError } from "@reins/core/domain/ReinsError"
import { Effect } from "effect"
import type { Exchange } from "./Exchange.js"
import { readBody, refusalOfLength, type TooLarge } from "./middleware/BodyLimit.js"
import { smallBytes } from "./middleware/BodyMemory.js"

/** The calls with larger bodies that are read at once, of all clients and of one. Nobody has proved anything yet. */
const mostAtOnce = 8
const mostOfOne = 2

/** The time that a body has to arrive. */
const patienceMs = 10_000

const reading = new Map<string, number>()

const count = (): number => [...reading.values()].reduce((sum, one) => sum + one, 0)

/**
 * The body of somebody whom nobody knows. Few larger ones are read at once, and not for long, so that they do not hold up the bodies of those who have an
 * account.
 */
export const readHookBody = (
  exchange: Exchange,
  limit: number
): Effect.Effect<Buffer, TooLarge | ReinsError<"rate_limited">> =>
  Effect.suspend(() => {
    const refusal = refusalOfLength(exchange, limit)
    if (refusal !== undefined) return Effect.fail(refusal)
    const read = limited(readBody(exchange, limit), (body) =>
      Effect.timeoutFail(body, { duration: patienceMs, onTimeout: () => refused(exchange) })
    )
    const length = exchange.header("content-length")
    if (length !== undefined && Number(length) <= smallBytes) return read
    const client = clientNetwork(exchange.clientAddress)
    const own = reading.get(client) ?? 0
    if (own >= mostOfOne || count() >= mostAtOnce) return Effect.fail(refused(exchange))
    reading.set(client, own + 1)
    const leave = Effect.sync(() => {
      const left = (reading.get(client) ?? 1) - 1
      if (left === 0) reading.delete(client)
      else reading.set(client, left)
    })
    return Effect.ensuring(read, leave)
  })

const refused = (exchange: Exchange) => {
  exchange.headers["connection"] = "close"
  return new ReinsError({
    code: "rate_limited",
    message: "Too many large bodies of hooks come in at once, or this one comes too slowly. Send it again.",
    details: { policy: "hook bodies", limit: mostOfOne, window_seconds: patienceMs / 1000 },
    retryAfterSeconds: 1
  })
}
