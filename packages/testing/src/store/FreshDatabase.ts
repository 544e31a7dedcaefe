import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makePrivateDirectory } from "@reins/base/base/PrivateDirectory"
import { databaseFile } from "@reins/core/store/DataDirectory"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Effect, Layer } from "effect"

let made: Promise<string> | undefined

/** A data directory with a new database, made once for all tests of this process. The steps of the schema take longer than a copy. */
const original = (): Promise<string> => {
  const directory = mkdtempSync(join(tmpdir(), "reins-fresh-"))
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }))
  return Effect.runPromise(Effect.as(Effect.scoped(Layer.build(Sqlite.layer(directory))), directory))
}

/** The layers of an installation on a data directory, which gets a new database first when it has none. */
export const onFreshDatabase = <A, E, R>(dataDir: string, installation: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.unwrapEffect(
    Effect.promise(async () => {
      const file = databaseFile(dataDir)
      made ??= original()
      const fresh = databaseFile(await made)
      if (existsSync(file)) return installation
      makePrivateDirectory(dataDir)
      copyFileSync(fresh, file)
      return installation
    })
  )
