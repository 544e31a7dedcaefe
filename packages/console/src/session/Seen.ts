import { useEffect } from "preact/hooks"
import { reins } from "../api/Server.js"
import { again, standings } from "../inbox/Workspace.js"

/** Tells the server that a person has seen a session up to an event, while the page is in sight and the session is new to the person. */
export const useSeen = (session_id: string, newest: number): void => {
  const isNew = standings.value?.find(({ item }) => item.session_id === session_id)?.item.unread === true
  useEffect(() => {
    if (!isNew || newest === 0) return undefined
    const tell = () => {
      if (document.visibilityState !== "visible") return
      // A mark that is lost is made by the next event, or by the next look.
      reins.sessions.markSeen({ session_id, seq: newest }).then(
        () => again(session_id),
        () => undefined
      )
    }
    tell()
    document.addEventListener("visibilitychange", tell)
    return () => document.removeEventListener("visibilitychange", tell)
  }, [session_id, newest, isNew])
}
