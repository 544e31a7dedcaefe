import type { Event, Reins, Session } from "@reins/client"
import { foldStanding, newStanding, type Standing, standingTypes } from "../inbox/Standing.js"
import { brokenBy, pause } from "./Breaks.js"
import type { Feed, News } from "./Hub.js"

const sessionsOfPage = 50
/** Requests at a time, which leaves connections for the pages. */
const width = 2
/** Events come in bursts, and the session itself is read once for all of them. */
const settleMs = 200
const retryMs = 2500

/** The sessions of a workspace with where each of them stands, newest first: read once, and then moved by the stream of the workspace. */
export class WorkspaceFeed implements Feed {
  private readonly standings = new Map<string, Standing>()
  private readonly readers = new Set<(news: News) => void>()
  private readonly moved = new Set<string>()
  private readonly closed = new AbortController()
  private settling: ReturnType<typeof setTimeout> | undefined
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
    tell(this.news([...this.standings.values()]))
    this.readers.add(tell)
    return () => void this.readers.delete(tell)
  }

  readonly more = (): void => {
    this.wanted += sessionsOfPage
    this.look().catch((error) => this.break(error))
  }
  readonly isWatched = (): boolean => this.readers.size > 0
  readonly close = (): void => {
    this.closed.abort()
    clearTimeout(this.settling)
  }

  private news(standings: ReadonlyArray<Standing>): News {
    return { kind: "standings", standings, hasMore: this.hasMore, isWhole: this.isWhole }
  }

  private tell(news: News): void {
    for (const reader of this.readers) reader(news)
  }

  private break(error: unknown): void {
    if (this.closed.signal.aborted) return
    this.isBroken = true
    this.tell(brokenBy(error))
  }

  private async follow(): Promise<void> {
    const { reins, workspace_id } = this
    const { signal } = this.closed
    const types = [...standingTypes, "session.*" as const]
    while (!signal.aborted) {
      try {
        // The stream brings the events after this position, and the sessions hold those before it.
        const { event_watermark: after } = await reins.workspaces.listEvents({ workspace_id, limit: 1 }, { signal })
        await this.look()
        for await (const { event } of reins.workspaces.stream({ workspace_id, after, types }, { signal }))
          this.take(event)
      } catch (error) {
        this.break(error)
      }
      await pause(retryMs, signal)
    }
  }

  private async look(): Promise<void> {
    const sessions = await this.readSessions()
    const queue = sessions.filter((session) => {
      const known = this.standings.get(session.id)
      return known === undefined || known.session.version !== session.version || known.seq < session.event_watermark
    })
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await this.refresh(next)
    }
    await Promise.all(Array.from({ length: width }, work))
    if (this.isBroken) this.tell({ kind: "healed" })
    this.isBroken = false
    this.isWhole = true
    this.tell(this.news([]))
  }

  private async readSessions(): Promise<ReadonlyArray<Session>> {
    const { workspace_id } = this
    const { signal } = this.closed
    const all: Array<Session> = []
    let cursor: string | null | undefined
    while (cursor !== null && all.length < this.wanted) {
      const query = { workspace_id, limit: sessionsOfPage, ...(cursor !== undefined && { cursor }) }
      const read = await this.reins.sessions.list(query, { signal })
      all.push(...read.items)
      cursor = read.next_cursor
    }
    this.hasMore = cursor !== null
    return all
  }

  /** Reads what the log of a session says of where it stands, behind what is known. */
  private async refresh(session: Session): Promise<void> {
    const { signal } = this.closed
    const known = this.standings.get(session.id)
    let standing = { ...(known ?? newStanding(session)), session }
    const types = standingTypes.join(",")
    for (let hasMore = true; hasMore; ) {
      const query = { session_id: session.id, after: standing.seq, limit: 1000, types }
      const read = await this.reins.sessions.listEvents(query, { signal })
      standing = { ...read.items.reduce(foldStanding, standing), seq: read.next_after }
      hasMore = read.has_more
    }
    this.put({ ...standing, seq: Math.max(standing.seq, session.event_watermark) })
  }

  private put(standing: Standing): void {
    const { session } = standing
    const known = this.standings.get(session.id)
    // The stream may have told more meanwhile.
    const kept = known !== undefined && known.seq > standing.seq ? { ...known, session } : standing
    this.standings.set(session.id, kept)
    this.tell(this.news([kept]))
  }

  private take(event: Event): void {
    const known = this.standings.get(event.session_id)
    if (known !== undefined && event.seq > known.seq) this.put({ ...foldStanding(known, event), seq: event.seq })
    this.moved.add(event.session_id)
    this.settling ??= setTimeout(() => {
      this.settling = undefined
      this.settle().catch((error) => this.break(error))
    }, settleMs)
  }

  /** Reads the sessions that have moved. */
  private async settle(): Promise<void> {
    const ids = [...this.moved]
    this.moved.clear()
    for (const session_id of ids) {
      const session = await this.reins.sessions.get({ session_id }, { signal: this.closed.signal })
      const known = this.standings.get(session.id)
      if (known === undefined) await this.refresh(session)
      else this.put({ ...known, session })
    }
  }
}
