import { Effect } from "effect"
import { isGitName } from "../../files/WorkspacePath.js"
import { git, records, runGit } from "../run/GitCommand.js"
import { classify, type GitError, readOutput } from "../run/GitError.js"
import type { GitOptionsShape } from "../run/GitOptions.js"

// Reads `.gitmodules` (gitmodules(5)). It is written by others, so git parses it as a plain file and follows no include of it.

/** The mode of a submodule in a tree: its entry is the id of a commit of another repository. */
export const gitlink = "160000"

/** The paths (latin1) that a `.gitmodules` gives to submodules with a URL. */
export type ModulePaths = ReadonlySet<string>

const isPlain = (path: string): boolean =>
  path.split("/").every((name) => name !== "" && name !== "." && name !== ".." && !isGitName(name))

/** The key and the value of a record. A key without a value has no line feed. */
const pairOf = (record: string): readonly [key: string, value: string] => {
  const end = record.indexOf("\n")
  return end < 0 ? [record, ""] : [record.slice(0, end), record.slice(end + 1)]
}

/** git passes over a submodule with another name (`check_submodule_name` of its submodule-config.c). */
const isModuleName = (name: string): boolean => name !== "" && !name.split(/[/\\]/).includes("..")

/** The paths in the answer of `git config -z --get-regexp`. Throws at a record of anything else. */
export const parseModules = (output: Buffer): ModulePaths => {
  const paths = new Map<string, string>()
  const withUrl = new Set<string>()
  for (const [key, value] of records(output).map(pairOf)) {
    const [, name, what] = /^submodule\.(.*)\.(path|url)$/s.exec(key) ?? []
    if (name === undefined) throw new Error("not the path or URL of a submodule")
    if (!isModuleName(name)) continue
    if (what === "path") paths.set(name, value.replace(/(?<!\/)\/+$/, ""))
    if (what === "url" && value !== "") withUrl.add(name)
  }
  return new Set([...paths].flatMap(([name, path]) => (withUrl.has(name) && isPlain(path) ? [path] : [])))
}

/** The submodules that a text names. Null for a text that git cannot read. */
export const modulePaths = (
  options: GitOptionsShape,
  gitDir: string,
  text: Uint8Array
): Effect.Effect<ModulePaths | null, GitError> =>
  runGit({
    args: ["config", "--file", "-", "--no-includes", "-z", "--get-regexp", "^submodule\\..*\\.(path|url)$"],
    gitDir,
    stdin: text,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.flatMap(({ exitCode, stderr, stdout, truncated }) => {
      // 1 says that nothing was found.
      if ((exitCode === 0 || exitCode === 1) && !truncated) return readOutput("config", () => parseModules(stdout))
      return /bad config/i.test(stderr) ? Effect.succeed(null) : Effect.fail(classify("config", stderr))
    })
  )

/** The blob of the only record of `ls-tree`; null where there is none, or no regular file. */
const fileIn = ([record, ...more]: ReadonlyArray<string>): string | null => {
  if (record === undefined) return null
  const [, mode = "", id = ""] = /^([0-7]{6}) \w+ ([0-9a-f]{40})\t/.exec(record) ?? []
  if (id === "" || more.length > 0) throw new Error("not one entry of a tree")
  return mode.startsWith("100") ? id : null
}

/** The submodules that the `.gitmodules` of a tree names: none where it has no such file, and null where git cannot read it. */
export const modulePathsOf = (options: GitOptionsShape, gitDir: string, tree: string) =>
  Effect.gen(function* () {
    const run = (args: ReadonlyArray<string>) => git({ args, gitDir, timeoutMs: options.localTimeoutMs })
    const listed = yield* run(["ls-tree", "-z", "--full-tree", tree, "--", ".gitmodules"])
    const id = yield* readOutput("ls-tree", () => fileIn(records(listed.stdout)))
    if (id === null) return new Set<string>()
    return yield* modulePaths(options, gitDir, (yield* run(["cat-file", "blob", id])).stdout)
  })
