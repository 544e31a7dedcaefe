import type { ProjectVersionId, TurnId } from "@reins/base/domain/Ids"
import type { Database } from "../../store/Database.js"
import { isLive } from "../rows/TurnConditions.js"

/** The live turns of sessions of projects, with the versions that those have. */
export const versionTurns = ({ all, sql }: Database["Type"]) =>
  all(sql<{ id: TurnId; version_id: ProjectVersionId }>`select turns.id, sessions.project_version_id as version_id
    from turns join sessions on sessions.id = turns.session_id
    where sessions.project_version_id is not null and ${sql.literal(isLive("turns"))}`)
