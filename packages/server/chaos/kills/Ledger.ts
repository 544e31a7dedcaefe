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

/**
 * Carries the requests of clients to a server that is killed now and then: each is sent until it is answered, with the same
 * Idempotency-Key, and every mutation that was acknowledged is kept.
 */
export class Ledger {
  readonly entries: Array<Acknowledged> = []

  /** Stands in the place of the global fetch of a client. */
  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input)
    const method = init.method ?? "GET"
    if (method === "GET") return untilAnswered(url, init, async (response) => response)
    return untilAnswered(url, init, async (response) => {
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

  /** Sends acknowledged mutations again and says which were not answered as they were the first time. */
  async replay(baseUrl: string, entries: ReadonlyArray<Acknowledged>): Promise<ReadonlyArray<string>> {
    const wrong: Array<string> = []
    for (const { answer, body, headers, method, path, status } of entries) {
      const init = { method, headers, ...(body !== "" && { body }) }
      const again = await untilAnswered(new URL(path, baseUrl), init, async (response) => ({
        text: await response.text(),
        status: response.status,
        replayed: isReplayed(response)
      }))
      if (again.status !== status || again.text !== answer || !again.replayed)
        wrong.push(`${method} ${path}: ${status} ${answer} became ${JSON.stringify(again)}`)
    }
    return wrong
  }
}

const isReplayed = (response: Response): boolean => response.headers.get("idempotency-replayed") === "true"

/** Reads the first answer that says what came of the request. */
const untilAnswered = async <A>(url: URL, init: RequestInit, read: (response: Response) => Promise<A>): Promise<A> => {
  const until = Date.now() + patienceMs
  for (;;) {
    try {
      const response = await fetch(url, init)
      if (!(await isToBeRepeated(response))) return await read(response)
    } catch (error) {
      if (init.signal?.aborted === true || Date.now() > until) throw error
    }
    if (Date.now() > until) throw new Error(`${init.method ?? "GET"} ${url.pathname} was not answered`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The service is being stopped, or the first request with the key is still being answered. */
const isToBeRepeated = async (response: Response): Promise<boolean> => {
  if (response.status === 503) return true
  return response.status === 409 && (await response.clone().text()).includes('"idempotency_in_progress"')
}
