import { type Signal, signal } from "@preact/signals"
import type { Event } from "@reins/client"
import { useEffect, useMemo } from "preact/hooks"
import { type Failure, failureToldBy } from "../api/Failure.js"
import { me } from "../api/Server.js"
import { watch } from "../live/Live.js"
import { Conversation } from "./Conversation.js"

/** The events of a session and what they tell, live. */
export interface SessionLog {
  readonly events: ReadonlyArray<Event>
  readonly conversation: Conversation
  /** Moves whenever something has come. Who shows the log reads it. */
  readonly revision: Signal<number>
  /** True once all that there was has come. */
  readonly isWhole: Signal<boolean>
  /** The `seq` before which the log was deleted; 0 for a whole log. */
  readonly begins: Signal<number>
  readonly failure: Signal<Failure | undefined>
}

/** Follows a session while the component is there. */
export const useSessionLog = (session_id: string): SessionLog => {
  const log = useMemo(() => {
    const events: Array<Event> = []
    return {
      events,
      conversation: new Conversation(),
      revision: signal(0),
      isWhole: signal(false),
      begins: signal(0),
      failure: signal<Failure | undefined>(undefined)
    }
  }, [session_id])
  useEffect(() => follow(session_id, log), [session_id, log])
  return log
}

const follow = (session_id: string, log: SessionLog & { readonly events: Array<Event> }): (() => void) => {
  let frame = 0
  // Many events come at once, and the page is painted once for all of them.
  const show = () => {
    if (frame !== 0) return
    frame = requestAnimationFrame(() => {
      frame = 0
      log.revision.value++
    })
  }
  const { stop } = watch({ of: "session", session_id }, (news) => {
    switch (news.kind) {
      case "events":
        for (const event of news.events) {
          log.events.push(event)
          log.conversation.take(event)
        }
        if (news.caughtUp) log.isWhole.value = true
        return show()
      case "delta":
        log.conversation.say(news.delta)
        return show()
      case "reset":
        log.begins.value = news.after
        return
      case "broken":
        if (news.code === "unauthenticated") me.value = null
        log.failure.value = failureToldBy(news)
        return
      case "healed":
        log.failure.value = undefined
    }
  })
  return () => {
    stop()
    cancelAnimationFrame(frame)
  }
}
