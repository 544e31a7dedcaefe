import type { BigIntStats } from "node:fs"
import * as fs from "node:fs/promises"
import { setTimeout } from "node:timers/promises"
import { type HardLinks, inRoot, type OpenDirectory, openIn } from "./Beneath.js"
import { tickMs } from "./OnlyName.js"

// A hostile process may give somebody else's file a name in its workspace (a hard link), and a build may give its own file a second name. The
// files look the same. A file is the workspace's own when all of its names are in the workspace.

const maxEntries = 1_000_000
const maxDepth = 200
const lookedAtOnce = 32

const maxSurveys = 3

/**
 * Answers for the files below a root. The root is looked through once, at the first question. The answer is false for a file that changes
 * meanwhile, and for a file with a name beyond the first million entries.
 */
export const hardLinksOf = (root: string): HardLinks => {
  let survey: Promise<ReadonlyMap<string, Linked>> | undefined
  return {
    areWithin: async (file) => {
      survey ??= settledSurvey(root)
      const linked = (await survey).get(keyOf(file))
      return linked?.isSteady === true && linked.changedAt === file.ctimeNs && BigInt(linked.names.size) === file.nlink
    }
  }
}

/**
 * A file with more than one name. Each new or removed name sets its time of change, so its names are the same as long as that time is. A
 * name counts by the inode of its folder, so moving a folder does not change the names in it.
 */
interface Linked {
  readonly names: Set<string>
  readonly changedAt: bigint
  isSteady: boolean
}

const keyOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`

const settledSurvey = async (root: string): Promise<ReadonlyMap<string, Linked>> => {
  for (let count = 1; ; count++) {
    const settled = BigInt(Date.now() - tickMs) * 1_000_000n
    const found = await inRoot(root, survey)
    const fresh = [...found.values()].filter(({ changedAt }) => changedAt >= settled)
    if (fresh.length === 0) return found
    for (const linked of fresh) linked.isSteady = false
    if (count === maxSurveys) return found
    await setTimeout(tickMs + 5)
  }
}

const survey = async (root: OpenDirectory): Promise<ReadonlyMap<string, Linked>> => {
  const found = new Map<string, Linked>()
  let left = maxEntries
  const note = (folder: string, name: Buffer, stat: BigIntStats) => {
    const key = keyOf(stat)
    const linked = found.get(key) ?? { names: new Set(), changedAt: stat.ctimeNs, isSteady: true }
    if (linked.changedAt !== stat.ctimeNs) linked.isSteady = false
    linked.names.add(`${folder}/${name.toString("latin1")}`)
    found.set(key, linked)
  }
  const visit = async (directory: OpenDirectory, depth: number): Promise<void> => {
    const folder = keyOf(await directory.handle.stat({ bigint: true }))
    const { files, folders } = await entriesOf(directory, left)
    left -= files.length + folders.length
    for (let at = 0; at < files.length; at += lookedAtOnce) {
      await Promise.all(
        files.slice(at, at + lookedAtOnce).map(async (name) => {
          const stat = await fs.lstat(directory.entry(name), { bigint: true }).catch(() => null)
          if (stat?.isFile() === true && stat.nlink > 1n) note(folder, name, stat)
        })
      )
    }
    if (depth === maxDepth) return
    for (const name of folders) {
      const below = await openIn(directory, name).catch(() => null)
      if (below !== null) await visit(below, depth + 1).finally(() => below.handle.close())
    }
  }
  await visit(root, 0)
  return found
}

const entriesOf = async (directory: OpenDirectory, most: number) => {
  const files: Array<Buffer> = []
  const folders: Array<Buffer> = []
  // latin1 keeps every byte of a name that is not UTF-8.
  for await (const entry of await fs.opendir(directory.entry("."), { encoding: "latin1" })) {
    if (files.length + folders.length === most) break
    const list = entry.isDirectory() ? folders : files
    list.push(Buffer.from(entry.name, "latin1"))
  }
  return { files, folders }
}
