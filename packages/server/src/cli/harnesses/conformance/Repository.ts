import { execFile } from "node:child_process"
import { lstat, mkdir, readdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { Changesets } from "@reins/core/changes/Changesets"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { stopAgent, turnAlone } from "./Abilities.js"
import { endOf, finding, type Ground, newSession, run } from "./Ground.js"

const git = async (directory: string, ...args: ReadonlyArray<string>): Promise<void> => {
  const identity = ["-c", "user.name=Reins", "-c", "user.email=reins@localhost", "-c", "gc.auto=0"]
  const env = { PATH: process.env.PATH, HOME: directory, GIT_CONFIG_NOSYSTEM: "1" }
  await promisify(execFile)("git", [...identity, ...args], { cwd: directory, env })
}

const makeRepository = async (directory: string, files: Iterable<readonly [string, string]>): Promise<void> => {
  const folders = new Set<string>()
  for (const [path, content] of files) {
    const at = join(directory, path)
    if (!folders.has(dirname(at))) await mkdir(dirname(at), { recursive: true })
    folders.add(dirname(at))
    await writeFile(at, content)
  }
  await git(directory, "init", "--quiet", "--initial-branch=main")
  await git(directory, "add", "--all")
  await git(directory, "commit", "--quiet", "--message=Begin")
}

/** Files that the agents have in repositories, as people write them: without what the programs add, and in older forms. */
const filesOfAgents: ReadonlyArray<readonly [string, string]> = [
  ["AGENTS.md", "# Rules\n"],
  ["CLAUDE.md", "# Rules\n"],
  ["GEMINI.md", "# Rules\n"],
  ["QWEN.md", "# Rules\n"],
  [".mcp.json", '{"mcpServers":{}}\n'],
  ["opencode.json", '{\n  "instructions": ["AGENTS.md"]\n}\n'],
  [".opencode/opencode.jsonc", '{"instructions":["AGENTS.md"]}'],
  [".codex/config.toml", 'model_reasoning_effort = "low"\n'],
  [".claude/settings.json", '{"permissions":{"allow":["Bash(ls:*)"]}}\n'],
  [".claude/commands/look.md", "Look.\n"],
  [".gemini/settings.json", '{"theme":"Default","contextFileName":"GEMINI.md","autoAccept":false}\n'],
  [".qwen/settings.json", '{"theme":"Default","contextFileName":"QWEN.md","autoAccept":false}\n'],
  [".clinerules/rules.md", "# Rules\n"],
  [".github/copilot-instructions.md", "# Rules\n"],
  [".goosehints", "Rules.\n"]
]

/**
 * A turn in which the model only speaks changes nothing, in a repository that has files of all agents. Neither does one of a new process, which goes on
 * with the conversation where the agent can, and begins another one where it cannot.
 */
export const speaking = Effect.fnUntraced(function* (ground: Ground) {
  // Beside the data directory, into which no URL of a repository may lead.
  const url = join(dirname(ground.dataDir), "files")
  yield* Effect.promise(() => makeRepository(url, filesOfAgents))
  const resumes = ground.manifest.capabilities.native_resume === "supported"
  const changesets = yield* Changesets
  const begin = newSession(ground, { repository: { url } })
  let place = yield* begin
  const seen: Array<string> = []
  for (const words of ["Look.", "Look again."]) {
    if (seen.length > 0 && !resumes) place = yield* begin
    const ran = yield* run(ground, place, { words, steps: [{ say: "There is nothing to do." }] })
    const [changeset] = (yield* changesets.list(place.principal, place.sessionId, {})).items
    const changed = changeset === undefined ? [] : changeset.files.map(({ path }) => path)
    seen.push(`${endOf(ran)}, ${changed.length === 0 ? "nothing has changed" : `${changed.join(", ")} changed`}`)
    yield* stopAgent(place)
  }
  return finding(
    "words alone",
    null,
    seen.every((each) => each === "succeeded, nothing has changed"),
    `two turns in which the model only speaks, each of a new process: ${seen.join("; ")}`
  )
})

const manyFiles = 50_000

function* many(): Generator<readonly [string, string]> {
  for (let index = 0; index < manyFiles; index++)
    yield [`src/part${Math.floor(index / 100)}/file${index % 100}.txt`, `${index % 100}\n`]
}

/** The bytes of all files below a directory. Files that go meanwhile count nothing. */
const bytesBelow = async (directory: string): Promise<number> => {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  let bytes = 0
  for (const entry of entries) {
    const path = join(directory, entry.name)
    bytes += entry.isDirectory()
      ? await bytesBelow(path)
      : await lstat(path).then(
          ({ size }) => size,
          () => 0
        )
  }
  return bytes
}

const isPrompt = (line: string): boolean => line.includes('"session/prompt"')

const isTool = (line: string): boolean => /"sessionUpdate":"tool_call|"session\/request_permission"/.test(line)

/** One turn with a tool in a folder: the time from its prompt to the tool, and the bytes of the agent's home then. */
const firstTool = Effect.fnUntraced(function* (ground: Ground, name: string) {
  const homeDir = join(ground.dataDir, name, "home")
  let began = 0
  let tool: { readonly ms: number; readonly bytes: number } | undefined
  const ended = yield* turnAlone(ground, {
    workspaceDir: join(ground.dataDir, name, "workspace"),
    homeDir,
    nativeSessionId: null,
    prompt: [{ type: "text", text: script("Work.", { tool: "bash", cmd: "echo worked" }, { say: "Worked." }) }],
    onLine: (direction, line) =>
      Effect.promise(async () => {
        if (direction === "out" && isPrompt(line)) began = Date.now()
        if (direction !== "in" || tool !== undefined || began === 0 || !isTool(line)) return
        const ms = Date.now() - began
        tool = { ms, bytes: await bytesBelow(homeDir) }
      })
  })
  return { ended, tool }
})

/** More than this below HOME for 50,000 files is a copy or an index of them. */
const growthBytes = 2 * 1024 * 1024

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** An agent does nothing before its first tool that grows with the repository. */
export const beginning = Effect.fnUntraced(function* (ground: Ground) {
  const place = (name: string) => join(ground.dataDir, name, "workspace")
  yield* Effect.promise(() => makeRepository(place("small"), [["README.md", "Small.\n"]]))
  yield* Effect.promise(() => makeRepository(place("large"), many()))
  const small = yield* firstTool(ground, "small")
  const large = yield* firstTool(ground, "large")
  if (small.tool === undefined || large.tool === undefined)
    return finding("large tree", null, false, `no tool was seen: ${small.ended}; ${large.ended}`)
  const growth = large.tool.bytes - small.tool.bytes
  return {
    ...finding(
      "large tree",
      null,
      large.ended === "completed" && growth < growthBytes,
      `${large.ended}; with 50,000 files the first tool came after ${(large.tool.ms / 1000).toFixed(1)} s with ${megabytes(large.tool.bytes)} below HOME; ` +
        `with one file after ${(small.tool.ms / 1000).toFixed(1)} s with ${megabytes(small.tool.bytes)}`
    ),
    measured: { first_tool_ms: large.tool.ms, home_bytes: large.tool.bytes }
  }
})
