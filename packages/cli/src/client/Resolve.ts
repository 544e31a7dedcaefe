import type { Reins, Session } from "@reins/client"
import { argument, option, optionalArgument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import type { Remote } from "./Remote.js"

const forms = "its id, the last four characters of one, the beginning of its title, or `last`"

/** The session that a command is about. */
export const sessionArgument = argument("session", `The session: ${forms}`)

/** The same where a command can do without one. */
export const optionalSession = (about: string) => optionalArgument("session", `${about}: ${forms}`)

/** An option that names a session. */
export const sessionOption = (about: string) =>
  option("session", `${about}: an id or its end, a title, or \`last\``, { value: "session" })

/** The sessions of a workspace that a name is looked for among: so many, the newest first. */
const lookedAt = 2000
const pageSize = 200

const wholeId = /^sess_[0-7][0-9a-hjkmnp-tv-z]{25}$/
const endOfId = /^[0-9a-hjkmnp-tv-z]{4,26}$/

/** The characters of an id that people type. */
const shortLength = 4

type Named = Pick<Session, "id" | "title" | "updated_at">

type Reached = Pick<Remote, "reins" | "workspaceId"> & Partial<Pick<Remote, "otherWorkspaces">>

/**
 * The id of the session that a person has named: by its id, the end of one, the beginning of its title, or `last`. A whole id costs no request. The
 * workspace of the command comes before the others that the key reaches. Throws `CommandFailed` with a list where several are meant.
 */
export const sessionNamed = async (remote: Reached, name: string): Promise<string> => {
  // The client says of an empty id that it is one.
  if (wholeId.test(name) || name === "") return name
  const { otherWorkspaces = [], reins, workspaceId } = remote
  if (name === "last") {
    const newest = await newestSession(reins, { workspace_id: workspaceId })
    if (newest !== undefined) return newest.id
    throw new CommandFailed({ message: 'There is no open session. Begin one: reins run "what to do"' })
  }
  for (const workspace_id of [workspaceId, ...otherWorkspaces]) {
    const found = meantBy(name, await sessionsOf(reins, workspace_id))
    if (found.length === 1 && found[0] !== undefined) return found[0].id
    if (found.length > 1) throw new CommandFailed({ message: severalSessions(name, found) })
  }
  throw new CommandFailed({
    message: `There is no session "${harmless(name)}" among the newest ${lookedAt.toLocaleString("en-US")}, or your key may not see it. See: reins sessions list`
  })
}

/** The newest open session of a list that works for no other one. */
export const newestSession = async (
  reins: Reins,
  where: { readonly workspace_id: string; readonly repository_url?: string }
): Promise<Session | undefined> => {
  for await (const each of reins.sessions.list({ ...where, lifecycle: "open", limit: 20 }))
    if (each.parent_delegation_id === null) return each
  return undefined
}

const sessionsOf = async (reins: Reins, workspace_id: string): Promise<ReadonlyArray<Named>> => {
  const found: Array<Named> = []
  for await (const { id, title, updated_at } of reins.sessions.list({ workspace_id, limit: pageSize })) {
    found.push({ id, title, updated_at })
    if (found.length === lookedAt) break
  }
  return found
}

const folded = (text: string): string => text.replaceAll(/\s+/g, " ").trim().toLowerCase()

/** The sessions that a name may mean. A whole title comes before the beginning of longer ones. */
export const meantBy = <A extends Pick<Session, "id" | "title">>(
  name: string,
  sessions: ReadonlyArray<A>
): ReadonlyArray<A> => {
  const wanted = folded(name)
  const end = endOfId.test(wanted.replace(/^sess_/, "")) ? wanted.replace(/^sess_/, "") : undefined
  const byEnd = sessions.filter(({ id }) => end !== undefined && id.endsWith(end))
  const byTitle = wanted === "" ? [] : sessions.filter(({ title }) => folded(title ?? "").startsWith(wanted))
  const whole = byTitle.filter(({ title }) => folded(title ?? "") === wanted)
  return [...new Set([...byEnd, ...(whole.length > 0 ? whole : byTitle)])]
}

/** The end of an id that none of the others has. */
export const shortIdIn = (id: string, others: ReadonlyArray<string>): string => {
  for (let length = shortLength; length < id.length; length++) {
    const end = id.slice(-length)
    if (!others.some((other) => other !== id && other.endsWith(end))) return end
  }
  return id
}

const shownAtMost = 20

const severalSessions = (name: string, found: ReadonlyArray<Named>): string => {
  const ids = found.map(({ id }) => id)
  const rows = found
    .slice(0, shownAtMost)
    .map(({ id, title, updated_at }) => [
      `  ${shortIdIn(id, ids)}`,
      updated_at.slice(0, 16).replace("T", " "),
      harmless((title ?? "-").replaceAll(/\s+/g, " "))
    ])
  const more = found.length > shownAtMost ? `  and ${found.length - shownAtMost} more\n` : ""
  return `"${harmless(name)}" can be ${found.length} sessions. Name one by the end of its id:\n${table(rows)}${more}`.trimEnd()
}

/** The newest open sessions of a repository, by any of its addresses, which work for no other one. */
export const sessionsAt = async (
  { reins, workspaceId }: Pick<Remote, "reins" | "workspaceId">,
  addresses: ReadonlyArray<string>
): Promise<ReadonlyArray<Session>> => {
  const found: Array<Session> = []
  for (const repository_url of addresses) {
    const { items } = await reins.sessions.list({
      workspace_id: workspaceId,
      repository_url,
      lifecycle: "open",
      limit: pageSize
    })
    found.push(...items.filter(({ parent_delegation_id }) => parent_delegation_id === null))
  }
  return found.sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, shownAtMost)
}
