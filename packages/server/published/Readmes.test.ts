import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Block, blocksOf } from "../test/docs/Blocks.js"
import { read } from "../test/docs/Reader.js"
import { world } from "../test/docs/World.js"
import { readmes } from "./Places.js"
import { published } from "./Published.js"

const { client, server, together } = published().installed

/** A block as if it stood on a page, for what a reader does besides. */
const shell = (code: string): Block => ({ place: "besides", language: "sh", code, use: { kind: "run" } })

/** The programs of a README, as files of a project. */
const programsOf = (page: string, directory: string): ReadonlyArray<string> =>
  blocksOf(page).flatMap(({ code, language, place }) => {
    if (language !== "js") return []
    const file = join(directory, `${place.replaceAll(/\W/g, "-")}.mjs`)
    writeFileSync(file, code)
    return [file]
  })

const count = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length

describe("a reader of the README of a package, who has installed it from its tarball", () => {
  for (const [which, { directory }] of Object.entries(together))
    it.scopedLive(`embeds the core and the server, with ${which}`, () =>
      Effect.gen(function* () {
        const around = yield* world("small")
        const blocks = [
          ...blocksOf(readmes.core),
          ...blocksOf(readmes.server).filter(({ language }) => language === "js")
        ]
        const { code, failedAt, output } = yield* read(blocks, { ...around, installed: directory })
        assert.deepStrictEqual([code, failedAt], [0, undefined], output)
        assert.match(output, /^\d+ turn\.succeeded$/m)
        assert.match(output, /^http:\/\/127\.0\.0\.1:\d+ 401$/m)
      })
    )

  it.scopedLive("serves, runs a turn, and calls the server from every project with the client", () =>
    Effect.gen(function* () {
      const around = yield* world("small")
      const projects = [client, ...Object.values(together)]
      const files = projects.flatMap(({ directory }) => programsOf(readmes.client, directory))
      const blocks = [
        ...blocksOf(readmes.server).filter(({ language }) => language !== "js"),
        shell("export REINS_API_KEY=$(npx reins keys create --email you@example.com --name program)"),
        ...files.map((file) => shell(`node '${file}'`))
      ]
      const { code, failedAt, output } = yield* read(blocks, { ...around, installed: server.directory })
      assert.deepStrictEqual([code, failedAt], [0, undefined], output)
      assert.match(output, /^\+.*item\.quantity/m)
      assert.strictEqual(count(output, /^succeeded .*\nThe total now counts every piece/gm), projects.length, output)
      assert.strictEqual(count(output, /^you@example\.com$/gm), projects.length, output)
    })
  )
})
