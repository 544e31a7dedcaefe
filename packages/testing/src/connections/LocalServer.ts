import http, { type IncomingMessage, type ServerResponse } from "node:http"
import { Effect } from "effect"
import { onLoopback } from "./Loopback.js"

/** The requests that a server was sent, in their order. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/** A server on loopback that lives until the scope closes, and the requests that it got. */
export const localServer = (answer: (asked: Asked, response: ServerResponse) => void) =>
  Effect.gen(function* () {
    const asked: Array<Asked> = []
    const port = yield* onLoopback(() =>
      http.createServer(async (request, response) => {
        const chunks: Array<Buffer> = []
        for await (const chunk of request) chunks.push(chunk)
        const question = {
          method: request.method ?? "",
          path: request.url ?? "",
          headers: request.headers,
          body: Buffer.concat(chunks).toString()
        }
        asked.push(question)
        answer(question, response)
      })
    )
    return { asked, port, url: `http://127.0.0.1:${port}` }
  })

/** Answers with JSON. */
export const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}
