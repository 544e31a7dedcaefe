#!/usr/bin/env node
// Holds the prose of the pages to short plain sentences: `node scripts/words.mjs [page ...]`, a part of `npm run lint`.
// It reads paragraphs, list items and the cells of tables. It leaves code, headings and the regions that a program writes.
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** The most words of a sentence. */
const most = 25

/** A sentence that begins so has its subject in a clause: "What is asked becomes an interaction." A question may. */
const riddle = /^(?:what|whatever|who|whoever|whom|whose|which|whichever|whether|that which)\b/i

/** After these words a full stop ends no sentence. */
const abbreviation = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|no)\.$/i

/** The end of a sentence. A list of links on one line has a middle dot between its items. */
const ending = /(?<!\.)[.!?](?!\.)["')\]_]*(?=\s|$)|\u00b7/g

const item = /^(\s*)(?:[-*+]|\d+[.)])\s+/
const separator = /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/

/** The lines that hold prose. Each other line is empty in its place, so that the numbers of the lines stay. */
const proseOf = (markdown) => {
  let fence = ""
  let written = false
  const text = markdown.replace(/<!--[\s\S]*?-->/g, (comment) => {
    const mark = /^<!-- [\w ]+: written by /.test(comment)
      ? "\u0001"
      : comment.startsWith("<!-- end of")
        ? "\u0002"
        : ""
    return mark + comment.replace(/[^\n]/g, "")
  })
  return text.split("\n").map((line) => {
    const ticks = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence !== "") {
      if (ticks?.startsWith(fence)) fence = ""
      return ""
    }
    if (ticks !== undefined) {
      fence = ticks
      return ""
    }
    if (line.includes("\u0001")) written = true
    if (line.includes("\u0002")) written = false
    return written || line.includes("\u0002") || /^#{1,6} /.test(line) ? "" : line
  })
}

/** A code span stands as one word with its number, a link as its text, an image as nothing. Line ends are kept, for the numbers of the lines. */
const plain = (text) => {
  const spans = []
  const rest = text
    .replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, (span) => {
      spans.push(span.replace(/\s+/g, " "))
      return `\uE000${spans.length - 1}\uE001${span.replace(/[^\n]/g, "")}`
    })
    .replace(/!\[[^\]]*\]\([^)]*\)/g, (image) => image.replace(/[^\n]/g, ""))
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\*\*|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])/g, "")
  return { rest, shown: (part) => part.replace(/\uE000(\d+)\uE001/g, (_, index) => spans[index]) }
}

/** Paragraphs, list items and cells: each as its lines, with the number of the first. */
const blocksOf = (markdown) => {
  const blocks = []
  let open
  const lines = proseOf(markdown)
  lines.forEach((raw, index) => {
    const line = raw.replace(/^\s*(?:>\s?)+/, "")
    if (line.trim() === "") {
      open = undefined
    } else if (line.trimStart().startsWith("|")) {
      open = undefined
      // A row above the separator has labels, and the separator has nothing.
      if (separator.test(line.trim()) || separator.test((lines[index + 1] ?? "").trim())) return
      const row = line.trim().replace(/^\||\|$/g, "")
      for (const cell of row.split(/(?<!\\)\|/)) blocks.push({ line: index + 1, lines: [cell.trim()] })
    } else if (open === undefined || item.test(line)) {
      open = { line: index + 1, lines: [line.replace(item, "").trim()] }
      blocks.push(open)
    } else open.lines.push(line.trim())
  })
  return blocks
}

/** The sentences of a page in their order, each with the line where it begins. */
export const sentencesOf = (markdown) =>
  blocksOf(markdown).flatMap(({ line, lines }) => {
    const sentences = []
    const { rest, shown } = plain(lines.join("\n"))
    let from = 0
    const take = (to) => {
      const start = from + (/^[\s\u00b7]*/.exec(rest.slice(from, to))?.[0].length ?? 0)
      const sentence = rest.slice(start, to).trim()
      const words = sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
      const at = line + rest.slice(0, start).split("\n").length - 1
      if (words > 0) sentences.push({ line: at, words, text: shown(sentence.replace(/\s+/g, " ")) })
      from = to
    }
    for (const { 0: end, index } of rest.matchAll(ending))
      if (!abbreviation.test(rest.slice(Math.max(0, index - 12), index + 1))) take(index + end.length)
    take(rest.length)
    return sentences
  })

/** What is wrong with the sentences of a page, in words. */
export const findingsOf = (page, markdown) =>
  sentencesOf(markdown).flatMap(({ line, text, words }) => [
    ...(words > most ? [`${page}:${line}: ${words} words, at most ${most}: ${text}`] : []),
    ...(riddle.test(text) && !/\?["')]*$/.test(text)
      ? [`${page}:${line}: begins like a riddle; begin with who acts: ${text}`]
      : [])
  ])

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = join(dirname(fileURLToPath(import.meta.url)), "..")
  const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))
  const all = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", ...docs.sort().map((name) => `docs/${name}`)]
  const named = process.argv.slice(2)
  const pages = named.length > 0 ? named : all
  const findings = pages.flatMap((page) => findingsOf(page, readFileSync(join(root, page), "utf8")))
  for (const finding of findings) process.stderr.write(`${finding}\n`)
  process.exitCode = findings.length > 0 ? 1 : 0
}
