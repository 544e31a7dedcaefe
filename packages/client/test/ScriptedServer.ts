import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"

export interface Received {
  readonly method: string
  /** Path and query, as they came over the wire. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Answer = (response: ServerResponse, request: Received, ordinal: number) => void

/** A real server on the loopback interface whose answers are a script. */
export interface ScriptedServer extends AsyncDisposable {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** Resolves when so many requests have come. */
  readonly count: (requests: number) => Promise<void>
}

export const serve = async (answer: Answer): Promise<ScriptedServer> => {
  const received: Array<Received> = []
  const waiting: Array<{ readonly count: number; readonly resolve: () => void }> = []
  const server = createServer((incoming, response) => {
    const chunks: Array<Buffer> = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      const { headers, method = "", url = "" } = incoming
      const request = { method, url, headers, body: Buffer.concat(chunks).toString("utf8") }
      const ordinal = received.push(request) - 1
      for (const { count, resolve } of waiting) if (received.length >= count) resolve()
      answer(response, request, ordinal)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the server has no port")
  return {
    url: `http://127.0.0.1:${address.port}`,
    received,
    count: (count) =>
      new Promise((resolve) => (received.length >= count ? resolve() : waiting.push({ count, resolve }))),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

export const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {}
): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}

export const refuse = (
  response: ServerResponse,
  status: number,
  code: string,
  { retryable = false, headers = {} }: { readonly retryable?: boolean; readonly headers?: Record<string, string> } = {}
): void =>
  json(
    response,
    status,
    {
      error: {
        code,
        category: "state",
        message: `It is ${code}.`,
        retryable,
        details: { id: "x" },
        request_id: "req_1"
      }
    },
    headers
  )

export const openStream = (response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "text/event-stream" }).write("retry: 2000\n: watermark 0\n\n")
}

export const frame = (seq: number, type = "usage.observed", payload: unknown = {}): string =>
  `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, type, session_id: "sess_1", payload })}\n\n`
