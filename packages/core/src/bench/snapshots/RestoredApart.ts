import { join } from "node:path"
import { Chunk, Effect, Stream } from "effect"
import { inDirectory, replaceFile } from "../../files/Beneath.js"
import { pathNames } from "../../files/NameText.js"
import { Git } from "../../git/Git.js"
import { fetchBlob } from "./FetchedBlob.js"
import type { PartsApart, RestoreEar } from "./TreeSnapshots.js"

type Ear = Pick<RestoreEar, "blob">

/** Puts what was captured and uploaded after a snapshot into a session. */
export const restoredApart = Effect.gen(function* () {
  const git = yield* Git

  return {
    addChangesets: (gitDir: string, { changesets }: PartsApart, staging: string, ear: Ear) =>
      Effect.forEach(
        changesets,
        ({ changeset_id, digest }) =>
          Effect.flatMap(fetchBlob({ digest }, join(staging, changeset_id), ear), (file) =>
            git.addBundle({ gitDir, file })
          ),
        { discard: true }
      ),
    putUploads: (workTree: string, { uploads }: PartsApart, { blob }: Ear) =>
      Effect.forEach(
        uploads,
        Effect.fnUntraced(function* ({ digest, mode, path }) {
          const bytes = Buffer.concat(Chunk.toReadonlyArray(yield* Stream.runCollect(blob(digest))))
          const names = pathNames(path)
          yield* inDirectory(workTree, names.slice(0, -1), { create: true }, (directory) =>
            replaceFile(directory, names.at(-1) ?? Buffer.alloc(0), bytes, { mode: mode ?? 0o644, exclusive: false })
          )
        }),
        { discard: true }
      )
  }
})
