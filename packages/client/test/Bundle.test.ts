import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { build } from "esbuild"

const bundle = async (entry: string, external: Array<string> = []) => {
  const { metafile, outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../src/${entry}`, import.meta.url))],
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["@reins/source", "import"],
    minify: true,
    metafile: true,
    write: false,
    logLevel: "silent",
    external
  })
  const [output] = Object.values(metafile.outputs)
  const [file] = outputFiles
  assert.isDefined(output)
  assert.isDefined(file)
  return {
    text: file.text,
    inputs: Object.keys(metafile.inputs),
    imports: output.imports.map((item) => item.path)
  }
}

describe("Bundle", () => {
  it("the promise entry is its own code alone, and 20 kB at most", async () => {
    const { imports, inputs, text } = await bundle("index.ts")
    assert.deepStrictEqual(imports, [])
    for (const path of inputs) assert.match(path, /(^|\/)src\/(?!effect\/)/)
    assert.notMatch(text, /\bfrom\s*"node:|import\("node:|require\("/)
    const size = gzipSync(text).length
    assert.isAtMost(size, 20_000)
  })

  it("the Effect entry adds effect alone, and shares the rest with the promise entry", async () => {
    const { imports, inputs } = await bundle("effect/index.ts", ["effect", "effect/*"])
    assert.deepStrictEqual([...new Set(imports)], ["effect"])
    for (const path of inputs) assert.match(path, /(^|\/)src\//)
    const shared = inputs.filter((path) => !path.includes("/effect/"))
    assert.includeMembers(
      shared.map((path) => path.split("/").at(-1)),
      ["Transport.ts", "RetryPolicy.ts", "EventStream.ts", "ServerSentEvents.ts", "Following.ts", "Routes.ts"]
    )
  })
})
