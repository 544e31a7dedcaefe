// Makes the types, the methods and the routes of the client from the OpenAPI document. Files that are as they should be are left alone.
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { bundleOf, load } from "./bundled.mjs"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const generated = join(root, "packages/client/src/generated")

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
  const program = await bundleOf("packages/client/generate/Generate.ts", "packages/client/generate/tsconfig.json")
  const stamp = createHash("sha256")
    .update(program)
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex")
  if (isFresh(stamp)) return
  const { files } = await load(program)
  mkdirSync(generated, { recursive: true })
  for (const [name, text] of Object.entries(files)) replace(join(generated, name), text)
  replace(join(generated, "stamp"), stamp)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await generateClient()
