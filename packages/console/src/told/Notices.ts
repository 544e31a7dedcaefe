import { effect, signal } from "@preact/signals"
import { shownName } from "@reins/client"
import type { Standing } from "../inbox/Standing.js"
import { standings } from "../inbox/Workspace.js"
import { go } from "../route/Route.js"
import { keep, readKept } from "../ui/Kept.js"

const kept = "reins.notices"

/** The wishes of a person for this browser: `on`, `off`, or nothing said yet. */
export const wish = signal<"on" | "off" | "unsaid">(
  readKept(kept) === "on" ? "on" : readKept(kept) === "off" ? "off" : "unsaid"
)
export const hasSound = signal(readKept(`${kept}.sound`) === "on")

/** True where the browser can notify at all. A page over plain http cannot. */
export const canNotify = (): boolean => typeof Notification !== "undefined" && Notification.permission !== "denied"

/** Asks the browser for leave, and keeps the answer. */
export const allowNotices = async (): Promise<void> => {
  const answer = await Notification.requestPermission()
  wish.value = answer === "granted" ? "on" : "off"
  keep(kept, wish.value)
}

export const refuseNotices = (): void => {
  wish.value = "off"
  keep(kept, "off")
}

export const setSound = (isOn: boolean): void => {
  hasSound.value = isOn
  keep(`${kept}.sound`, isOn ? "on" : "off")
  if (isOn) beep()
}

/** A short tone, made here, because there is no file for it. */
const beep = (): void => {
  const context = new AudioContext()
  const [tone, volume] = [context.createOscillator(), context.createGain()]
  tone.frequency.value = 660
  volume.gain.setValueAtTime(0.08, context.currentTime)
  volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.4)
  tone.connect(volume).connect(context.destination)
  tone.start()
  tone.stop(context.currentTime + 0.4)
  tone.onended = () => void context.close()
}

const ended: Readonly<Record<string, string>> = {
  succeeded: "The turn has ended.",
  failed: "The turn failed.",
  interrupted: "The turn was interrupted.",
  cancelled: ""
}

/** The news of a session between two looks; empty for none that a person waits for. */
export const newsOf = (before: Standing, after: Standing): string => {
  const known = new Set(before.item.questions.map(({ id }) => id))
  const asked = after.item.questions.find(({ id }) => !known.has(id))
  if (asked !== undefined) return `Needs your answer: ${shownName(asked.title)}`
  const [was, is] = [before.item.turn, after.item.turn]
  if (is === null || (was?.id === is.id && was.state === is.state)) return ""
  return ended[is.state] ?? ""
}

const tell = ({ item: { session_id, title } }: Standing, words: string): void => {
  if (hasSound.peek()) beep()
  if (wish.peek() !== "on" || !canNotify()) return
  const notice = new Notification(title ?? "Session", { body: words, tag: session_id })
  notice.onclick = () => {
    window.focus()
    go(`sessions/${session_id}`)
    notice.close()
  }
}

/** Tells what happens in the workspace while nobody looks at the page. */
export const startNotices = (): void => {
  let before = new Map<string, Standing>()
  effect(() => {
    const all = standings.value
    if (all === undefined) {
      before = new Map()
      return
    }
    const isFirst = before.size === 0
    for (const each of all) {
      const known = before.get(each.item.session_id)
      const words = known === undefined || isFirst ? "" : newsOf(known, each)
      if (words !== "" && document.hidden) tell(each, words)
    }
    before = new Map(all.map((each) => [each.item.session_id, each]))
  })
}
