// Repositories for the measurements.
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { directory } from "./processes.mjs"

/** Git as a person runs it, without the configuration of the machine's owner. */
export const git = (cwd, args, env = {}) =>
  execFileSync("git", args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: directory, GIT_CONFIG_NOSYSTEM: "1", ...author, ...env }
  }).trim()

const author = {
  GIT_AUTHOR_NAME: "Bench",
  GIT_AUTHOR_EMAIL: "bench@localhost",
  GIT_COMMITTER_NAME: "Bench",
  GIT_COMMITTER_EMAIL: "bench@localhost"
}

export const fileName = (index) => `folder-${index % 100}/file-${index}.txt`

export const contentOf = (index, version) => `${`file ${index}, version ${version}\n`.repeat(20)}`

/** A bare repository with one commit of some files, a hundred folders at most. */
export const makeRepository = (name, files) => {
  const source = join(directory, `${name}-source`)
  for (let index = 0; index < files; index++) {
    mkdirSync(join(source, `folder-${index % 100}`), { recursive: true })
    writeFileSync(join(source, fileName(index)), contentOf(index, 0))
  }
  git(source, ["init", "--quiet", "--initial-branch=main"])
  git(source, ["add", "--all"])
  git(source, ["commit", "--quiet", "--message=first"])
  const bare = join(directory, `${name}.git`)
  git(directory, ["clone", "--quiet", "--bare", source, bare])
  return bare
}
