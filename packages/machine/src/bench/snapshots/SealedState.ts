import * as fs from "node:fs/promises"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Effect, Option } from "effect"
import { attempt } from "../../files/Beneath.js"
import { pack, type WrittenBlob } from "../../files/PackedFiles.js"
import { readTree } from "../../files/TreeReader.js"
import { Harness } from "../../harness/Harness.js"
import { Manifests } from "../../harness/Manifests.js"
import { sessionPaths } from "../SessionPaths.js"
import { archived } from "./Archived.js"
import { onlyPaths } from "./OnlyPaths.js"
import { type SealOrder, SnapshotError } from "./TreeSnapshots.js"

/** The agent may still write for a moment after its turn. */
const stateReadings = 3

/** Writes the agent's own record of a conversation, as it is at one moment. */
export const sealedState = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const harness = yield* Harness
  const manifests = yield* Manifests

  return Effect.fnUntraced(function* ({ provider, session }: SealOrder, file: string) {
    const { home } = sessionPaths(dataDir, session)
    const manifest = yield* Effect.option(manifests.get(provider))
    if (Option.isNone(manifest)) return null
    for (let reading = 1; reading <= stateReadings; reading++) {
      const { digest, files } = yield* harness.nativeState(manifest.value, home)
      if (digest === null) return null
      const leaveOut = onlyPaths("home", new Set(files.map(({ path }) => path)))
      const blob: WrittenBlob | null = yield* attempt(home, async () => {
        await fs.rm(file, { force: true })
        return pack(file, [{ part: archived.state, entries: readTree(home, "home", { leaveOut }) }])
      })
      const again = yield* harness.nativeState(manifest.value, home)
      if (again.digest === digest) return { blob, digest }
    }
    return yield* stillWriting
  })
})

const stillWriting = new SnapshotError({
  message: "The agent writes its own record without a pause, so that no moment of it can be kept. It is tried again.",
  retryable: true
})
