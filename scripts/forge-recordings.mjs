// Takes the answers and the bodies of hooks that Reins reads out of what GitHub, GitLab and Gitea publish, into packages/testing/recordings. Run it by
// hand: node scripts/forge-recordings.mjs FOLDER. It loads what the folder has not: pinned packages of npm, and pinned files of GitHub.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as gitea from "./recordings/gitea.mjs"
import * as github from "./recordings/github.mjs"
import * as gitlab from "./recordings/gitlab.mjs"

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error("Name a folder for the sources: node scripts/forge-recordings.mjs FOLDER")

const digest = (bytes) => createHash("sha256").update(bytes).digest("hex")

/** The sources of the recording that is being made. */
let sources = new Map()

/** A file of a package of npm. Its source is the digest of the file. */
const ofPackage = ({ license, name, version }, path) => {
  const packed = join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`)
  if (!existsSync(packed)) execFileSync("npm", ["pack", "--silent", `${name}@${version}`], { cwd: folder })
  const bytes = execFileSync("tar", ["xzOf", packed, `package/${path}`], { maxBuffer: 64 * 1024 * 1024 })
  const id = `${name}@${version}`
  sources.set(`${id}/${path}`, { package: name, version, license, path, sha256: digest(bytes) })
  return { value: JSON.parse(bytes.toString("utf8")), from: id }
}

const loaded = async (repository, commit, path) => {
  const file = join(folder, repository, commit, path)
  if (!existsSync(file)) {
    const answer = await fetch(`https://raw.githubusercontent.com/${repository}/${commit}/${path}`)
    if (!answer.ok) throw new Error(`${repository}/${path}: ${answer.status}`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, await answer.text())
  }
  return readFileSync(file, "utf8")
}

/** JSON of a file of GitHub: the whole, or the part behind a marker that `cut` finds. Its source is the digest of that text. */
const ofFile = async ({ commit, license, repository }, path, cut = (text) => text) => {
  const text = cut(await loaded(repository, commit, path))
  const place = `${repository}/${path}`
  const known = sources.get(place)
  const sha256 = digest(text)
  if (known === undefined) sources.set(place, { repository, commit, license, path, sha256 })
  else if (known.sha256 !== sha256) known.sha256 = [known.sha256, sha256].flat()
  return { value: JSON.parse(text), from: place }
}

/** One line for each entry, so that a change of a recording shows what has changed. */
const lines = (object) =>
  `{\n${Object.entries(object)
    .map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(",\n")}\n  }`

const save = (forge, name, parts) => {
  const target = new URL(`../packages/testing/recordings/${forge}/`, import.meta.url)
  mkdirSync(target, { recursive: true })
  const written = Object.entries({ sources: Object.fromEntries(sources), ...parts })
  const text = `{\n${written.map(([part, value]) => `  ${JSON.stringify(part)}: ${lines(value)}`).join(",\n")}\n}\n`
  writeFileSync(new URL(`${name}.json`, target), text)
  console.log(`${forge}/${name}.json: ${text.length} bytes`)
}

for (const [forge, { answers, hooks }] of Object.entries({ github, gitlab, gitea }))
  for (const [name, take] of Object.entries({ answers, hooks })) {
    sources = new Map()
    const parts = await take({ ofFile, ofPackage })
    save(forge, name, parts)
  }
