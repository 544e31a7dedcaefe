import type { ServerResponse } from "node:http"
import { type Asked, localServer } from "@reins/testing/connections/LocalServer"
import { Effect } from "effect"

/** A delivery as it arrived. */
export interface Received extends Asked {
  readonly id: string
  readonly sessionId: string
  readonly seq: number
  readonly type: string
}

/** A receiver of webhooks on loopback. `answer` may be replaced at any time; it is told how often the same delivery has come before. */
export const newReceiver = Effect.gen(function* () {
  const received: Array<Received> = []
  const waiting = new Set<() => void>()
  const receiver = {
    received,
    answer: (response: ServerResponse, _: Received, __: number): unknown => response.writeHead(204).end(),
    url: "",
    /** Waits until as many deliveries have arrived as the condition wants. */
    until: (isThere: (received: ReadonlyArray<Received>) => boolean) =>
      Effect.async<void>((resume) => {
        const look = () => {
          if (!isThere(received)) return
          waiting.delete(look)
          resume(Effect.void)
        }
        waiting.add(look)
        look()
        return Effect.sync(() => waiting.delete(look))
      })
  }
  const { url } = yield* localServer((asked, response) => {
    const body = JSON.parse(asked.body)
    const delivery = {
      ...asked,
      id: String(asked.headers["webhook-id"]),
      sessionId: body.data.session_id ?? "",
      seq: body.data.seq ?? 0,
      type: body.type
    }
    const before = received.filter(({ id }) => id === delivery.id).length
    received.push(delivery)
    receiver.answer(response, delivery, before)
    for (const look of waiting) look()
  })
  receiver.url = `${url}/hook?token=x`
  return receiver
})
