import { createReadStream } from "node:fs"
import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { removeTree } from "../../files/RemoveTree.js"
import { fetchIds } from "../remote/RemoteFetch.js"
import type { Remote } from "../remote/RemoteUrl.js"
import { git, runGit } from "../run/GitCommand.js"
import { onDisk } from "../run/GitError.js"
import type { GitMeans } from "../run/GitMeans.js"
import { objectsOfStore } from "./Alternates.js"
import { initTrusted } from "./RepositoryFiles.js"

// Looks after the files of an object store. Whoever calls this has the store alone, and others read it meanwhile.

/** With more packs than this, the small ones are joined. */
const maxPacks = 24

const atStore = <A>(run: () => Promise<A>) => onDisk("The object store could not be written", run)

const packsIn = (path: string): string => join(objectsOfStore(path), "pack")

/** The names of the packs of a repository, without their endings. */
const packsOf = (path: string) =>
  atStore(async () => {
    const names = await fs.readdir(packsIn(path)).catch((): Array<string> => [])
    return names.filter((name) => /^pack-[0-9a-f]+\.pack$/.test(name)).map((name) => name.slice(0, -".pack".length))
  })

/** Removes what a git process that was killed has left, above all its locks. */
export const removeLeftovers = (path: string) =>
  atStore(async () => {
    const removeIn = async (folder: string, isLeft: RegExp) => {
      for (const name of await fs.readdir(folder).catch((): Array<string> => []))
        if (isLeft.test(name)) await removeTree(join(folder, name))
    }
    await removeIn(path, /\.lock$|\.new$|^reins-fresh$/)
    await removeIn(objectsOfStore(path), /^tmp_objdir-/)
    await removeIn(packsIn(path), /^\.?tmp[-_]/)
  })

/** False for a pack with bytes that are not those that were written. One that cannot be looked at in time passes. */
const isSound = (means: GitMeans, path: string, pack: string) =>
  runGit({
    args: ["verify-pack", join(packsIn(path), `${pack}.idx`)],
    gitDir: path,
    timeoutMs: means.localTimeoutMs
  }).pipe(
    Effect.map(({ exitCode }) => exitCode === 0),
    Effect.catchIf(
      ({ kind }) => kind === "timeout",
      () => Effect.succeed(true)
    )
  )

/** True when every pack has the bytes that were written. */
export const packsAreSound = Effect.fnUntraced(function* (means: GitMeans, path: string) {
  for (const pack of yield* packsOf(path)) if (!(yield* isSound(means, path, pack))) return false
  return true
})

/** Takes a damaged pack away, and puts the objects that can still be read back. */
const salvage = Effect.fnUntraced(function* (means: GitMeans, path: string, pack: string) {
  const aside = join(path, "reins-damaged")
  yield* atStore(async () => {
    await fs.mkdir(aside, { recursive: true })
    for (const ending of ["pack", "idx", "rev"])
      await fs.rename(join(packsIn(path), `${pack}.${ending}`), join(aside, `${pack}.${ending}`)).catch(() => undefined)
  })
  yield* runGit({
    args: ["unpack-objects", "-r", "-q"],
    gitDir: path,
    stdin: createReadStream(join(aside, `${pack}.pack`)),
    timeoutMs: means.localTimeoutMs
  }).pipe(Effect.ignore)
  yield* atStore(() => removeTree(aside))
})

/** Fetches everything anew beside what is there, which stays where it can be read: the remote may have forgotten it. */
export const heal = Effect.fnUntraced(function* (means: GitMeans, path: string, remote: Remote, ids: Iterable<string>) {
  const fresh = join(path, "reins-fresh")
  yield* atStore(() => removeTree(fresh))
  yield* initTrusted(fresh)
  yield* fetchIds(means, fresh, remote, ids)
  const had = yield* packsOf(path)
  const packs = yield* packsOf(fresh)
  yield* atStore(async () => {
    await fs.mkdir(packsIn(path), { recursive: true })
    // The index comes last, because git takes a pack for whole that has one.
    for (const pack of packs)
      for (const ending of ["pack", "rev", "idx"])
        await fs
          .rename(join(packsIn(fresh), `${pack}.${ending}`), join(packsIn(path), `${pack}.${ending}`))
          .catch((cause: unknown) => {
            if (ending !== "rev") throw cause
          })
    await fs.rm(join(path, "shallow"), { force: true })
    await fs.rename(join(fresh, "shallow"), join(path, "shallow")).catch(() => undefined)
    await removeTree(fresh)
  })
  for (const pack of had)
    if (!packs.includes(pack) && !(yield* isSound(means, path, pack))) yield* salvage(means, path, pack)
})

/** Joins small packs once there are many, with all of their objects. A reader finds each object in the old packs or in the new one. */
export const foldPacks = Effect.fnUntraced(function* (means: GitMeans, path: string) {
  if ((yield* packsOf(path)).length <= maxPacks) return
  yield* git({
    args: ["repack", "--geometric=2", "-d", "-n", "-q"],
    gitDir: path,
    timeoutMs: means.localTimeoutMs
  }).pipe(
    Effect.catchAll(({ message }) =>
      Effect.logWarning("the packs of an object store could not be joined", { reason: message })
    )
  )
})
