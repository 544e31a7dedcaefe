import { Effect, Redacted } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import { ProjectSecrets } from "./ProjectSecrets.js"
import { Projects } from "./Projects.js"
import type { ProjectsApi } from "./ProjectsApi.js"
import { Skills } from "./Skills.js"
import type { SkillsApi } from "./skills/SkillsApi.js"

const ofSkills = Effect.gen(function* () {
  const skills = yield* Skills
  const operations: Operations<typeof SkillsApi, typeof operationErrors> = {
    listSkills: ({ path, principal }) => skills.list(principal, path.project_id),
    addSkill: ({ body, path, principal }) => skills.add(principal, path.project_id, body)
  }
  return operations
})

export const projects = Effect.gen(function* () {
  const projects = yield* Projects
  const secrets = yield* ProjectSecrets
  const operations: Operations<typeof ProjectsApi, typeof operationErrors> = {
    list: ({ path, principal, query }) => projects.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => projects.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => projects.get(principal, path.project_id),
    update: ({ body, path, principal }) => projects.update(principal, path.project_id, body),
    listVersions: ({ path, principal, query }) => projects.listVersions(principal, path.project_id, query),
    publish: ({ body, path, principal }) => projects.publish(principal, path.project_id, body),
    listSecrets: ({ path, principal }) => secrets.list(principal, path.project_id),
    replaceSecret: ({ body, path, principal }) =>
      secrets.put(principal, path.project_id, path.name, Redacted.make(body.secret)),
    removeSecret: ({ path, principal }) => secrets.remove(principal, path.project_id, path.name)
  }
  return { ...operations, ...(yield* ofSkills) }
})
