import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "projects.list": ["invalid_cursor", "not_found"],
  "projects.create": ["already_exists", "forbidden", "not_found"],
  "projects.get": ["not_found"],
  "projects.update": ["forbidden", "not_found", "version_conflict"],
  "projects.listVersions": ["invalid_cursor", "not_found"],
  "projects.publish": ["forbidden", "invalid_transition", "not_found"],
  "projects.listSkills": ["not_found"],
  "projects.addSkill": ["forbidden", "not_found", "quota_exhausted"],
  "projects.listSecrets": ["not_found"],
  "projects.replaceSecret": ["forbidden", "not_found"],
  "projects.removeSecret": ["forbidden", "not_found"]
} as const satisfies OperationErrors
