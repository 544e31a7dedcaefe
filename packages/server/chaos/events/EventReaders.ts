import { get, type IncomingMessage } from "node:http"
import { Reins, ReinsConnectionError } from "@reins/client"
import { type Block, blockReader } from "@reins/testing/process/Blocks"

/** Where the events of a session are read, and by whom. */
export interface Source {
  readonly baseUrl: string
  readonly apiKey: string
  readonly sessionId: string
}

export interface StreamRequest {
  /** The path of another stream than that of the session. */
  readonly path?: string
  /** Without a question mark. */
  readonly query?: string
  readonly lastEventId?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Answers false to drop the connection. */
  readonly onBlock: (block: Block) => boolean
  readonly onResponse?: (response: IncomingMessage) => void
  /** Drops the connection so long after its answer has begun. */
  readonly lifetimeMs?: number
}

/**
 * Reads one connection until it ends, however that comes about, and tells whether there was an answer at all. Fails when the server
 * refuses.
 */
export const readStream = (source: Source, request: StreamRequest): Promise<boolean> =>
  new Promise((resolve, reject) => {
    let answered = false
    let cut: NodeJS.Timeout | undefined
    const path = request.path ?? `/api/sessions/${source.sessionId}/events`
    const url = `${source.baseUrl}${path}?${request.query ?? ""}`
    const headers = {
      accept: "text/event-stream",
      authorization: `Bearer ${source.apiKey}`,
      ...(request.lastEventId !== undefined && { "last-event-id": String(request.lastEventId) }),
      ...request.headers
    }
    const sent = get(url, { headers, agent: false }, (response) => {
      // A proxy says this while its server is not there.
      if (response.statusCode === 502) return sent.destroy()
      answered = true
      if (request.lifetimeMs !== undefined) cut = setTimeout(() => sent.destroy(), request.lifetimeMs)
      request.onResponse?.(response)
      response.setEncoding("utf8")
      if (response.statusCode !== 200) {
        response.once("data", (body) => reject(new Error(`${response.statusCode} for ${url}: ${body}`)))
        return
      }
      const blocksOf = blockReader()
      response.on("data", (chunk: string) => {
        for (const block of blocksOf(chunk)) if (!request.onBlock(block)) return sent.destroy()
      })
      response.on("error", () => {})
    })
    sent.on("error", () => {})
    sent.on("close", () => {
      clearTimeout(cut)
      resolve(answered)
    })
  })

/** Follows a session up to `goal` with connections that are cut again and again, and gives back each `seq` that it was given. */
export type Follow = (source: Source, goal: number) => Promise<ReadonlyArray<number>>

/** The lifetime of a connection: a tenth of a second to two. */
export const lifetime = (): number => 100 + Math.floor(Math.random() * 1900)

/** Until a server is back that was killed. */
export const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50))

/** By server-sent events and `Last-Event-ID`, as a browser does. `types` narrows them. */
export const bySse =
  (types?: string): Follow =>
  async (source, goal) => {
    const seen: Array<number> = []
    let cursor = 0
    while (cursor < goal) {
      const answered = await readStream(source, {
        lastEventId: cursor,
        lifetimeMs: lifetime(),
        ...(types !== undefined && { query: `types=${types}` }),
        onBlock: ({ data, id }) => {
          if (id === undefined) return true
          cursor = Number(id)
          if (data === undefined) return cursor < goal
          if (JSON.parse(data).seq !== cursor) throw new Error(`${id} is the id of ${data}`)
          seen.push(cursor)
          return cursor < goal
        }
      })
      if (!answered) await pause()
    }
    return seen
  }

/** A `fetch` whose answers break off. */
export const cutting: typeof fetch = async (input, init) => {
  const connection = new AbortController()
  const response = await fetch(input, {
    ...init,
    signal: init?.signal ? AbortSignal.any([init.signal, connection.signal]) : connection.signal
  })
  setTimeout(() => connection.abort(), lifetime()).unref()
  return response
}

/** By pages of the log, of any size. */
export const byPages: Follow = async ({ apiKey, baseUrl, sessionId }, goal) => {
  const reins = new Reins({ baseUrl, apiKey, fetch: cutting, maxRetries: 0 })
  const seen: Array<number> = []
  let cursor = 0
  while (cursor < goal) {
    try {
      const limit = 1 + Math.floor(Math.random() * 1000)
      const page = await reins.sessions.listEvents({ session_id: sessionId, after: cursor, limit })
      seen.push(...page.items.map(({ seq }) => seq))
      cursor = page.next_after
      if (!page.has_more) await pause()
    } catch (error) {
      if (!(error instanceof ReinsConnectionError)) throw error
      await pause()
    }
  }
  return seen
}

/** By the product's client, which reconnects by itself. */
export const byClient: Follow = async ({ apiKey, baseUrl, sessionId }, goal) => {
  const reins = new Reins({ baseUrl, apiKey, fetch: cutting, maxRetries: 20 })
  const seen: Array<number> = []
  for await (const { seq } of reins.sessions.stream({ session_id: sessionId })) {
    seen.push(seq)
    if (seq >= goal) break
  }
  return seen
}
