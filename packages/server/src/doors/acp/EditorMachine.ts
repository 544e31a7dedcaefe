import type { Changeset } from "@reins/client"
import type { Attachment } from "./Attachments.js"

/**
 * The machine of the editor, for a door that runs on it. A door of a server has none. The paths of its editors are those of another machine, so
 * it reads no file and runs no program for them.
 */
export interface EditorMachine {
  /** The path behind all links; the path itself where there is no such file. */
  readonly resolved: (path: string) => string
  /** The text of a file; undefined for a folder, a long file, one that is no text, and one that cannot be read. */
  readonly text: (path: string) => string | undefined
  /** A file to attach; undefined for a folder, a file that is too large, and one that cannot be read. */
  readonly attachment: (path: string) => Promise<Attachment | undefined>
  /** Applies a diff to a folder that has the commit which the session began from. Gives the sentence for the person. */
  readonly apply: (folder: string, changeset: Changeset, diff: string) => Promise<string>
}

/** The longest text of the editor that a message has, in bytes. */
export const mostTextBytes = 65_536
