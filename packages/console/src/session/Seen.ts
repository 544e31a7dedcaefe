import { useEffect, useRef } from "preact/hooks"
import { reins } from "../api/Server.js"
import { again, standings } from "../inbox/Workspace.js"

/** Tells the server up to which event a person has seen a session. It does so while the page is in sight and the session is new to the person. */
export const useSeen = (session_id: string, newest: number): void => {
  const isNew = standings.value?.find(({ item }) => item.session_id === session_id)?.item.unread === true
  const now = useRef({ isNew, newest })
  now.current = { isNew, newest }
  const isTelling = useRef(false)
  useEffect(() => {
    const tell = async () => {
      // Words come many times a second, and one mark is enough for all of them.
      if (isTelling.current) return
      isTelling.current = true
      try {
        for (let told = 0; isDue(now.current, told); ) {
          told = now.current.newest
          await reins.sessions.markSeen({ session_id, seq: told })
          again(session_id)
        }
      } catch {
        // A mark that is lost is made by the next event, or by the next look.
      } finally {
        isTelling.current = false
      }
    }
    void tell()
    const look = () => void tell()
    document.addEventListener("visibilitychange", look)
    return () => document.removeEventListener("visibilitychange", look)
  }, [session_id, newest, isNew])
}

const isDue = ({ isNew, newest }: { readonly isNew: boolean; readonly newest: number }, told: number): boolean =>
  isNew && newest > told && document.visibilityState === "visible"
