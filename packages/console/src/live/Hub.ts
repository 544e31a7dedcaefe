import { type Event, type MessageDelta, Reins } from "@reins/client"
import type { Standing } from "../inbox/Standing.js"
import { SessionFeed } from "./SessionFeed.js"
import { WorkspaceFeed } from "./WorkspaceFeed.js"

/** The requests of a page to the hub. A `watch` goes on until its `unwatch`; a `focus` says that a person looks at it now. */
export type Wish =
  | { readonly kind: "hello"; readonly serviceUrl: string; readonly account: string }
  | { readonly kind: "watch"; readonly key: string; readonly topic: Topic }
  | { readonly kind: "unwatch" | "focus" | "more"; readonly key: string }
  /** The page has changed something of a session that no event tells of. */
  | { readonly kind: "again"; readonly key: string; readonly session_id: string }

/** The subjects that can be followed. */
export type Topic =
  | { readonly of: "session"; readonly session_id: string }
  | { readonly of: "workspace"; readonly workspace_id: string }

/** The news of the hub. */
export type News =
  | { readonly kind: "events"; readonly events: ReadonlyArray<Event>; readonly caughtUp: boolean }
  | { readonly kind: "delta"; readonly delta: MessageDelta }
  | {
      readonly kind: "standings"
      readonly standings: ReadonlyArray<Standing>
      /** The sessions that are in the list no more. */
      readonly gone: ReadonlyArray<string>
      readonly hasMore: boolean
      readonly isWhole: boolean
    }
  /** The log was cut off before this `seq`, so that what was told before is not whole. */
  | { readonly kind: "reset"; readonly after: number }
  | {
      readonly kind: "broken"
      readonly message: string
      readonly code: string | null
      readonly requestId: string | null
    }
  | { readonly kind: "healed" }
  /** False when the server does not answer, and true when it does again. */
  | { readonly kind: "reach"; readonly isReached: boolean }
  /** Another account has logged in, in another tab. */
  | { readonly kind: "left" }

/** News with the key of the wish that they answer. */
export type Told = News & { readonly key: string }

/** Something that is followed once for all who want to see it. */
export interface Feed {
  readonly add: (tell: (news: News) => void) => () => void
  /** True lets it hold a connection of its own; false makes it ask now and then. Absent for one that always holds one. */
  readonly mayStream?: (allowed: boolean) => void
  readonly more: () => void
  /** Reads a session again. Absent for what is no list of them. */
  readonly again?: (sessionId: string) => void
  readonly isWatched: () => boolean
  readonly close: () => void
}

/** A browser opens six connections to a host over HTTP/1.1, for all its tabs together. One is for the workspace, and sessions may take two. */
const mostStreams = 2
/** A feed that nobody watches is kept for a moment, because people go back. */
const keptMs = 20_000

/** Follows sessions and workspaces for all pages of a browser: each is followed once, and only so many by a connection that stays open. */
export class Hub {
  private readonly feeds = new Map<string, Feed>()
  /** The feeds, the one that was looked at last at the end. */
  private order: Array<string> = []
  private reins: Reins | undefined
  private account = ""
  private isReached = true
  private readonly pages = new Set<(told: Told) => void>()

  /** Attaches a page. The function takes what it wishes. */
  readonly attach = (
    tell: (told: Told) => void
  ): { readonly wish: (wish: Wish) => void; readonly close: () => void } => {
    const watched = new Map<string, { readonly id: string; readonly stop: () => void }>()
    const stop = (key: string) => {
      const each = watched.get(key)
      if (each === undefined) return
      watched.delete(key)
      each.stop()
      setTimeout(() => this.sweep(each.id), keptMs)
    }
    this.pages.add(tell)
    return {
      wish: (wish) => {
        if (wish.kind === "hello") this.greet(wish.serviceUrl, wish.account, tell)
        else if (wish.kind === "unwatch") stop(wish.key)
        else if (wish.kind === "watch") {
          stop(wish.key)
          const [id, feed] = this.feedOf(wish.topic)
          watched.set(wish.key, { id, stop: feed.add((news) => tell({ ...news, key: wish.key })) })
          this.look(id)
        } else {
          const id = watched.get(wish.key)?.id
          if (id === undefined) return
          if (wish.kind === "more") this.feeds.get(id)?.more()
          else if (wish.kind === "again") this.feeds.get(id)?.again?.(wish.session_id)
          else this.look(id)
        }
      },
      close: () => {
        this.pages.delete(tell)
        for (const key of [...watched.keys()]) stop(key)
      }
    }
  }

  /** Another account sees nothing of what was read for the one before. */
  private greet(serviceUrl: string, account: string, greeting: (told: Told) => void): void {
    this.reins ??= this.clientOf(serviceUrl)
    if (account === this.account) return
    if (this.account !== "") for (const tell of this.pages) if (tell !== greeting) tell({ kind: "left", key: "" })
    this.account = account
    for (const feed of this.feeds.values()) feed.close()
    this.feeds.clear()
    this.order = []
  }

  /** The hub only reads, for which the cookie of the login is enough. Streams connect again by themselves, and here it is seen that they have to. */
  private clientOf(baseUrl: string): Reins {
    return new Reins({
      baseUrl,
      fetch: async (input, init) => {
        try {
          const response = await fetch(input, { ...init, credentials: "same-origin" })
          this.reached(response.status < 502)
          return response
        } catch (error) {
          if (init?.signal?.aborted !== true) this.reached(false)
          throw error
        }
      }
    })
  }

  private reached(isReached: boolean): void {
    if (this.isReached === isReached) return
    this.isReached = isReached
    for (const tell of this.pages) tell({ kind: "reach", isReached, key: "" })
  }

  private feedOf(topic: Topic): readonly [string, Feed] {
    const id = topic.of === "session" ? topic.session_id : topic.workspace_id
    const known = this.feeds.get(id)
    if (known !== undefined) return [id, known]
    if (this.reins === undefined) throw new Error("A page says hello before it wishes anything")
    const feed =
      topic.of === "session"
        ? new SessionFeed(this.reins, topic.session_id)
        : new WorkspaceFeed(this.reins, topic.workspace_id)
    this.feeds.set(id, feed)
    return [id, feed]
  }

  /** The feed that is looked at comes last, and those at the end may stream. */
  private look(id: string): void {
    this.order = [...this.order.filter((each) => each !== id), id]
    this.share()
  }

  private share(): void {
    const asking = this.order.filter((id) => {
      const feed = this.feeds.get(id)
      return feed?.mayStream !== undefined && feed.isWatched()
    })
    const streaming = asking.slice(-mostStreams)
    for (const [id, feed] of this.feeds) feed.mayStream?.(streaming.includes(id))
  }

  private sweep(id: string): void {
    const feed = this.feeds.get(id)
    if (feed === undefined || feed.isWatched()) return
    feed.close()
    this.feeds.delete(id)
    this.order = this.order.filter((each) => each !== id)
    this.share()
  }
}
