import { useEffect, useRef } from "preact/hooks"

/** A card that a person could allow by the key. */
interface Card {
  /** True while all of it is shown. */
  readonly isWhole: () => boolean
  /** True while every part of it can be seen, and no window lies over it. */
  readonly isInSight: () => boolean
  /** The time at which what it shows was drawn. */
  readonly since: () => number
  readonly allow: () => void
}

/** The time that a card has to be there before the key acts on it, so that nobody allows what has just come, in milliseconds. */
export const leastAgeMs = 500

const cards = new Set<Card>()

/** True where the key belongs to a text, which takes it for a step forward again. */
const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest("input, textarea, select, dialog") !== null)

/** Allows what the only whole card in sight asks for. */
const onKey = (event: KeyboardEvent): void => {
  const { altKey, ctrlKey, key, metaKey, repeat, shiftKey, target } = event
  if (key.toLowerCase() !== "y" || !ctrlKey || altKey || metaKey || shiftKey || repeat || isWriting(target)) return
  const seen = [...cards].filter((card) => card.isInSight())
  const [only] = seen
  if (only === undefined) return
  // Browsers take the key for something else.
  event.preventDefault()
  if (seen.length > 1 || !only.isWhole() || performance.now() - only.since() < leastAgeMs) return
  only.allow()
}

/** Lets the key act on a card while it is there. `shown` says what it shows: another one begins its time anew. */
export const useAllowKey = (shown: string, isWhole: boolean, allow: () => void) => {
  const place = useRef<HTMLElement>(null)
  const now = useRef({ isWhole, allow })
  now.current = { isWhole, allow }
  const since = useRef(performance.now())
  const last = useRef(shown)
  if (last.current !== shown) {
    last.current = shown
    since.current = performance.now()
  }
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    let isVisible = false
    const watcher = new IntersectionObserver(
      (entries) => {
        isVisible = (entries.at(-1)?.intersectionRatio ?? 0) >= 0.99
      },
      { threshold: [0, 0.99, 1] }
    )
    watcher.observe(element)
    const card: Card = {
      isWhole: () => now.current.isWhole,
      isInSight: () => isVisible && !document.hidden && document.querySelector("dialog[open]") === null,
      since: () => since.current,
      allow: () => now.current.allow()
    }
    if (cards.size === 0) addEventListener("keydown", onKey)
    cards.add(card)
    return () => {
      watcher.disconnect()
      cards.delete(card)
      if (cards.size === 0) removeEventListener("keydown", onKey)
    }
  }, [])
  return place
}
