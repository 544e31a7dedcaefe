import http from "node:http"
import { Effect } from "effect"
import { onLoopback } from "../connections/Loopback.js"
import type { Answer, Change } from "./Answer.js"
import { type Sent, writeAnswer } from "./Between.js"

/** A counterpart that has one answer for each request, which goes through a change. */
export interface Speaker {
  readonly url: string
  /** The requests so far. */
  readonly asked: Array<Sent>
  /** The change that answers go through from now on. Undefined for none. */
  change: Change | undefined
}

/** The kind of an answer in JSON. */
export const inJson = { status: 200, headers: { "content-type": "application/json" } } as const

/** Opens a counterpart on loopback until the scope closes. `picks` says which answers are changed; all of them unless it is given. */
export const openSpeaker = (says: (sent: Sent) => Answer, picks: (sent: Sent) => boolean = () => true) =>
  Effect.gen(function* () {
    const state: { asked: Array<Sent>; change: Change | undefined } = { asked: [], change: undefined }
    const port = yield* onLoopback(() =>
      http.createServer(async (request, response) => {
        try {
          const chunks: Array<Buffer> = []
          for await (const chunk of request) chunks.push(chunk)
          const sent = {
            method: request.method ?? "",
            path: request.url ?? "",
            body: Buffer.concat(chunks).toString("utf8")
          }
          state.asked.push(sent)
          const plain = says(sent)
          await writeAnswer(response, picks(sent) ? (state.change?.apply(plain) ?? plain) : plain)
        } catch {
          response.destroy()
        }
      })
    )
    return Object.assign(state, { url: `http://127.0.0.1:${port}` }) satisfies Speaker
  })
