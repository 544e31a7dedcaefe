import type { Event, Interaction, Reins, WorkItem, WorkList } from "@reins/client"
import { type Standing, standingTypes } from "../inbox/Standing.js"
import { brokenBy, pause } from "./Breaks.js"
import type { Feed, News } from "./Hub.js"

const sessionsOfPage = 200
/** The newest sessions that are read at first, and with each wish for more. */
const sessionsOfStep = 500
/** The most waiting sessions that are shown. The server counts all. */
const mostWaiting = 1000
/** Sessions are asked for together, and so many fit into an address. */
const sessionsOfLook = 50
/** Requests at a time, which leaves connections for the pages. */
const width = 2
/** Events come in bursts, and the sessions are read once for all of them. */
const settleMs = 200
const retryMs = 2500

/** The sessions of a workspace as the server lists them: read once, and then whenever the stream of the workspace says that they have moved. */
export class WorkspaceFeed implements Feed {
  private readonly standings = new Map<string, Standing>()
  private readonly readers = new Set<(news: News) => void>()
  private readonly moved = new Set<string>()
  private readonly closed = new AbortController()
  private settling: ReturnType<typeof setTimeout> | undefined
  private wanted = sessionsOfStep
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
    this.wanted += sessionsOfStep
    this.look().catch((error) => this.break(error))
  }
  readonly again = (sessionId: string): void => this.move(sessionId)
  readonly isWatched = (): boolean => this.readers.size > 0
  readonly close = (): void => {
    this.closed.abort()
    clearTimeout(this.settling)
  }

  private news(standings: ReadonlyArray<Standing>, gone: ReadonlyArray<string> = []): News {
    return { kind: "standings", standings, gone, hasMore: this.hasMore, isWhole: this.isWhole }
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
    while (!signal.aborted) {
      try {
        // The stream brings the events after this position, and the list holds those before it.
        const after = await this.look()
        for await (const { event } of reins.workspaces.stream(
          { workspace_id, after, types: [...standingTypes] },
          { signal }
        ))
          this.take(event)
      } catch (error) {
        this.break(error)
      }
      await pause(retryMs, signal)
    }
  }

  /** Reads the list anew: the newest sessions, and what waits, however old it is. Gives the position up to which it is true. */
  private async look(): Promise<number> {
    const open = await this.read("open", this.wanted)
    const older = open.hasMore ? (await this.read("waiting", mostWaiting)).items : []
    this.hasMore = open.hasMore
    const items = new Map<string, WorkItem>([...older, ...open.items].map((item) => [item.session_id, item]))
    const gone = [...this.standings.keys()].filter((id) => !items.has(id))
    for (const id of gone) this.standings.delete(id)
    if (this.isBroken) this.heal()
    this.isWhole = true
    await this.put([...items.values()], gone)
    return open.watermark
  }

  private async read(view: "waiting" | "open", most: number) {
    const { workspace_id } = this
    const { signal } = this.closed
    const items: Array<WorkItem> = []
    let page: WorkList | undefined
    let watermark: number | undefined
    do {
      const cursor: string | null | undefined = page?.next_cursor
      const query = { workspace_id, view, limit: sessionsOfPage, ...(cursor && { cursor }) }
      page = await this.reins.workspaces.listWork(query, { signal })
      watermark ??= page.watermark
      items.push(...page.items)
    } while (page.next_cursor !== null && items.length < most)
    return { items, watermark, hasMore: page.next_cursor !== null }
  }

  /** Takes what the server says of some sessions. Their questions are read whole afterwards, because a list has their titles alone. */
  private async put(items: ReadonlyArray<WorkItem>, gone: ReadonlyArray<string> = []): Promise<void> {
    const asking: Array<WorkItem> = []
    const standings = items.filter(this.isNewer).map((item) => {
      const known = this.standings.get(item.session_id)?.interactions ?? []
      const wanted = new Set(item.questions.map(({ id }) => id))
      if (wanted.size > 0) asking.push(item)
      const standing = { item, interactions: known.filter(({ id }) => wanted.has(id)) }
      this.standings.set(item.session_id, standing)
      return standing
    })
    this.tell(this.news(standings, gone))
    const work = async () => {
      for (let next = asking.shift(); next !== undefined; next = asking.shift()) await this.ask(next)
    }
    await Promise.all(Array.from({ length: width }, work))
  }

  /** A page of the whole list may have been read before an event whose session was looked at meanwhile. */
  private readonly isNewer = ({ event_watermark, session_id }: WorkItem): boolean =>
    event_watermark >= (this.standings.get(session_id)?.item.event_watermark ?? 0)

  private async ask({ session_id }: WorkItem): Promise<void> {
    const { signal } = this.closed
    const query = { session_id, state: "pending" as const, limit: 50 }
    const interactions: ReadonlyArray<Interaction> = (await this.reins.interactions.list(query, { signal })).items
    const known = this.standings.get(session_id)
    if (known === undefined) return
    const standing = { ...known, interactions }
    this.standings.set(session_id, standing)
    this.tell(this.news([standing]))
  }

  private take({ session_id }: Event): void {
    this.move(session_id)
  }

  private move(sessionId: string): void {
    this.moved.add(sessionId)
    this.settling ??= setTimeout(() => {
      void this.settleAll()
    }, settleMs)
  }

  /** One look goes after the other, so that an older answer never comes last. Sessions that could not be read are read again. */
  private async settleAll(): Promise<void> {
    const ids = [...this.moved]
    this.moved.clear()
    try {
      await this.settle(ids)
      if (this.isBroken && this.isWhole) this.heal()
    } catch (error) {
      for (const id of ids) this.moved.add(id)
      this.break(error)
      await pause(retryMs, this.closed.signal)
    }
    this.settling = undefined
    const [next] = this.moved
    if (next !== undefined && !this.closed.signal.aborted) this.move(next)
  }

  private heal(): void {
    this.isBroken = false
    this.tell({ kind: "healed" })
  }

  /** Reads the sessions that have moved. One that is deleted, or now archived, is not shown any more. */
  private async settle(ids: ReadonlyArray<string>): Promise<void> {
    const { workspace_id } = this
    const { signal } = this.closed
    for (let from = 0; from < ids.length; from += sessionsOfLook) {
      const some = ids.slice(from, from + sessionsOfLook)
      const { items } = await this.reins.workspaces.listWork({ workspace_id, session_ids: some.join(",") }, { signal })
      const shown = items.filter(({ view }) => view !== "archived")
      const ofShown = new Set<string>(shown.map(({ session_id }) => session_id))
      const gone = some.filter((id) => !ofShown.has(id))
      for (const id of gone) this.standings.delete(id)
      await this.put(shown, gone)
    }
  }
}
