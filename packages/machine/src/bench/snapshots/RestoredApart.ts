import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { Chunk, Effect, Stream } from "effect"
import { attempt, inDirectory, replaceFile } from "../../files/Beneath.js"
import { pathNames } from "../../files/NameText.js"
import { Git } from "../../git/Git.js"
import { attachmentPath, type SessionPaths } from "../SessionPaths.js"
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
    putUploads: ({ home, workTree }: SessionPaths, { uploads }: PartsApart, { blob }: Ear) =>
      Effect.forEach(
        uploads,
        Effect.fnUntraced(function* ({ digest, mode, path, place }) {
          const bytes = Buffer.concat(Chunk.toReadonlyArray(yield* Stream.runCollect(blob(digest))))
          const isBeside = place === "attachment"
          const names = pathNames(isBeside ? attachmentPath({ name: path, digest }) : path)
          if (isBeside) yield* attempt(home, () => mkdir(home, { recursive: true, mode: 0o700 }))
          yield* inDirectory(isBeside ? home : workTree, names.slice(0, -1), { create: true }, (directory) =>
            replaceFile(directory, names.at(-1) ?? Buffer.alloc(0), bytes, { mode: mode ?? 0o644, exclusive: false })
          )
        }),
        { discard: true }
      )
  }
})
