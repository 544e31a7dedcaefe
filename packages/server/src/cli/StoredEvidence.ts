import { readFileSync } from "node:fs"
import { rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { makeDirectory } from "@reins/core/base/MakeDirectory"
import { Evidence } from "@reins/core/harness/Evidence"
import { Effect, Option, Schema } from "effect"
import { CommandFailed } from "./CommandFailed.js"

/** The file with what was seen of agents on this machine. It does not exist until one is verified. */
const fileOf = (dataDir: string): string => join(dataDir, "evidence.json")

const Stored = Schema.parseJson(Schema.Struct({ evidence: Schema.Array(Evidence) }))

const decode = Schema.decodeUnknownOption(Stored)

/** The evidence of an installation. A server reads it when it starts. Fails when the file holds something else. */
export const storedEvidence = (dataDir: string): Effect.Effect<ReadonlyArray<Evidence>, CommandFailed> =>
  Effect.suspend(() => {
    const file = fileOf(dataDir)
    let text: string
    try {
      text = readFileSync(file, "utf8")
    } catch {
      return Effect.succeed([])
    }
    const found = decode(text)
    return Option.isSome(found)
      ? Effect.succeed(found.value.evidence)
      : new CommandFailed({ message: `${file} holds no evidence. Remove it, and verify your agents again.` })
  })

/** Stores evidence in the place of what was known of the same subject. Another process sees the old file or the new one, never a part. */
export const storeEvidence = (dataDir: string, evidence: Evidence): Effect.Effect<string, CommandFailed> =>
  Effect.flatMap(storedEvidence(dataDir), (before) =>
    Effect.promise(async () => {
      const file = fileOf(dataDir)
      const part = `${file}.${process.pid}`
      makeDirectory(dataDir, 0o700)
      const all = [...before.filter(({ of }) => of !== evidence.of), evidence]
      await writeFile(part, `${JSON.stringify({ evidence: all }, null, 2)}\n`, { mode: 0o600 })
      await rename(part, file)
      return file
    })
  )
