import type { Reins } from "@reins/client"
import type { Caller } from "@reins/testing/process/Caller"
import { upTo } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert } from "vitest"

/** An answer as the client of a load balancer got it. */
interface Answer {
  readonly request: string
  readonly status: number
  readonly retryAfter: string | null
}

/** A balancer before the servers: it sends each request to one that takes connections, in turns. */
export class Balancer {
  readonly answers: Array<Answer> = []
  private next = 0

  /** The URLs of the servers, also of those that are down for now. */
  constructor(private readonly servers: ReadonlyArray<string>) {}

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const asked = new URL(input instanceof Request ? input.url : input)
    const request = `${init?.method ?? "GET"} ${asked.pathname}`
    for (let refused = 0; ; refused++) {
      const url = new URL(asked.pathname + asked.search, this.servers[this.next++ % this.servers.length])
      try {
        const answer = await fetch(url, init)
        this.answers.push({ request, status: answer.status, retryAfter: answer.headers.get("retry-after") })
        return answer
      } catch (error) {
        if (!isRefused(error) || refused > this.servers.length) throw error
      }
    }
  }

  /** The answers that no client should get while releases change: failures that do not say when to come back. */
  failures(): ReadonlyArray<Answer> {
    return this.answers.filter(({ retryAfter, status }) => status >= 500 && (status !== 503 || retryAfter === null))
  }
}

/** True when no process listens, so that nothing was sent. */
const isRefused = (error: unknown): boolean =>
  error instanceof TypeError &&
  typeof error.cause === "object" &&
  error.cause !== null &&
  "code" in error.cause &&
  error.cause.code === "ECONNREFUSED"

/** One session under load: a turn, a note, an upload and reads again and again, and a reader of its events. */
class Busy {
  readonly turns: Array<{ readonly id: string; readonly state: string }> = []
  readonly notes: Array<string> = []
  readonly seen: Array<number> = []
  private isOver = false
  private readonly reader = new AbortController()
  private readonly reading: Promise<unknown>
  private readonly working: Promise<unknown>

  constructor(
    private readonly client: Reins,
    readonly session_id: string
  ) {
    this.reading = this.read()
    this.working = this.work()
    // The end of the load tells of it.
    for (const part of [this.reading, this.working]) part.catch(() => {})
  }

  private async read() {
    const { reader, seen, session_id } = this
    for await (const { seq } of this.client.sessions.stream({ session_id }, { signal: reader.signal })) seen.push(seq)
  }

  private async work() {
    while (!this.isOver) await this.round(this.turns.length)
  }

  private async round(n: number) {
    const { client, session_id } = this
    const content = script(`Turn ${n}`, { tool: "bash", cmd: `sleep 1; echo ${n} >> turns.txt` }, { say: "Done." })
    const { turn_id = "" } = await client.messages.send({ session_id, content })
    const note = client.messages.send({ session_id, content: `note ${n}`, routing: "note" })
    this.notes.push((await note).message.id)
    const { state } = await client.turns.wait({ turn_id })
    this.turns.push({ id: turn_id, state })
    const path = `given-${n}.txt`
    await client.sessions.uploadFile({ session_id, path, content: `${n}`, encoding: "utf-8" })
    assert.strictEqual((await client.sessions.getFile({ session_id, path })).content, `${n}`)
    await client.sessions.getChanges({ session_id })
    await client.messages.list({ session_id })
  }

  /** Ends the load of the session, and waits until its reader has seen every event. */
  async end(): Promise<void> {
    this.isOver = true
    await this.working
    const { event_watermark } = await this.client.messages.send({
      session_id: this.session_id,
      content: "the end",
      routing: "note"
    })
    await eventually("the reader has seen the end", () => this.seen.includes(event_watermark))
    this.reader.abort()
    await this.reading.catch(() => {})
  }

  /** Checks that nothing was interrupted and nothing was lost. */
  async check(): Promise<void> {
    const { client, session_id } = this
    const states = new Set(this.turns.map(({ state }) => state))
    assert.deepStrictEqual([...states], ["succeeded"], JSON.stringify(this.turns))
    assert.deepStrictEqual(this.seen, upTo(this.seen.length), "the stream has lost or repeated an event")
    const { content } = await client.sessions.getFile({ session_id, path: "turns.txt" })
    assert.deepStrictEqual(
      content.trim().split("\n").map(Number),
      this.turns.map((_, n) => n)
    )
    const names = new Set((await client.sessions.listFiles({ session_id })).items.map(({ path }) => path))
    for (const n of this.turns.keys()) assert.isTrue(names.has(`given-${n}.txt`), `given-${n}.txt`)
    const kept = new Set<string>()
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await client.messages.list({ session_id, limit: 100, ...(cursor !== undefined && { cursor }) })
      for (const { id } of page.items) kept.add(id)
      cursor = page.next_cursor
    }
    for (const note of this.notes) assert.isTrue(kept.has(note), "a note is lost")
  }
}

/** A load on so many sessions of an installation, through a load balancer. */
export class Traffic {
  private constructor(
    readonly balancer: Balancer,
    private readonly sessions: ReadonlyArray<Busy>
  ) {}

  static async begin(caller: Caller, servers: ReadonlyArray<{ readonly url: string }>, sessions: number) {
    const balancer = new Balancer(servers.map(({ url }) => url))
    const client = caller.at({ url: servers[0]?.url ?? "" }, { fetch: balancer.fetch, maxRetries: 8 })
    const ids = await Promise.all(Array.from({ length: sessions }, () => caller.newSession(client)))
    return new Traffic(
      balancer,
      ids.map((id) => new Busy(client, id))
    )
  }

  /** The turns that have ended in each session. */
  turns(): ReadonlyArray<number> {
    return this.sessions.map(({ turns }) => turns.length)
  }

  async end(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.end()))
  }

  async check(): Promise<void> {
    assert.deepStrictEqual(this.balancer.failures(), [])
    await Promise.all(this.sessions.map((session) => session.check()))
  }
}
