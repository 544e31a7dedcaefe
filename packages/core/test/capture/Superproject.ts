import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { plainGit, put } from "@reins/testing/git/Fixture"

/** git that may clone the folders of a test, also for a submodule. */
export const open = (cwd: string, ...args: ReadonlyArray<string>): string =>
  plainGit(cwd, "-c", "protocol.file.allow=always", ...args)

/** The commits of submodules in a tree, by their paths. */
export const linksOf = (gitDir: string, tree: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    plainGit("/", `--git-dir=${gitDir}`, "ls-tree", "-r", tree)
      .split("\n")
      .flatMap((line) => {
        const [, id = "", path = ""] = /^160000 commit (\w+)\t(.*)$/.exec(line) ?? []
        return path === "" ? [] : [[path, id]]
      })
  )

/** The repository that all submodules of a test are clones of. Its commits each write their number to `s.txt`. */
export const subWith = (root: string, count: number): { readonly sub: string; readonly ids: ReadonlyArray<string> } => {
  const sub = join(root, "sub")
  plainGit(root, "init", "--quiet", "--template=", "--initial-branch=main", sub)
  const ids = Array.from({ length: count }, (_, at) => {
    put(sub, "s.txt", String(at + 1))
    plainGit(sub, "add", "s.txt")
    plainGit(sub, "commit", "--quiet", `--message=${at + 1}`)
    return plainGit(sub, "rev-parse", "HEAD")
  })
  return { sub, ids }
}

/**
 * Makes a bare repository with files and submodules, as `git submodule add` would record them. That clones each submodule, which is 20 processes;
 * the record is an entry of the index and lines of `.gitmodules`.
 */
export const superproject = (
  root: string,
  files: Readonly<Record<string, string>>,
  submodules: { readonly sub: string; readonly commit: string; readonly paths: ReadonlyArray<string> }
): string => {
  const url = join(root, "remote.git")
  const work = join(root, "remote-work")
  mkdirSync(work)
  const git = (...args: ReadonlyArray<string>) => plainGit(work, `--git-dir=${url}`, `--work-tree=${work}`, ...args)
  plainGit(root, "init", "--quiet", "--template=", "--bare", "--initial-branch=main", url)
  for (const [path, content] of Object.entries(files)) put(work, path, content)
  const { commit, paths, sub } = submodules
  const lines = paths.map((path) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${sub}\n`)
  if (lines.length > 0) put(work, ".gitmodules", lines.join(""))
  git("add", "--all")
  if (paths.length > 0)
    git("update-index", "--add", ...paths.flatMap((path) => ["--cacheinfo", `160000,${commit},${path}`]))
  git("commit", "--quiet", "--message=first")
  return url
}
