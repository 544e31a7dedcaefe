import * as fs from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { Effect } from "effect"
import { type BeneathError, replaceFile } from "../files/Beneath.js"
import { inAgentGit, readPart } from "./AgentGit.js"
import { type GitError, onDisk } from "./GitError.js"

// Names an object store in a repository, as one of its alternates (gitrepository-layout(5)). The service obeys the file of a trusted directory and
// never that of an agent.

/** The directory of all object stores below a data directory. */
export const storesIn = (dataDir: string): string => join(dataDir, "object-stores")

/** True for the name of an object store. */
export const isStoreName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name)

/** The directory of an object store that the agent reads. */
export const objectsOfStore = (store: string): string => join(store, "objects")

const isStoreLine = (line: string): boolean =>
  /(?:^|\/)object-stores\/[0-9a-f]{64}\/objects$/.test(line)

const file = (gitDir: string): string => join(gitDir, "objects", "info", "alternates")

const isAbsent = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR")

/** The object store that a trusted git directory names; null for none. Rejects where that cannot be told. */
export const readStore = async (gitDir: string): Promise<string | null> => {
  try {
    const line = (await fs.readFile(file(gitDir), "utf8")).split("\n").find(isStoreLine)
    return line === undefined ? null : dirname(line)
  } catch (cause) {
    if (isAbsent(cause)) return null
    throw cause
  }
}

/** The object store that a trusted git directory names; null for none. */
export const namedStore = (gitDir: string): Effect.Effect<string | null, GitError> =>
  onDisk("The object store of the session could not be told", () => readStore(gitDir))

/** Names a store in a trusted git directory, in one step that a loss of power does not take back. */
export const nameStore = (gitDir: string, store: string): Effect.Effect<void, GitError> =>
  onDisk("The object store could not be named", async () => {
    await fs.mkdir(dirname(file(gitDir)), { recursive: true })
    await fs.writeFile(`${file(gitDir)}.new`, `${objectsOfStore(store)}\n`, { flush: true })
    await fs.rename(`${file(gitDir)}.new`, file(gitDir))
  })

/** The alternates of an agent with this store in the place of any other store. What the agent itself has named stays. */
const withStore = (text: string, store: string | null): string =>
  [...text.split("\n").filter((line) => line !== "" && !isStoreLine(line)), ...(store === null ? [] : [objectsOfStore(store)])]
    .map((line) => `${line}\n`)
    .join("")

const maxBytes = 1024 * 1024

/** Names a store in the repository of an agent, or none. False where the agent has no repository that could name one. */
export const nameForAgent = (workTree: string, store: string | null): Effect.Effect<boolean, BeneathError> =>
  Effect.map(
    inAgentGit(workTree, ["objects", "info"], (directory) =>
      Effect.gen(function* () {
        const bytes = yield* readPart(directory, "alternates", maxBytes)
        const had = bytes?.toString("latin1") ?? ""
        const text = withStore(had, store && Buffer.from(store).toString("latin1"))
        if (text === had) return true
        yield* replaceFile(directory, "alternates", Buffer.from(text, "latin1"), { mode: 0o644, exclusive: false })
        return true
      })
    ),
    (done) => done === true
  )

/** True for the alternates of an agent that name an object store and nothing else. */
export const namesOnlyStore = (text: string): boolean =>
  text !== "" && text.split("\n").every((line) => line === "" || isStoreLine(line))

/** The name of the store below its directory. */
export const storeName = (store: string): string => basename(store)
