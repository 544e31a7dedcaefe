import { readdirSync, rmSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { Boot, bootPrefix, newBootId } from "@reins/base/base/Boot"
import { Effect, Layer } from "effect"
import { isLocked, lockFile } from "../store/FileLock.js"

/**
 * The boot of a process that works on a data directory. It is recorded there before it starts anything, under a lock that ends with the process.
 * The next process learns from the lock that this one has ended, however it ended, and can end what it left behind.
 */
export const layer = (dataDir: string, { alone }: { readonly alone: boolean }) =>
  Layer.scoped(
    Boot,
    Effect.gen(function* () {
      const bootId = newBootId()
      const record = (id: string) => join(dataDir, "boots", id)
      const forget = (id: string) => Effect.sync(() => rmSync(record(id), { force: true }))
      yield* Effect.acquireRelease(
        // Another process that checks the record holds its lock for a moment, so this one waits.
        Effect.sync(() => lockFile(record(bootId), { waitMs: 2000 })),
        (unlock) => Effect.zipRight(forget(bootId), Effect.sync(unlock))
      )
      return Boot.of({
        nodeId: hostname(),
        bootId,
        alone,
        ended: Effect.sync(() =>
          readdirSync(join(dataDir, "boots")).filter(
            (id) => id.startsWith(bootPrefix) && id !== bootId && !isLocked(record(id))
          )
        ),
        forget
      })
    })
  )
