/** The names that a snapshot gives to parts of its archives. */
export const archived = {
  workspace: "workspace",
  trusted: "trusted",
  repository: "repository",
  state: "state"
} as const
