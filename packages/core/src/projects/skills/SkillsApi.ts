import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, post, read, TakesFile, withStatus } from "@reins/base/domain/Endpoint"
import { Skill, SkillInput, SkillList } from "./Skill.js"

export class SkillsApi extends HttpApiGroup.make("projects")
  .add(
    read("listSkills", "/api/projects/:project_id/skills", "List the skills of a project")
      .setPath(idPath("project_id"))
      .addSuccess(SkillList)
  )
  .add(
    post("addSkill", "/api/projects/:project_id/skills", "Keep a skill for versions of a project")
      .setPath(idPath("project_id"))
      .setPayload(SkillInput)
      .addSuccess(withStatus(Skill, 201))
      .annotate(TakesFile, true)
  )
  .annotateEndpointsContext(extension) {}
