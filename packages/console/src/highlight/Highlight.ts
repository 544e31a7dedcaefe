import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { Span } from "./Spans.js"
import type { Answered, Asked } from "./Worker.js"

export type Lines = ReadonlyArray<ReadonlyArray<Span>>

/** Longer texts stay without colours. */
const longest = 200_000
const keptAtMost = 200

let worker: Worker | undefined
let last = 0
const waiting = new Map<number, (lines: Lines | undefined) => void>()
/** By language and text. Views ask for the same text once for each of its lines, so no key is put together. */
const kept = new Map<string, Map<string, Promise<Lines | undefined>>>()

/** The worker is started by the first text that has a language. */
const workerOf = (): Worker => {
  if (worker !== undefined) return worker
  worker = new Worker(new URL("./Worker.ts", import.meta.url), { type: "module", name: "reins-highlight" })
  worker.onmessage = ({ data: { id, lines } }: MessageEvent<Answered>) => {
    waiting.get(id)?.(lines ?? undefined)
    waiting.delete(id)
  }
  worker.onerror = () => {
    for (const give of waiting.values()) give(undefined)
    waiting.clear()
  }
  return worker
}

const ask = (language: string, text: string): Promise<Lines | undefined> =>
  new Promise((resolve) => {
    try {
      const asked: Asked = { id: ++last, language, text }
      const each = workerOf()
      waiting.set(asked.id, resolve)
      each.postMessage(asked)
    } catch {
      resolve(undefined)
    }
  })

const highlight = (language: string, text: string): Promise<Lines | undefined> => {
  const ofLanguage = kept.get(language) ?? new Map<string, Promise<Lines | undefined>>()
  kept.set(language, ofLanguage)
  const known = ofLanguage.get(text)
  if (known !== undefined) return known
  const asked = ask(language, text)
  ofLanguage.set(text, asked)
  const [oldest] = ofLanguage.keys()
  if (ofLanguage.size > keptAtMost && oldest !== undefined) ofLanguage.delete(oldest)
  return asked
}

/** The coloured lines of a text; undefined until they have come, and for a text that has none. */
export const useHighlight = (language: string | undefined, text: string): Lines | undefined => {
  const lines = useSignal<{ readonly text: string; readonly lines: Lines | undefined } | undefined>(undefined)
  useEffect(() => {
    if (language === undefined || text.length > longest) return
    let isWanted = true
    void highlight(language, text).then((given) => {
      if (isWanted) lines.value = { text, lines: given }
    })
    return () => {
      isWanted = false
    }
  }, [language, text, lines])
  return lines.value?.text === text ? lines.value.lines : undefined
}
