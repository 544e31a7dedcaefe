import { createHash } from "node:crypto"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { download, unpackPackage } from "@reins/machine/harness/PackageDownload"
import type { Change } from "@reins/testing/world/Answer"
import { tenthOf, tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer } from "@reins/testing/world/Changes"
import { openSpeaker } from "@reins/testing/world/Speaker"
import { Effect, Either } from "effect"

/** The file that was pinned. A list in JSON, so that all changes of an answer can be made of it. */
const text = JSON.stringify({ files: Array.from({ length: 200 }, (_, at) => ({ path: `a/${at}.js` })) })
const pinned = {
  name: "@scope/agent",
  version: "1.0.0",
  integrity: `sha512-${createHash("sha512").update(text).digest("base64")}`
}

const headers = (name: string, more: Readonly<Record<string, string>>): Change => ({
  name,
  kind: "same",
  apply: (answer) => ({ ...answer, headers: { ...answer.headers, ...more } })
})

/** The bytes alone count, so a change that leaves them is none, and any other one is refused. */
const changes: ReadonlyArray<Change> = [
  ...changesOfAnswer(["files"]).map((change) => ({
    ...change,
    kind: /^in two|^late|type$|character set$/.test(change.name) ? ("same" as const) : ("lost" as const)
  })),
  headers("a page by its type", { "content-type": "text/html" }),
  headers("another name of the file", { "content-disposition": 'attachment; filename="../../etc/passwd"' }),
  headers("ten times as long", { etag: `"${"x".repeat(4000)}"` }),
  {
    name: "ten times longer than pinned",
    kind: "lost",
    apply: (answer) => ({ ...answer, text: answer.text.repeat(10) })
  }
]

const isSentence = (message: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in a sentence.
  message !== "" && message.length <= 600 && !/[\u0000-\u001f\u202e]/.test(message) && message.includes(pinned.name)

describe("the world of registries", () => {
  it.scopedLive("a package", () =>
    Effect.gen(function* () {
      const root = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-world-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      )
      const speaker = yield* openSpeaker(() => ({ status: 200, headers: {}, text }))
      // What a registry does not give is asked for three times, with pauses.
      const isAsked = ({ kind, name }: Change) => kind === "lost" && /^\d{3} |^cut/.test(name)
      const tried = [...changes.filter((change) => !isAsked(change)), ...tenthOf(changes.filter(isAsked))]
      const result = yield* tryBorder({
        name: "registries: a package",
        changes: tried,
        ask: (change) =>
          Effect.gen(function* () {
            speaker.change = change
            const file = join(root, `${tried.indexOf(change)}.tgz`)
            const found = yield* Effect.either(
              download({ registry: speaker.url, egress: null }, pinned, file, () => undefined)
            )
            const isThere = existsSync(file)
            if (Either.isRight(found)) {
              if (change.kind === "lost") return ["another file is taken for the package"]
              return isThere && readFileSync(file, "utf8") === text ? [] : ["the file is another one"]
            }
            const problems = isThere ? ["a file is left that was refused"] : []
            if (change.kind === "same") problems.push(`refused: ${found.left.message}`)
            if (!isSentence(found.left.message)) problems.push(`no sentence: ${found.left.message.slice(0, 200)}`)
            // What was pinned and is no tarball cannot be unpacked, which is said too.
            return problems
          })
      })
      assert.deepStrictEqual(result.wrong, [])
      assert.isAbove(result.tried, 15)
      speaker.change = undefined
      const file = join(root, "whole.tgz")
      yield* download({ registry: speaker.url, egress: null }, pinned, file, () => undefined)
      const unpacked = yield* Effect.either(unpackPackage(file, join(root, "tree")))
      assert.isTrue(Either.isLeft(unpacked))
    })
  )
})
