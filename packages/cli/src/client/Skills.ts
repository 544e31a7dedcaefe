import { isUtf8 } from "node:buffer"
import { readdir, readFile, stat } from "node:fs/promises"
import { join, relative } from "node:path"
import { argument, entry, flag, group, requiredOption } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless, harmlessJson } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { remoteCommand } from "./Remote.js"

const project = requiredOption("project", "The id of a project", { value: "id" })
const json = flag("json", "Lines of JSON in the place of text")

/** The files below a folder, without those of git. A link is refused, because it may lead out of the folder. */
const filesIn = async (root: string, folder = root): Promise<ReadonlyArray<string>> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CommandFailed({ message: `The folder cannot be read: ${reason}` })
  })
  const found: Array<string> = []
  for (const each of entries) {
    const path = join(folder, each.name)
    if (each.name === ".git") continue
    if (each.isDirectory()) found.push(...(await filesIn(root, path)))
    else if (each.isFile()) found.push(path)
    else throw new CommandFailed({ message: `${path} is no file. A skill holds files and folders alone.` })
  }
  return found
}

const fileOf = async (root: string, path: string) => {
  const bytes = await readFile(path)
  const executable = ((await stat(path)).mode & 0o100) !== 0
  return {
    path: relative(root, path).replaceAll("\\", "/"),
    ...(isUtf8(bytes)
      ? { content: bytes.toString() }
      : { content: bytes.toString("base64"), encoding: "base64" as const }),
    ...(executable && { executable })
  }
}

const push = remoteCommand({
  takes: { folder: argument("folder", "A folder with SKILL.md at its root"), project, json },
  details: "Agents have the skill once a version of the project names it with its digest.",
  examples: [
    ["reins skills push ./release-notes --project prj_01h…", "Keep a skill for a project"],
    ["reins skills push . --project prj_01h… --json", "The same for a program"]
  ],
  run: async ({ folder, json, project }, connect) => {
    const { reins } = await connect()
    const paths = await filesIn(folder)
    const files = await Promise.all(paths.map((path) => fileOf(folder, path)))
    const skill = await reins.projects.addSkill({ project_id: project, files })
    if (json) return printJsonNow(skill)
    tell(`The skill ${harmless(skill.name)} is kept. Name it in a version of the project:`)
    process.stdout.write(`${harmlessJson({ name: skill.name, digest: skill.digest })}\n`)
  }
})

const list = remoteCommand({
  takes: { project, json },
  examples: [
    ["reins skills list --project prj_01h…", "The skills of a project"],
    ["reins skills list --project prj_01h… --json", "The same for a program"]
  ],
  run: async ({ json, project }, connect) => {
    const { reins } = await connect()
    const { items } = await reins.projects.listSkills({ project_id: project })
    if (json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell("The project has no skill yet. Keep one: reins skills push DIR --project ID")
    const rows = items.map(({ created_at, description, digest, files, name }) => [
      name,
      digest.slice(7, 17),
      created_at.slice(0, 16).replace("T", " "),
      String(files),
      harmless(description)
    ])
    process.stdout.write(table([["SKILL", "DIGEST", "TIME", "FILES", "FOR"], ...rows]))
  }
})

/** `reins skills` */
export const skills = group(
  entry("push", "Keep a folder as a skill of a project", push),
  entry("list", "List the skills of a project", list)
)
