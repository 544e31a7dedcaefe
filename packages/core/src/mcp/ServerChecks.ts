import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, type Denied } from "../access/Access.js"
import type { ProjectVersion } from "../projects/Project.js"
import type { ProjectServer } from "../projects/ProjectServer.js"
import { ProjectStore } from "../projects/ProjectStore.js"
import { Projects } from "../projects/Projects.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { ownOf } from "./JudgedTools.js"
import type { CheckedServer, ServerCheck, ServerCheckInput } from "./McpApi.js"
import { type Look, ServerLooks } from "./ServerLooks.js"

/** Checks of the servers that projects name. */
export class ServerChecks extends Context.Tag("@reins/core/mcp/ServerChecks")<
  ServerChecks,
  {
    /**
     * Connects to the servers of a version of a project, and shows what each of them has. With `pin` it publishes the next version, whose spec
     * has the digests of the tools as they are. Fails with `not_found` for a version of another project, and with `invalid_transition` for a pin
     * in an archived project.
     */
    readonly check: (
      principal: Principal,
      projectId: string,
      input: ServerCheckInput
    ) => Command<ServerCheck, Denied | ReinsError<"invalid_transition">>
  }
>() {
  static readonly layer = Layer.effect(
    ServerChecks,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const looks = yield* ServerLooks
      const projects = yield* Projects
      const store = yield* ProjectStore

      const versionOf = Effect.fnUntraced(function* (workspaceId: string, projectId: string, versionId?: string) {
        const version = yield* projects.resolve(workspaceId, versionId === undefined ? { projectId } : { versionId })
        return version.project_id === projectId ? version : yield* notFound()
      })

      return ServerChecks.of({
        check: (principal, projectId, { pin = false, version_id }) =>
          journal.prepared(
            "ServerChecks.check",
            { by: principal, about: { type: "project", id: projectId } },
            Effect.gen(function* () {
              const project = yield* store.find(projectId)
              yield* access.write(principal, project.workspace_id)
              const version = yield* versionOf(project.workspace_id, project.id, version_id)
              const named = {
                workspaceId: project.workspace_id,
                projectId: project.id,
                versionId: version.id,
                accountId: principal.accountId
              }
              const servers = version.spec.tools?.mcp_servers ?? []
              const found = yield* Effect.forEach(servers, (server) => looks.fresh(named, server), {
                concurrency: "unbounded"
              })
              return Effect.gen(function* () {
                const kept = yield* store.lock(project.id)
                yield* access.write(principal, kept.workspace_id)
                const shown = pin ? yield* pinned(store, kept, version, found) : version
                const check: ServerCheck = {
                  version: shown,
                  servers: servers.map((server, index) => toChecked(server, found[index], pin))
                }
                return check
              })
            })
          )
      })
    })
  )
}

/** Publishes the spec of a version with the digests of the tools that were found. */
const pinned = Effect.fnUntraced(function* (
  store: ProjectStore["Type"],
  project: Effect.Effect.Success<ReturnType<ProjectStore["Type"]["lock"]>>,
  version: ProjectVersion,
  found: ReadonlyArray<Look>
) {
  if (project.archived_at !== null)
    return yield* new ReinsError({
      code: "invalid_transition",
      message: "The project is archived. PATCH it with archived: false before publishing a version.",
      details: { resource: "project", archived_at: project.archived_at }
    })
  const servers = (version.spec.tools?.mcp_servers ?? []).map((server, index): ProjectServer => {
    const digests = (found[index]?.tools ?? []).flatMap(({ digest, name }) => (digest === null ? [] : [[name, digest]]))
    return { ...server, pins: { ...server.pins, ...Object.fromEntries(digests) } }
  })
  const spec = { ...version.spec, tools: { ...version.spec.tools, mcp_servers: servers } }
  return yield* store.addVersion(project, spec, "Pins the tools of servers as they were found.")
})

const states = { authorization: "auth_required", answer: "unusable", away: "unreachable", none: "unreachable" } as const

const toChecked = (
  { allow, name, permissions }: ProjectServer,
  look: Look = { protocol: null, problem: null, fault: "none", tools: [], listed: 0 },
  isPinned: boolean
): CheckedServer => ({
  name,
  state: look.problem === null ? "reached" : states[look.fault],
  problem: look.problem,
  protocol: look.protocol,
  listed: look.listed,
  tools: allow.map((tool) => {
    const found = look.tools.find((judged) => judged.name === tool)
    const { digest = null, reason = null, standing = "missing", tool: listed } = found ?? {}
    const shown = listed && { description: listed.description, input_schema: listed.input_schema }
    return {
      name: tool,
      standing: isPinned && standing === "changed" ? "offered" : standing,
      reason,
      description: listed?.description ?? null,
      digest,
      bytes: shown === undefined ? 0 : Buffer.byteLength(JSON.stringify(shown)),
      permission: ownOf(permissions, tool) ?? "allow"
    }
  })
})
