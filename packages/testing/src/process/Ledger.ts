import { setMaxListeners } from "node:events"
/** A mutation that was acknowledged: what was sent, and the answer byte for byte. */
export interface Acknowledged {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly status: number
  readonly answer: string
  /** The answer was given before, to a request that did not live to see it. */
  readonly replayed: boolean
}

/** These keep no answer under their key. */
const unkept = /\/(?:waits|login|logout)$/

/** The time that a request may wait for a server that is being restarted. */
const patienceMs = 120_000

/** The ways to an installation that has more than one server. */
export interface Ways {
  /** The URLs of the servers. A request that is not answered goes to the next one. */
  readonly urls: ReadonlyArray<string>
  /** The time that one try may take, in milliseconds. */
  readonly tryMs: number
}

/**
 * Carries the requests of clients to a server that is killed now and then, or to several of which some may not answer: each is sent until it is
 * answered, with the same Idempotency-Key, and every mutation that was acknowledged is kept.
 */
export class Ledger {
  readonly entries: Array<Acknowledged> = []

  constructor(private readonly ways?: Ways) {}

  /** Stands in the place of the global fetch of a client. */
  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input)
    const method = init.method ?? "GET"
    if (method === "GET") return this.untilAnswered(url, init, async (response) => response)
    return this.untilAnswered(url, init, async (response) => {
      const answer = await response.text()
      const { headers, status } = response
      if (response.ok && !unkept.test(url.pathname)) {
        this.entries.push({
          method,
          path: `${url.pathname}${url.search}`,
          headers: Object.fromEntries(new Headers(init.headers)),
          body: typeof init.body === "string" ? init.body : "",
          status,
          answer,
          replayed: isReplayed(response)
        })
      }
      return new Response(answer === "" ? null : answer, { status, headers })
    })
  }

  /** Forgets the mutations that tell of something that is deleted: nobody gets their answers again. */
  forget(id: string): void {
    const kept = this.entries.filter(({ answer, path }) => !answer.includes(id) && !path.includes(id))
    this.entries.splice(0, this.entries.length, ...kept)
  }

  /** Sends acknowledged mutations again and says which were not answered as they were the first time. */
  async replay(baseUrl: string, entries: ReadonlyArray<Acknowledged>): Promise<ReadonlyArray<string>> {
    const wrong: Array<string> = []
    for (const { answer, body, headers, method, path, status } of entries) {
      const init = { method, headers, ...(body !== "" && { body }) }
      const again = await this.untilAnswered(new URL(path, baseUrl), init, async (response) => ({
        text: await response.text(),
        status: response.status,
        replayed: isReplayed(response)
      }))
      if (again.status !== status || again.text !== answer || !again.replayed)
        wrong.push(`${method} ${path}: ${status} ${answer} became ${JSON.stringify(again)}`)
    }
    return wrong
  }

  /** Reads the first answer that says what came of the request. */
  private async untilAnswered<A>(url: URL, init: RequestInit, read: (response: Response) => Promise<A>): Promise<A> {
    const until = Date.now() + patienceMs
    for (let tries = 0; ; tries++) {
      try {
        const response = await this.send(url, init, tries)
        if (!(await isToBeRepeated(response))) return await read(response)
      } catch (error) {
        if (init.signal?.aborted === true || Date.now() > until) throw error
      }
      if (Date.now() > until) throw new Error(`${init.method ?? "GET"} ${url.pathname} was not answered`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  private send(url: URL, init: RequestInit, tries: number): Promise<Response> {
    if (this.ways === undefined) return fetch(url, init)
    const { tryMs, urls } = this.ways
    const first = urls.findIndex((each) => url.href.startsWith(each))
    const way = urls[(Math.max(0, first) + tries) % urls.length] ?? url.origin
    // Node forgets the sources of AbortSignal.any while they are waited for, so that a request to a server that stands still would never end.
    const limit = new AbortController()
    const end = () => limit.abort()
    setTimeout(end, tryMs).unref()
    if (init.signal) {
      // One signal ends all requests of a client.
      setMaxListeners(0, init.signal)
      init.signal.addEventListener("abort", end, { once: true, signal: limit.signal })
    }
    return fetch(new URL(`${url.pathname}${url.search}`, way), { ...init, signal: limit.signal })
  }
}

const isReplayed = (response: Response): boolean => response.headers.get("idempotency-replayed") === "true"

/** The service is being stopped, or the first request with the key is still being answered. */
const isToBeRepeated = async (response: Response): Promise<boolean> => {
  if (response.status === 503) return true
  return response.status === 409 && (await response.clone().text()).includes('"idempotency_in_progress"')
}
