#!/usr/bin/env node
// Writes the OpenAPI document of the built service to packages/server/openapi.json. With --check it only says whether the file is right.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const file = join(root, "packages/server/openapi.json")
const built = (module) => import(pathToFileURL(join(root, "packages/core/dist/api", module)).href)

const { Api } = await built("Api.js")
const { documentOf } = await built("OpenApiDocument.js")
const text = `${JSON.stringify(documentOf(Api), null, 2)}\n`

if (!process.argv.includes("--check")) writeFileSync(file, text)
else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
  process.stderr.write(
    "packages/server/openapi.json is not the document of the API. Build, then write it with: node scripts/openapi.mjs\n"
  )
  process.exit(1)
}
