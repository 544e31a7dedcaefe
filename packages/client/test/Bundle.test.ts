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
  const inputs = Object.entries(output.inputs)
    .filter(([, input]) => input.bytesInOutput > 0)
    .map(([path]) => path)
  return { text: file.text, inputs, imports: output.imports.map((item) => item.path) }
}

describe("Bundle", () => {
  for (const entry of ["index.ts", "effect/index.ts"]) {
    it(`${entry} brings no platform, driver or server with it`, async () => {
      const { imports, inputs, text } = await bundle(entry)
      assert.deepStrictEqual(imports, [])
      assert.notMatch(text, /\bfrom\s*"node:|import\("node:|require\("/)
      assert.notMatch(
        inputs.join("\n"),
        /better-sqlite3|node_modules\/pg\/|@effect\/(sql|platform-node)|packages\/server|nodemailer|argon2/
      )
      const core = inputs.filter((path) => path.includes("packages/core/"))
      assert.isAbove(core.length, 10)
      for (const path of core) assert.match(path, /packages\/core\/src\/(api|domain)\//)
    })
  }

  it("stays small", async () => {
    const whole = gzipSync((await bundle("index.ts")).text).length
    const own = gzipSync((await bundle("index.ts", ["effect", "effect/*", "@effect/*"])).text).length
    assert.isBelow(whole, 200_000)
    assert.isBelow(own, 20_000)
  })
})
