import { Effect, Either, Ref } from "effect"
import { inDirectory, readUpTo, withFile } from "../files/Beneath.js"
import { parseWorkspacePath } from "../files/WorkspacePath.js"
import type { Diagnostic, HarnessEvent } from "../harness/HarnessEvent.js"
import type { AgentInput } from "../harness/TurnInput.js"

/** The most of a file that is read, in bytes. */
const maxBytes = 256 * 1024

/** The text of a file of the workspace; undefined for one that is not there or cannot be read, which is the agent's affair. */
const textOf = (root: string, path: string): Effect.Effect<string | undefined> =>
  Either.match(parseWorkspacePath(path), {
    onLeft: () => Effect.succeed(undefined),
    onRight: (names) =>
      inDirectory(root, names.slice(0, -1), { create: false }, (directory) =>
        withFile(directory, names.at(-1) ?? "", (handle, { size }) => readUpTo(handle, size, maxBytes))
      ).pipe(
        Effect.map((bytes) => bytes.toString("utf8")),
        Effect.orElseSucceed(() => undefined)
      )
  })

/** The names under which the files of agents list servers, in JSON and in TOML. */
const naming = /\bmcp_?servers\b|"mcp"\s*:/i

/** The word on the servers that files of the workspace name, for an agent that starts such servers by itself. */
const foreignServers = Effect.fnUntraced(function* ({ manifest, workspaceDir }: AgentInput) {
  const files = yield* Effect.filter(manifest.foreign_servers ?? [], (path) =>
    Effect.map(textOf(workspaceDir, path), (text) => text !== undefined && naming.test(text))
  )
  if (files.length === 0) return undefined
  const name = files.length === 1 ? "names" : "name"
  return `${files.join(" and ")} of the repository ${name} servers of tools. ${manifest.display_name} starts them by itself, beside the tools of the project.`
})

/** The word on skills of the project whose names the workspace has too, at the same place. */
const takenSkills = Effect.fnUntraced(function* ({ guidance, manifest, workspaceDir }: AgentInput) {
  const folder = manifest.guidance?.skills ?? null
  if (guidance === undefined || folder === null) return undefined
  const taken = yield* Effect.filter((yield* guidance.read).skills, ({ name }) =>
    Effect.map(textOf(workspaceDir, `${folder}/${name}/SKILL.md`), (text) => text !== undefined)
  )
  if (taken.length === 0) return undefined
  const names = taken.map(({ name }) => name).join(", ")
  return `The repository has skills of the names of the project's in ${folder}: ${names}. ${manifest.display_name} may take either.`
})

const looks = { foreign_servers: foreignServers, skill_name_taken: takenSkills } as const

/**
 * Gives the words on what an agent finds in its workspace and takes by itself. Each kind is given once for each agent, as soon as there is
 * something to tell.
 */
export const workspaceNews = (input: AgentInput): Effect.Effect<Effect.Effect<ReadonlyArray<HarnessEvent>>> =>
  Effect.map(Ref.make<ReadonlySet<string>>(new Set()), (told) =>
    Effect.gen(function* () {
      const events: Array<Diagnostic> = []
      for (const kind of ["foreign_servers", "skill_name_taken"] as const) {
        if ((yield* Ref.get(told)).has(kind)) continue
        const line = yield* looks[kind](input)
        if (line === undefined) continue
        yield* Ref.update(told, (kinds) => new Set([...kinds, kind]))
        events.push({ _tag: "diagnostic", kind, line })
      }
      return events
    })
  )
