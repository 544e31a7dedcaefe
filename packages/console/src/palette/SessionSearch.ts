import type { Message, Reins, Session } from "@reins/client"

/** A session with the words of a search. */
export interface FoundSession {
  readonly session: Session
  /** The words around those of the search, from a message; undefined where the title has them. */
  readonly snippet: string | undefined
  /** The turn of the message. */
  readonly turnId: string | undefined
}

interface Search {
  readonly workspaceId: string
  readonly search: string
  readonly signal: AbortSignal
}

const sessionsAtMost = 8
/** The messages of a session are looked through for so many sessions. */
const snippetsAtMost = 4
const messagesAtMost = 200

/** Letters as the search of the server compares them: without case and accents. The text keeps its length where it can. */
const plainLetters = (text: string): string =>
  [...text].map((letter) => letter.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase() || letter).join("")

const wordsOf = (search: string): ReadonlyArray<string> =>
  plainLetters(search)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")

const holdsAll = (text: string, words: ReadonlyArray<string>): boolean => {
  const plain = plainLetters(text)
  return words.every((word) => plain.includes(word))
}

const around = 45

/** The words around the first that was searched for, in a line. */
export const snippetOf = (text: string, search: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  const plain = plainLetters(line)
  const at = Math.max(
    0,
    Math.min(
      ...wordsOf(search)
        .map((word) => plain.indexOf(word))
        .filter((place) => place >= 0),
      line.length
    )
  )
  const begin = at <= around ? 0 : line.indexOf(" ", at - around) + 1
  const end = Math.min(line.length, at + 2 * around)
  return `${begin > 0 ? "… " : ""}${line.slice(begin, end)}${end < line.length ? " …" : ""}`
}

const textOf = ({ content }: Message): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ")

/** Finds sessions by their titles and messages, and tells each, first without a snippet. */
export const searchSessions = async (
  reins: Reins,
  { search, signal, workspaceId }: Search,
  tell: (found: FoundSession) => void
): Promise<void> => {
  const words = wordsOf(search)
  if (words.length === 0) return
  const { items } = await reins.sessions.list(
    { workspace_id: workspaceId, q: search, limit: sessionsAtMost },
    { signal }
  )
  for (const session of items) tell({ session, snippet: undefined, turnId: undefined })
  const byMessage = items.filter(({ title }) => !holdsAll(title ?? "", words)).slice(0, snippetsAtMost)
  for (const session of byMessage) {
    const messages = await reins.messages.list({ session_id: session.id, limit: messagesAtMost }, { signal })
    const message = messages.items.find((each) => holdsAll(textOf(each), words))
    if (message === undefined) continue
    tell({ session, snippet: snippetOf(textOf(message), search), turnId: message.turn_id ?? undefined })
  }
}
