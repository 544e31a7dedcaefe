// Makes the types, the methods and the routes of the client from the OpenAPI document. Files that are as they should be are left alone.
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const generated = join(root, "packages/client/src/generated")

/** The sources of this repository by the names that they call each other. */
const sources = {
  name: "sources",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^@reins\/(?:core|server)\// }, ({ path }) => ({
      path: join(root, path.replace(/^@reins\/(\w+)\//, "packages/$1/src/")).concat(".ts")
    }))
}

const bundle = async () => {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["packages/client/generate/Generate.ts"],
    tsconfig: "packages/client/generate/tsconfig.json",
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    plugins: [sources],
    write: false,
    logLevel: "error"
  })
  return outputFiles[0]?.text ?? ""
}

/** The program that makes the files tells whether they are those that it would make. */
const isFresh = (stamp) => {
  const file = join(generated, "stamp")
  return existsSync(file) && readFileSync(file, "utf8") === stamp
}

const replace = (file, text) => {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return
  // Another process may be reading it.
  writeFileSync(`${file}.${process.pid}`, text)
  renameSync(`${file}.${process.pid}`, file)
}

/** Tests run on the sources, so a run of them begins with this. */
export default async function generateClient() {
  const program = await bundle()
  const stamp = createHash("sha256")
    .update(program)
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex")
  if (isFresh(stamp)) return
  // Inside of the repository, where it finds its packages.
  const file = join(root, `.cache/generate-client-${process.pid}.mjs`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, program)
  try {
    const { files } = await import(pathToFileURL(file).href)
    mkdirSync(generated, { recursive: true })
    for (const [name, text] of Object.entries(files)) replace(join(generated, name), text)
    replace(join(generated, "stamp"), stamp)
  } finally {
    rmSync(file)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await generateClient()
