import type { BigIntStats } from "node:fs"
import * as fs from "node:fs/promises"
import { setTimeout } from "node:timers/promises"

// Somebody hostile may give a file of somebody else a name in its workspace, and take the name back as soon as the file is open. The file then
// has one name again, as any other one, which is not in the workspace.

/** File systems take the time of a change from a clock that ticks every 1 to 10 ms. Two changes within one tick look like one. */
export const tickMs = 20

/** The looks at one file. A file that is written all the time is looked at several times before its state stays for one look. */
const maxLooks = 20

/**
 * The state of a file that was opened at `path`, which has no other name, or has more than one, which the caller then looks up. A file that
 * has lost all of its names had none elsewhere. Undefined when the name has gone or belongs to another file by now. Each new or removed name
 * sets the time of change, so what holds at both ends of a look held between them. A file whose names may have changed within the last tick is
 * looked at again after it.
 */
export const namedState = async (handle: fs.FileHandle, path: string | Buffer): Promise<BigIntStats | undefined> => {
  for (let look = 1; look <= maxLooks; look++) {
    const before = await handle.stat({ bigint: true })
    if (before.nlink !== 1n || !before.isFile()) return before
    const named = await fs.lstat(path, { bigint: true }).catch(() => null)
    const after = await handle.stat({ bigint: true })
    if (named === null || named.ino !== before.ino || named.dev !== before.dev) return undefined
    if (before.ctimeNs !== after.ctimeNs || after.nlink !== 1n) continue
    if (!mayJustHaveMoved(after)) return after
    await setTimeout(tickMs + 5)
  }
  return undefined
}

/** A write sets both times to the same. A new or removed name sets the time of change alone. */
const mayJustHaveMoved = ({ ctimeNs, mtimeNs }: BigIntStats): boolean => {
  const agoMs = Date.now() - Number(ctimeNs / 1_000_000n)
  return ctimeNs !== mtimeNs && Math.abs(agoMs) <= tickMs
}
