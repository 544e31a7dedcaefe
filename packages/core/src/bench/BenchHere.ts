import { Effect, Layer } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import type { SessionId } from "../domain/Ids.js"
import { Files } from "../files/Files.js"
import { agentsHere } from "./AgentsHere.js"
import { Bench, type TreeFiles } from "./Bench.js"
import { changesHere } from "./ChangesHere.js"
import { sessionPaths } from "./SessionPaths.js"
import { treesHere } from "./TreesHere.js"

const filesHere = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const files = yield* Files
  const rootOf = (session: SessionId) => sessionPaths(dataDir, session).workTree
  const found: TreeFiles = {
    list: (session, path) => files.list(rootOf(session), path),
    read: (session, path, maxBytes) => files.read(rootOf(session), path, maxBytes),
    write: (session, path, bytes, options) => files.write(rootOf(session), path, bytes, options)
  }
  return found
})

/** The bench of this process: the files, the git directories and the agents of this machine. */
export const layer = Layer.scoped(
  Bench,
  Effect.gen(function* () {
    return Bench.of({
      trees: yield* treesHere,
      files: yield* filesHere,
      agents: yield* agentsHere,
      changes: yield* changesHere
    })
  })
)
