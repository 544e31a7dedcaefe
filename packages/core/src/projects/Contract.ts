import { ProjectsApi } from "./ProjectsApi.js"
import { SkillsApi } from "./skills/SkillsApi.js"

/** The endpoints of this room. */
export const groups = [ProjectsApi, SkillsApi] as const

export { operationErrors as errors } from "./Errors.js"
