import http, { type IncomingMessage, type ServerResponse } from "node:http"
import { Effect } from "effect"
import { onLoopback } from "../connections/Loopback.js"
import type { Answer, Change } from "./Answer.js"

/** A proxy between the product and a counterpart of its tests. All that is not picked goes through as it is. */
export interface Between {
  readonly url: string
  readonly port: number
  /** The change that picked answers go through from now on. Undefined for none. */
  change: Change | undefined
  /** The answers that were picked, and so went through the change if there is one. */
  picked: number
  /** The error of a change that could not be applied. */
  fault: unknown
}

/** A request as the product sent it. */
export interface Sent {
  readonly method: string
  readonly path: string
  readonly body: string
}

const aside = new Set(["connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"])

const kept = (headers: IncomingMessage["headers"]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      aside.has(name) || value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]]
    )
  )

const bytesOf = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Writes an answer as it is to come: late, in halves, or broken off. */
export const writeAnswer = async (response: ServerResponse, answer: Answer): Promise<void> => {
  const bytes = Buffer.from(answer.text)
  const half = Math.floor(bytes.length / 2)
  if (answer.delayMs !== undefined) await pause(answer.delayMs)
  if (answer.cut !== undefined) {
    response.writeHead(answer.status, { ...answer.headers, "content-length": bytes.length })
    response.write(bytes.subarray(0, Math.floor(bytes.length * answer.cut)), () => response.destroy())
    return
  }
  response.writeHead(answer.status, answer.headers)
  if (answer.pauseMs === undefined) {
    response.end(bytes)
    return
  }
  response.write(bytes.subarray(0, half))
  await pause(answer.pauseMs)
  response.end(bytes.subarray(half))
}

/** Opens a proxy before a server on loopback, until the scope closes. `picks` says which answers are changed, by their request. */
export const openBetween = (upstream: string, picks: (sent: Sent) => boolean) =>
  Effect.gen(function* () {
    const to = new URL(upstream)
    const state: { change: Change | undefined; picked: number; fault: unknown } = {
      change: undefined,
      picked: 0,
      fault: undefined
    }
    const changed = (answer: Answer): Answer => {
      state.picked += 1
      try {
        return state.change?.apply(answer) ?? answer
      } catch (fault) {
        state.fault = fault
        return answer
      }
    }
    const serve = async (request: IncomingMessage, response: ServerResponse) => {
      const { headers, method = "GET", url: path = "" } = request
      const body = await bytesOf(request)
      const isPicked = picks({ method, path, body: body.toString("utf8") })
      const options = {
        host: to.hostname,
        port: to.port,
        method,
        path,
        headers: { ...headers, "accept-encoding": "identity" }
      }
      const passed = http.request(options, (answer) => {
        const status = answer.statusCode ?? 502
        if (!isPicked) {
          response.writeHead(status, answer.headers)
          answer.pipe(response)
          return
        }
        bytesOf(answer)
          .then((bytes) =>
            writeAnswer(response, changed({ status, headers: kept(answer.headers), text: bytes.toString("utf8") }))
          )
          .catch(() => response.destroy())
      })
      passed.on("error", () => response.destroy())
      response.on("close", () => passed.destroy())
      passed.end(body)
    }
    const port = yield* onLoopback(() =>
      http.createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
    )
    return Object.assign(state, { url: `http://127.0.0.1:${port}`, port }) satisfies Between
  })
