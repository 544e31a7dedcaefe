import { computed, effect, signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { sectionOf } from "../inbox/Standing.js"
import { asked, standings } from "../inbox/Workspace.js"

const title = signal("")

/** The state of the sessions of the workspace: one asks, one has failed since the page was loaded, one runs, or none does. */
export type Mood = "asking" | "failed" | "running" | "calm"

const opened = new Date().toISOString()
const seen = signal<ReadonlySet<string>>(new Set())

/** Says that a person has looked at a session, so that its failure is known. */
export const markSeen = (sessionId: string): void => {
  if (!seen.peek().has(sessionId)) seen.value = new Set([...seen.peek(), sessionId])
}

export const mood = computed((): Mood => {
  if (asked.value > 0) return "asking"
  const all = standings.value ?? []
  const hasFailed = all.some(
    (each) => each.item.since > opened && !seen.value.has(each.item.session_id) && sectionOf(each) === "failed"
  )
  if (hasFailed) return "failed"
  return all.some((each) => sectionOf(each) === "running") ? "running" : "calm"
})

const icons: Readonly<Record<Mood, string>> = {
  asking: new URL("./icon-asking.svg", import.meta.url).href,
  failed: new URL("./icon-failed.svg", import.meta.url).href,
  running: new URL("./icon-running.svg", import.meta.url).href,
  calm: ""
}

/** Shows in the title and the icon of the window what the sessions do. */
export const startTitle = (): void => {
  effect(() => {
    const count = asked.value
    document.title = `${count > 0 ? `(${count}) ` : ""}${title.value === "" ? "" : `${title.value} · `}Reins`
  })
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]")
  const usual = link?.href ?? ""
  effect(() => {
    if (link !== null) link.href = icons[mood.value] || usual
  })
}

/** The title of the window, while a page is shown. */
export const useTitle = (words: string): void => {
  useEffect(() => {
    title.value = words
  }, [words])
}
