import type { Connection, Reins, Session } from "@reins/client"

const forgeKinds: ReadonlyArray<string> = ["github", "gitlab", "gitea"]
const publicHosts: Readonly<Record<string, string>> = {
  "github.com": "github",
  "gitlab.com": "gitlab",
  "gitea.com": "gitea"
}

const hostOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).host : undefined)

/** The connection that opens merge requests for a session: one of its project that leads to the host of its repository, else one of the workspace. */
export const forgeConnection = async (reins: Reins, session: Session): Promise<string | undefined> => {
  const host = hostOf(session.base.repository ?? "")
  if (host === undefined) return undefined
  const found: Array<Connection> = []
  for await (const each of reins.connections.list({ workspace_id: session.workspace_id, limit: 100 }))
    if (leadsTo(each, host)) found.push(each)
  const own = await ofProject(reins, session)
  return (found.find(({ id }) => own.includes(id)) ?? found[0])?.id
}

const leadsTo = ({ kind, settings, state }: Connection, host: string): boolean => {
  if (state !== "active" || !forgeKinds.includes(kind)) return false
  const { base_url } = settings
  return typeof base_url === "string" ? hostOf(base_url) === host : publicHosts[host] === kind
}

const ofProject = async (
  { projects }: Reins,
  { project_id, project_version_id }: Session
): Promise<ReadonlyArray<string>> => {
  if (project_id === null) return []
  for await (const { id, spec } of projects.listVersions({ project_id, limit: 200 }))
    if (id === project_version_id) return spec.connection_ids ?? []
  return []
}
