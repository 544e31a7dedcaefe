import bash from "highlight.js/lib/languages/bash"
import c from "highlight.js/lib/languages/c"
import cpp from "highlight.js/lib/languages/cpp"
import csharp from "highlight.js/lib/languages/csharp"
import css from "highlight.js/lib/languages/css"
import diff from "highlight.js/lib/languages/diff"
import dockerfile from "highlight.js/lib/languages/dockerfile"
import go from "highlight.js/lib/languages/go"
import ini from "highlight.js/lib/languages/ini"
import java from "highlight.js/lib/languages/java"
import javascript from "highlight.js/lib/languages/javascript"
import json from "highlight.js/lib/languages/json"
import kotlin from "highlight.js/lib/languages/kotlin"
import makefile from "highlight.js/lib/languages/makefile"
import markdown from "highlight.js/lib/languages/markdown"
import php from "highlight.js/lib/languages/php"
import python from "highlight.js/lib/languages/python"
import ruby from "highlight.js/lib/languages/ruby"
import rust from "highlight.js/lib/languages/rust"
import scss from "highlight.js/lib/languages/scss"
import sql from "highlight.js/lib/languages/sql"
import swift from "highlight.js/lib/languages/swift"
import typescript from "highlight.js/lib/languages/typescript"
import xml from "highlight.js/lib/languages/xml"
import yaml from "highlight.js/lib/languages/yaml"
import { createLowlight } from "lowlight"
import { linesOf } from "./Spans.js"

const grammars = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  makefile,
  markdown,
  php,
  python,
  ruby,
  rust,
  scss,
  sql,
  swift,
  typescript,
  xml,
  yaml
}
const lowlight = createLowlight(grammars)

// Boundary: the types of the page are those of a window, and this runs as a worker.
const worker = globalThis as unknown as {
  onmessage: (event: MessageEvent<Asked>) => void
  postMessage: (answer: Answered) => void
}

/** A text to be coloured. */
export interface Asked {
  readonly id: number
  readonly language: string
  readonly text: string
}

/** Its lines; null where they could not be read. */
export interface Answered {
  readonly id: number
  readonly lines: ReturnType<typeof linesOf> | null
}

worker.onmessage = ({ data: { id, language, text } }) => {
  try {
    worker.postMessage({ id, lines: linesOf(lowlight.highlight(language, text)) })
  } catch {
    worker.postMessage({ id, lines: null })
  }
}
