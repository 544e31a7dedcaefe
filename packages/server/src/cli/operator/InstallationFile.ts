import { readFileSync } from "node:fs"
import { rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { makeDirectory } from "@reins/base/base/MakeDirectory"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { Effect, Option, Schema } from "effect"

/**
 * A small JSON file of an installation, which a server reads when it starts. It does not exist until something is stored. `complaint` tells
 * people of a file that holds something else, and what they can do.
 */
export const installationFile = <A, I>(name: string, schema: Schema.Schema<A, I>, complaint: string) => {
  const decode = Schema.decodeUnknownOption(Schema.parseJson(schema))
  const fileOf = (dataDir: string): string => join(dataDir, name)
  return {
    /** The content; undefined where there is no file. */
    read: (dataDir: string): Effect.Effect<A | undefined, CommandFailed> =>
      Effect.suspend(() => {
        const file = fileOf(dataDir)
        let text: string
        try {
          text = readFileSync(file, "utf8")
        } catch {
          return Effect.succeed(undefined)
        }
        const found = decode(text)
        return Option.isSome(found)
          ? Effect.succeed(found.value)
          : new CommandFailed({ message: `${file} ${complaint}` })
      }),
    /** Stores the content and gives the path. Another process sees the old file or the new one, never a part. */
    write: (dataDir: string, content: I): Effect.Effect<string> =>
      Effect.promise(async () => {
        const file = fileOf(dataDir)
        const part = `${file}.${process.pid}`
        makeDirectory(dataDir, 0o700)
        await writeFile(part, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
        await rename(part, file)
        return file
      })
  }
}
