import { signal } from "@preact/signals"
import { me, serviceUrl } from "../api/Server.js"
import { Hub, type News, type Told, type Topic, type Wish } from "./Hub.js"

interface Line {
  readonly wish: (wish: Wish) => void
  readonly bye: () => void
}

/** False while the server does not answer. */
export const isReached = signal(true)

const listeners = new Map<string, (news: News) => void>()

const hear = ({ key, ...news }: Told): void => {
  if (news.kind === "left") location.reload()
  else if (news.kind === "reach") isReached.value = news.isReached
  else listeners.get(key)?.(news as News)
}

/** Through the worker that all tabs share; where a browser has none, by a hub of this page. */
const connect = (): Line => {
  const port = sharedPort()
  if (port === undefined) {
    const { close, wish } = new Hub().attach(hear)
    return { wish, bye: close }
  }
  port.onmessage = ({ data }) => hear(data)
  return { wish: (wish) => port.postMessage(wish), bye: () => port.postMessage("bye") }
}

/** Undefined where a browser has no such workers, or refuses them to a page whose cookies it refuses. */
const sharedPort = (): MessagePort | undefined => {
  if (typeof SharedWorker === "undefined") return undefined
  try {
    return new SharedWorker(new URL("./Worker.ts", import.meta.url), { type: "module", name: "reins" }).port
  } catch {
    return undefined
  }
}

let line: Line | undefined
/** The way to the hub, which knows whose page this is. */
const lineOf = (): Line => {
  line ??= connect()
  line.wish({ kind: "hello", serviceUrl, account: me.peek()?.account.id ?? "" })
  return line
}

addEventListener("pagehide", () => {
  line?.bye()
  line = undefined
})
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload()
})

let last = 0

/** Follows a topic until the function is called that it gives. What is told comes in order, beginning with what is known already. */
export const watch = (
  topic: Topic,
  hearing: (news: News) => void
): { readonly stop: () => void; readonly more: () => void; readonly again: (sessionId: string) => void } => {
  const key = `${++last}`
  const { wish } = lineOf()
  listeners.set(key, hearing)
  wish({ kind: "watch", key, topic })
  const look = () => {
    if (document.visibilityState === "visible") wish({ kind: "focus", key })
  }
  document.addEventListener("visibilitychange", look)
  addEventListener("focus", look)
  return {
    more: () => wish({ kind: "more", key }),
    again: (session_id) => wish({ kind: "again", key, session_id }),
    stop: () => {
      listeners.delete(key)
      document.removeEventListener("visibilitychange", look)
      removeEventListener("focus", look)
      wish({ kind: "unwatch", key })
    }
  }
}
