import * as fs from "node:fs/promises"
import { join } from "node:path"
import type { Effect } from "effect"
import { type GitError, onDisk } from "../../repository/run/GitError.js"
import type { TreeFile } from "./Capture.js"

/**
 * The files that a workspace holds beyond its base before its agent starts, by path: null where a file of the base is gone. A snapshot takes a path that
 * is still so for unchanged.
 */
export type Baseline = ReadonlyMap<string, TreeFile | null>

const file = (gitDir: string): string => join(gitDir, "reins-baseline")

const atDisk = <A>(run: () => Promise<A>) => onDisk("The baseline could not be kept", run)

/** The baseline of a trusted git directory; empty where nothing was adopted. */
export const readBaseline = (gitDir: string): Effect.Effect<Baseline, GitError> =>
  atDisk(async () => {
    const text = await fs.readFile(file(gitDir), "utf8").catch((cause: unknown) => {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return "[]"
      throw cause
    })
    const entries: ReadonlyArray<readonly [string, TreeFile | null]> = JSON.parse(text)
    return new Map(entries)
  })

/** Writes the baseline of a trusted git directory. */
export const writeBaseline = (gitDir: string, baseline: Baseline): Effect.Effect<void, GitError> =>
  atDisk(() => fs.writeFile(file(gitDir), JSON.stringify([...baseline])))

const isSame = (left: TreeFile | null | undefined, right: TreeFile | undefined): boolean =>
  (left ?? undefined)?.id === right?.id && (left ?? undefined)?.mode === right?.mode

/** The wanted files of a snapshot, with those of the base in the place of what the baseline left and nobody has changed since. */
export const withoutBaseline = (
  baseline: Baseline,
  wanted: ReadonlyMap<string, TreeFile>,
  baseOf: (path: string) => TreeFile | undefined
): ReadonlyMap<string, TreeFile> => {
  if (baseline.size === 0) return wanted
  const left = new Map(wanted)
  for (const [path, was] of baseline) {
    if (!isSame(was, wanted.get(path))) continue
    const base = baseOf(path)
    if (base === undefined) left.delete(path)
    else left.set(path, base)
  }
  return left
}
