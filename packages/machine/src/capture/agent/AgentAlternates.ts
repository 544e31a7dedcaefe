import { Effect } from "effect"
import { type BeneathError, inDirectory, type OpenDirectory, replaceFile } from "../../files/Beneath.js"
import { isStoreLine, objectsOfStore } from "../../repository/objects/Alternates.js"
import { inAgentGit, readPart } from "./AgentGit.js"

// Names an object store in the repository of an agent. The file is the agent's: it is read as text, and nothing of the service obeys it.

const maxBytes = 1024 * 1024

/** The alternates with this store in the place of any other store. What the agent itself has named stays. */
const withStore = (text: string, store: string | null): string => {
  const others = text.split("\n").filter((line) => line !== "" && !isStoreLine(line))
  const lines = store === null ? others : [...others, Buffer.from(objectsOfStore(store)).toString("latin1")]
  return lines.map((line) => `${line}\n`).join("")
}

const inInfo = <A, E>(workTree: string, create: boolean, use: (directory: OpenDirectory) => Effect.Effect<A, E>) =>
  inAgentGit(workTree, ["objects"], () => inDirectory(workTree, [".git", "objects", "info"], { create }, use))

/** Names a store in the repository of an agent, or none. Nothing is done where the agent has no repository. */
export const nameForAgent = (workTree: string, store: string | null): Effect.Effect<void, BeneathError> =>
  inInfo(workTree, store !== null, (directory) =>
    Effect.gen(function* () {
      const had = (yield* readPart(directory, "alternates", maxBytes))?.toString("latin1") ?? ""
      const text = withStore(had, store)
      if (text === had) return
      yield* replaceFile(directory, "alternates", Buffer.from(text, "latin1"), { mode: 0o644, exclusive: false })
    })
  ).pipe(
    Effect.asVoid,
    // An agent that has put something else in the place keeps it.
    Effect.catchIf(
      ({ reason }) => reason === "link" || reason === "not_a_directory" || (store === null && reason === "missing"),
      () => Effect.void
    )
  )

const maxRefsBytes = 32 * 1024 * 1024

/** Takes the branches and tags of the remote that lead to lost objects out of the packed references of an agent. */
export const forgetForAgent = (workTree: string, lost: ReadonlySet<string>): Effect.Effect<void, BeneathError> =>
  Effect.asVoid(
    inAgentGit(workTree, [], (directory) =>
      Effect.gen(function* () {
        const bytes = yield* readPart(directory, "packed-refs", maxRefsBytes)
        if (bytes === null || bytes.length === maxRefsBytes) return
        let isLost = false
        const lines = bytes
          .toString("latin1")
          .split("\n")
          .filter((line) => {
            // The commit of a tag has a line after it.
            if (!line.startsWith("^"))
              isLost = lost.has(line.slice(0, 40)) && /^.{41}refs\/(?:remotes|tags)\//.test(line)
            return !isLost
          })
        const text = Buffer.from(lines.join("\n"), "latin1")
        yield* replaceFile(directory, "packed-refs", text, { mode: 0o644, exclusive: false })
      })
    )
  )

/** True where the alternates of an agent name an object store and nothing else. */
export const namesOnlyStore = (workTree: string): Effect.Effect<boolean> =>
  inInfo(workTree, false, (directory) => readPart(directory, "alternates", maxBytes)).pipe(
    Effect.map((bytes) => {
      const lines = (bytes?.toString("latin1") ?? "").split("\n").filter((line) => line !== "")
      return lines.length > 0 && lines.every(isStoreLine)
    }),
    Effect.orElseSucceed(() => false)
  )
