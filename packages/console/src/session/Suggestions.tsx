import { type Signal, useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { reins } from "../api/Server.js"

/** A command or a file that the text may go on with. */
export interface Suggestion {
  readonly text: string
  readonly note: string
}

/** The word at the cursor that a suggestion takes the place of. */
interface Word {
  readonly sign: "/" | "@"
  readonly start: number
  readonly end: number
  readonly search: string
}

const most = 8

/** The word that is being written: `/command` at the begin of the text, or `@file` anywhere. */
export const wordAt = (text: string, cursor: number): Word | undefined => {
  const before = text.slice(0, cursor)
  const [, command] = /^\/([\w:-]*)$/.exec(before) ?? []
  if (command !== undefined) return { sign: "/", start: 0, end: cursor, search: command }
  const [, file] = /(?:^|\s)@([^\s@]*)$/.exec(before) ?? []
  return file === undefined ? undefined : { sign: "@", start: cursor - file.length - 1, end: cursor, search: file }
}

/** The text with the word replaced, and the place of the cursor behind it. */
export const completed = (text: string, { end, sign, start }: Word, chosen: string): readonly [string, number] => {
  const isFolder = chosen.endsWith("/")
  const word = `${sign}${chosen}${isFolder ? "" : " "}`
  return [text.slice(0, start) + word + text.slice(end), start + word.length]
}

const filesFor = async (session_id: string, search: string): Promise<ReadonlyArray<Suggestion>> => {
  const cut = search.lastIndexOf("/") + 1
  const [folder, begin] = [search.slice(0, Math.max(0, cut - 1)), search.slice(cut).toLowerCase()]
  try {
    const { items } = await reins.sessions.listFiles({ session_id, ...(folder !== "" && { path: folder }) })
    return items
      .filter(({ name }) => name.toLowerCase().includes(begin))
      .map(({ path, type }) => ({ text: type === "directory" ? `${path}/` : path, note: "" }))
  } catch {
    // There are no files before the first turn.
    return []
  }
}

/** The suggestions for the word at the cursor; none while nothing of the kind is written. */
export const useSuggestions = (
  sessionId: string,
  commands: ReadonlyArray<{ readonly name: string; readonly description: string }>,
  word: Word | undefined
): Signal<ReadonlyArray<Suggestion>> => {
  const list = useSignal<ReadonlyArray<Suggestion>>([])
  useEffect(() => {
    let isWanted = true
    const give = (given: ReadonlyArray<Suggestion>) => {
      if (isWanted) list.value = given.slice(0, most)
    }
    if (word === undefined) give([])
    else if (word.sign === "/")
      give(
        commands
          .filter(({ name }) => name.toLowerCase().startsWith(word.search.toLowerCase()))
          .map(({ description, name }) => ({ text: name, note: description }))
      )
    else void filesFor(sessionId, word.search).then(give)
    return () => {
      isWanted = false
    }
  }, [sessionId, word?.sign, word?.search])
  return list
}

/** The list of suggestions. The arrow keys of the text move in it, and Tab or Enter takes one. */
export const SuggestionList = ({
  at,
  choose,
  list
}: {
  readonly list: ReadonlyArray<Suggestion>
  readonly at: number
  readonly choose: (suggestion: Suggestion) => void
}) =>
  list.length === 0 ? null : (
    <div class="palette suggestions" role="listbox" id="suggestions" aria-label="Suggestions">
      {list.map((each, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the text above has the keys
        <div
          key={each.text}
          id={`suggestion-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          onClick={() => choose(each)}
        >
          <span>{each.text}</span> <span class="fine">{each.note}</span>
        </div>
      ))}
    </div>
  )
