import * as fs from "node:fs/promises"
import { join } from "node:path"
import type { Effect } from "effect"
import { isObjectId } from "../run/GitCommand.js"
import { type GitError, onDisk } from "../run/GitError.js"

// Writes the refs of a repository as one file, as a clone does. Git would write and flush a file for each.

/** Object ids by the names of their refs. A name is latin1 text, which keeps every byte. */
export type Refs = ReadonlyMap<string, string>

const header = Buffer.from("# pack-refs with: sorted \n")

const packedRefs = (gitDir: string): string => join(gitDir, "packed-refs")

/** The lines of refs in a packed file, in the order of their bytes. */
const linesOf = (refs: Refs): Buffer =>
  Buffer.from(
    [...refs]
      .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
      .map(([name, id]) => `${id} ${name}\n`)
      .join(""),
    "latin1"
  )

/** The content of a packed file. */
export const packedFile = (refs: Refs): Buffer => Buffer.concat([header, linesOf(refs)])

/** The packed refs of a repository; none where there is no such file. */
export const readPackedRefs = (gitDir: string): Effect.Effect<Refs, GitError> =>
  onDisk("The refs could not be read", async () => {
    const text = await fs.readFile(packedRefs(gitDir), "latin1").catch((cause: unknown) => {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return ""
      throw cause
    })
    return parsePackedRefs(text)
  })

/** The refs of a packed file. Throws at a line that is neither a ref, nor a comment, nor the commit of a tag. */
export const parsePackedRefs = (text: string): Refs => {
  const refs = new Map<string, string>()
  for (const line of text.replace(/\n$/, "").split("\n")) {
    if (line === "" || line.startsWith("#") || /^\^[0-9a-f]{40}$/.test(line)) continue
    const space = line.indexOf(" ")
    const [id, name] = [line.slice(0, space), line.slice(space + 1)]
    if (!isObjectId(id) || !name.startsWith("refs/")) throw new Error("not a line of packed refs")
    refs.set(name, id)
  }
  return refs
}

/** Puts refs in the place of the packed ones of a repository, in one step that a loss of power does not take back. */
export const writePackedRefs = (gitDir: string, refs: Refs): Effect.Effect<void, GitError> =>
  onDisk("The refs could not be written", async () => {
    const made = `${packedRefs(gitDir)}.new`
    await fs.writeFile(made, packedFile(refs), { flush: true })
    await fs.rename(made, packedRefs(gitDir))
  })
