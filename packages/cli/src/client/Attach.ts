import { readFileSync, realpathSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { basename, isAbsolute, join, relative, resolve } from "node:path"
import { type MessagesSendInput, type Reins, ReinsApiError } from "@reins/client"
import { CommandFailed } from "../CommandFailed.js"
import { harmless } from "../terminal/Style.js"

/** A file that a message names. */
export interface NamedFile {
  readonly path: string
  /** The name under which the agent finds it. */
  readonly name: string
  readonly size: number
}

/** A word of a message: with quotes, with blanks behind backslashes as terminals write the files that are dropped on them, or plain. */
const word = /(?<=^|\s)(@?)(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s\\"'])(?:\\.|[^\s\\])*))/g

const isPicture = (path: string): boolean => /\.(?:png|jpe?g|gif|webp)$/i.test(path)

/** The most files of a message, as the server takes them. */
const most = 20

/**
 * The files that a message names: those of the directory behind an `@`, and pictures anywhere by their path. Each comes once. Words that are no
 * files are words.
 */
export const filesIn = (message: string, directory: string): ReadonlyArray<NamedFile> => {
  const found = new Map<string, NamedFile>()
  for (const [, at = "", double, single, bare] of message.matchAll(word)) {
    const given = double ?? single ?? (bare ?? "").replaceAll(/\\(.)/g, "$1")
    const file = at === "@" ? fileWithin(directory, given) : isPicture(given) ? fileAt(directory, given) : undefined
    if (file !== undefined) found.set(file.path, file)
  }
  if (found.size > most)
    throw new CommandFailed({ message: `A message takes ${most} files, and this one names ${found.size}.` })
  return [...found.values()]
}

/** A file by its path below the directory. A link that leads out of it is none. A mark behind the name is not of it. */
const fileWithin = (directory: string, given: string): NamedFile | undefined => {
  const file = fileAt(directory, given) ?? fileAt(directory, given.replace(/[.,;:!?)]+$/, ""))
  if (file === undefined) return undefined
  const within = relative(realpathSync(directory), realpathSync(file.path))
  return within.startsWith("..") || isAbsolute(within) ? undefined : { ...file, name: within.replaceAll(/[\\/]/g, "-") }
}

const fileAt = (directory: string, given: string): NamedFile | undefined => {
  const path = resolve(directory, given.startsWith("~/") ? join(homedir(), given.slice(2)) : given)
  try {
    const stat = statSync(path)
    return stat.isFile() ? { path, name: basename(path), size: stat.size } : undefined
  } catch {
    return undefined
  }
}

/** A size as people read it. */
export const sizeText = (bytes: number): string =>
  bytes < 1000
    ? `${bytes} B`
    : bytes < 1_000_000
      ? `${(bytes / 1000).toFixed(1)} kB`
      : `${(bytes / 1_000_000).toFixed(1)} MB`

type Content = MessagesSendInput["content"]

/** Puts files beside the files of a session, where its agent reads them. Gives the message with them. */
export const withFiles = async (
  reins: Reins,
  session_id: string,
  text: string,
  files: ReadonlyArray<NamedFile>
): Promise<Content> => {
  if (files.length === 0) return text
  const blocks: Array<Exclude<Content, string>[number]> = [{ type: "text", text }]
  for (const file of files) blocks.push({ type: "file", upload_id: await upload(reins, session_id, file) })
  return blocks
}

const upload = async (reins: Reins, session_id: string, { name, path }: NamedFile): Promise<string> => {
  const content = contentOf(path)
  const put = async () => (await reins.sessions.uploadFile({ session_id, name, content, encoding: "base64" })).upload_id
  try {
    return await put()
  } catch (error) {
    // The working tree is made first, with the setup of the project.
    if (!(error instanceof ReinsApiError) || !("workspace" in error.details)) throw error
    await reins.jobs.wait((await reins.sessions.activateExecutor({ session_id })).operation)
    return put()
  }
}

const contentOf = (path: string): string => {
  try {
    return readFileSync(path).toString("base64")
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CommandFailed({ message: `${harmless(path)} cannot be read (${harmless(reason)}).` })
  }
}
