import { type Event, type Reins, ReinsApiError } from "@reins/client"
import { brokenBy, pause } from "./Breaks.js"
import type { Feed, News } from "./Hub.js"

const page = 1000
const pollMs = 2000
/** The events that a reader gets at once. More would keep the page busy for too long. */
const batch = 2000

/** The events of a session from its first one on, as pages and then live. */
export class SessionFeed implements Feed {
  private readonly events: Array<Event> = []
  private readonly readers = new Set<(news: News) => void>()
  private readonly closed = new AbortController()
  private reading = new AbortController()
  private streams = false
  private caughtUp = false
  private isBroken = false
  private cursor = 0

  constructor(
    private readonly reins: Reins,
    private readonly session_id: string
  ) {
    void this.follow()
  }

  readonly add = (tell: (news: News) => void): (() => void) => {
    for (let at = 0; at < this.events.length; at += batch)
      tell({ kind: "events", events: this.events.slice(at, at + batch), caughtUp: false })
    tell({ kind: "events", events: [], caughtUp: this.caughtUp })
    this.readers.add(tell)
    return () => void this.readers.delete(tell)
  }

  readonly mayStream = (allowed: boolean): void => {
    if (this.streams === allowed) return
    this.streams = allowed
    this.reading.abort()
    this.reading = new AbortController()
  }

  readonly more = (): void => undefined
  readonly isWatched = (): boolean => this.readers.size > 0
  readonly close = (): void => {
    this.closed.abort()
    this.reading.abort()
  }

  private tell(news: News): void {
    for (const reader of this.readers) reader(news)
  }

  private take(events: ReadonlyArray<Event>, caughtUp: boolean): void {
    const fresh = events.filter(({ seq }) => seq > this.cursor)
    for (const event of fresh) this.events.push(event)
    this.cursor = fresh.at(-1)?.seq ?? this.cursor
    this.caughtUp ||= caughtUp
    if (this.isBroken) this.tell({ kind: "healed" })
    this.isBroken = false
    if (fresh.length > 0 || caughtUp) this.tell({ kind: "events", events: fresh, caughtUp: this.caughtUp })
  }

  private async follow(): Promise<void> {
    while (!this.closed.signal.aborted) {
      const { signal } = this.reading
      try {
        await this.readPages(signal)
        if (this.streams) await this.stream(signal)
        else await pause(pollMs, signal)
      } catch (error) {
        if (signal.aborted) continue
        if (error instanceof ReinsApiError && error.code === "history_reset_required") this.reset(error)
        this.isBroken = true
        this.tell(brokenBy(error))
        await pause(pollMs, signal)
      }
    }
  }

  /** The log holds the newest events only, so the reader begins where it does. */
  private reset({ details }: ReinsApiError): void {
    const after = Number(details["next_after"])
    if (!Number.isSafeInteger(after)) return
    this.cursor = after
    this.tell({ kind: "reset", after })
  }

  private async readPages(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { session_id } = this
      const read = await this.reins.sessions.listEvents({ session_id, after: this.cursor, limit: page }, { signal })
      this.take(read.items, !read.has_more)
      if (!read.has_more) return
    }
  }

  private async stream(signal: AbortSignal): Promise<void> {
    const { session_id } = this
    const input = {
      session_id,
      after: this.cursor,
      onDelta: (delta: MessageDeltaOf) => this.tell({ kind: "delta", delta })
    }
    for await (const event of this.reins.sessions.stream(input, { signal })) this.take([event], true)
  }
}

type MessageDeltaOf = Extract<News, { kind: "delta" }>["delta"]
