import { signal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { go } from "../route/Route.js"

/** The window that a key has opened. */
export const opened = signal<"palette" | "keys" | undefined>(undefined)

/** The keys of the page, as `?` lists them. */
export const keyList = [
  ["Ctrl+K or ⌘K", "Search pages, sessions and messages"],
  ["?", "Show the keys"],
  ["g i", "Go to the inbox"],
  ["c", "New session"],
  ["j, k", "Next and previous session in the inbox"],
  ["Enter", "Open the session"],
  ["n, p", "Next and previous file of a review"],
  ["b", "Review since the base, or since the last changeset"],
  ["Ctrl+Enter", "Send the message"],
  ["Ctrl+Y", "Allow what the only approval in sight asks for"]
] as const

/** True where keys are letters of a text. */
const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest("input, textarea, select, dialog") !== null)

/** Follows keys of one letter while the component is there. */
export const useKeys = (does: Readonly<Record<string, () => void>>): void => {
  const now = useRef(does)
  now.current = does
  useEffect(() => {
    const follow = ({ altKey, ctrlKey, key, metaKey, target }: KeyboardEvent) => {
      if (!ctrlKey && !metaKey && !altKey && !isWriting(target)) now.current[key]?.()
    }
    addEventListener("keydown", follow)
    return () => removeEventListener("keydown", follow)
  }, [])
}

const moveInInbox = (by: number): void => {
  const rows = [...document.querySelectorAll<HTMLElement>("a.session-row")]
  const at = rows.findIndex((row) => row.matches(":focus"))
  rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))]?.focus()
}

/** Follows the keys. Those of one letter do nothing while somebody writes. */
export const startKeys = (): void => {
  let isAfterG = false
  addEventListener("keydown", (event) => {
    const { altKey, ctrlKey, key, metaKey } = event
    if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === "k") {
      event.preventDefault()
      opened.value = opened.value === "palette" ? undefined : "palette"
      return
    }
    if (ctrlKey || metaKey || altKey || isWriting(event.target)) return
    const wasAfterG = isAfterG
    isAfterG = key === "g"
    if (wasAfterG && key === "i") return go("")
    switch (key) {
      case "?":
        opened.value = "keys"
        return
      case "c":
        event.preventDefault()
        return go("new")
      case "j":
        return moveInInbox(1)
      case "k":
        return moveInInbox(-1)
    }
  })
}
