// Has publint and attw judge a tarball, in a process of its own, which they hold for seconds: node judge.mjs TARBALL TOOLS. TOOLS is where they are
// installed.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const [, , tarball, tools] = process.argv
const tool = (name) => import(pathToFileURL(createRequire(join(tools, "package.json")).resolve(name)).href)
const { publint } = await tool("publint")
const { checkPackage, createPackageFromTarballData } = await tool("@arethetypeswrong/core")

const bytes = new Uint8Array(readFileSync(tarball))
const { messages } = await publint({ pack: { tarball: bytes.buffer }, strict: true })
const { entrypoints, problems } = await checkPackage(createPackageFromTarballData(bytes))
process.stdout.write(JSON.stringify({ entryPoints: Object.keys(entrypoints), messages, problems }))
