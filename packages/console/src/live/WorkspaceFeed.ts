import type { Event, Reins, Session } from "@reins/client"
import { foldStanding, newStanding, type Standing, standingTypes } from "../inbox/Standing.js"
import { brokenBy, pause } from "./Breaks.js"
import type { Feed, News } from "./Hub.js"

const pollMs = 2500
const sessionsOfPage = 50
/** Requests at a time, which leaves connections for the pages. */
const width = 2

/** The sessions of a workspace with where each of them stands, newest first. */
export class WorkspaceFeed implements Feed {
  private readonly standings = new Map<string, Standing>()
  private readonly readers = new Set<(news: News) => void>()
  private readonly closed = new AbortController()
  private wake = new AbortController()
  private wanted = sessionsOfPage
  private hasMore = false
  private isBroken = false
  private isWhole = false

  constructor(
    private readonly reins: Reins,
    private readonly workspace_id: string
  ) {
    void this.follow()
  }

  readonly add = (tell: (news: News) => void): (() => void) => {
    tell({ kind: "standings", standings: [...this.standings.values()], hasMore: this.hasMore, isWhole: this.isWhole })
    this.readers.add(tell)
    this.wake.abort()
    return () => void this.readers.delete(tell)
  }

  readonly mayStream = (): void => undefined
  readonly more = (): void => {
    this.wanted += sessionsOfPage
    this.wake.abort()
  }
  readonly isWatched = (): boolean => this.readers.size > 0
  readonly close = (): void => {
    this.closed.abort()
    this.wake.abort()
  }

  private tell(news: News): void {
    for (const reader of this.readers) reader(news)
  }

  private async follow(): Promise<void> {
    while (!this.closed.signal.aborted) {
      this.wake = new AbortController()
      try {
        if (this.isWatched()) await this.look()
      } catch (error) {
        this.isBroken = true
        this.tell(brokenBy(error))
      }
      await pause(pollMs, this.wake.signal)
    }
  }

  private async look(): Promise<void> {
    const sessions = await this.readSessions()
    const changed = sessions.filter((session) => {
      const known = this.standings.get(session.id)
      return known === undefined || known.session.version !== session.version || known.seq < session.event_watermark
    })
    const queue = [...changed]
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await this.refresh(next)
    }
    await Promise.all(Array.from({ length: width }, work))
    if (this.isBroken) this.tell({ kind: "healed" })
    this.isBroken = false
    this.isWhole = true
    this.tell({ kind: "standings", standings: [], hasMore: this.hasMore, isWhole: this.isWhole })
  }

  private async readSessions(): Promise<ReadonlyArray<Session>> {
    const { workspace_id } = this
    const all: Array<Session> = []
    let cursor: string | null | undefined
    while (cursor !== null && all.length < this.wanted) {
      const read = await this.reins.sessions.list({ workspace_id, limit: sessionsOfPage, ...(cursor && { cursor }) })
      all.push(...read.items)
      cursor = read.next_cursor
    }
    this.hasMore = cursor !== null
    return all
  }

  private async refresh(session: Session): Promise<void> {
    let standing = { ...(this.standings.get(session.id) ?? newStanding(session)), session }
    const events: Array<Event> = []
    const types = standingTypes.join(",")
    for (;;) {
      const read = await this.reins.sessions.listEvents({
        session_id: session.id,
        after: standing.seq,
        limit: 1000,
        types
      })
      events.push(...read.items)
      standing = {
        ...standing,
        seq: read.has_more ? read.next_after : Math.max(read.next_after, session.event_watermark)
      }
      if (!read.has_more) break
    }
    const folded = events.reduce(foldStanding, standing)
    this.standings.set(session.id, folded)
    this.tell({ kind: "standings", standings: [folded], hasMore: this.hasMore, isWhole: this.isWhole })
  }
}
