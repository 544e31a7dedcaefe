import { hash } from "node:crypto"
import { basename } from "node:path"
import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Bench } from "@reins/machine/bench/Bench"
import type { FileError, FileRead } from "@reins/machine/files/Files"
import { Effect, Layer, Schema } from "effect"
import { makeTool, ToolFailed } from "../tools/Tool.js"
import { ToolSources } from "../tools/ToolSources.js"
import { Artifacts } from "./Artifacts.js"

/** Lets agents keep files for people. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sources = yield* ToolSources
    const tool = yield* publishTool
    yield* sources.register({ toolsOf: () => Effect.succeed([tool]) })
  })
)

const publishTool = Effect.gen(function* () {
  const artifacts = yield* Artifacts
  const { files } = yield* Bench
  const { artifactBytes } = (yield* CoreConfig).limits
  return makeTool({
    name: "publish_artifact",
    description:
      "Keeps a file of the working tree for people, who see it beside the conversation: a picture, a report, a build. " +
      `The file is copied as it is now, at most ${artifactBytes} bytes. ` +
      "Leave out what the changes show anyway.",
    is_read_only: false,
    input: Schema.Struct({
      path: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4096)).annotations({
        description: "The path of the file, relative to the root of the working tree."
      }),
      title: Schema.optionalWith(
        Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)).annotations({
          description: "What it is, in a line; the name of the file when absent."
        }),
        { exact: true }
      )
    }),
    keyOf: ({ rootTurnId }, input) => `publish_artifact:${rootTurnId}:${canonicalJson(input)}`,
    run: Effect.fnUntraced(function* ({ principal }, { path, title }, { callId, key }) {
      const file = yield* Effect.mapError(files.read(principal.via.sessionId, path, artifactBytes), unread)
      if (file.truncated) return yield* tooLarge(file, artifactBytes)
      const bytes = Buffer.from(file.content, file.encoding)
      const digest = hash("sha256", bytes, "hex")
      const artifact = yield* artifacts.publish(principal, {
        title: (title ?? basename(path)).replaceAll(/\s+/g, " ").trim() || basename(path),
        path: file.path,
        bytes,
        key: `${hash("sha256", key ?? callId, "hex")}:${digest}`
      })
      return { artifact_id: artifact.id, sha256: digest, bytes: artifact.size, media_type: artifact.media_type }
    })
  })
})

const tooLarge = ({ size }: FileRead, most: number) =>
  new ToolFailed({
    message: `path: the file has ${size} bytes, and ${most} are allowed. Publish a smaller one.`
  })

const unread = (error: FileError): ToolFailed => new ToolFailed({ message: `path: ${reasonOf(error)}` })

const reasonOf = (error: FileError): string => {
  switch (error._tag) {
    case "FileNotFound":
      return "there is no such file in the working tree. Give the path from its root."
    case "NotAFile":
      return "it is a directory. Publish its files one by one, or an archive of them."
    case "NotADirectory":
      return "a part of the path is a file."
    case "PathRefused":
      return `the path leads out of the working tree, or to what is no file of it (${error.reason}).`
    case "FileAccessFailed":
      return `the file could not be read (${error.reason}).`
  }
}
